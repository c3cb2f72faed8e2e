// What the feed takes of the device does not depend on who is faster, the loader or the steps.
#include "trainer/train/device_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

constexpr std::int64_t kBlock = 64;  // a batch of one number

class CountedNumbers final : public Dataset {
 public:
  std::int64_t size() const override { return 40; }
  std::vector<FieldSpec> fields() const override { return {{"number", DType::kF32, Shape{1}}}; }
  Sample get(std::int64_t index) const override {
    ++fetched;
    const std::vector<float> value{static_cast<float>(index)};
    return {{"number", HostTensor::of(Shape{1}, value)}};
  }
  std::string digest() const override { return {}; }
  std::string describe() const override { return "numbers"; }
  std::string source(std::int64_t) const override { return {}; }

  mutable std::atomic<int> fetched{0};
};

struct Feeding {
  explicit Feeding(const DeviceOptions& options, std::int64_t depth)
      : rank(options),
        data(std::make_shared<CountedNumbers>()),
        loader(data, StepSampler(1, 40, 2, false), {.end_step = 20, .micro_batches = 2}),
        feed(loader, rank.device, depth, 2 * kBlock) {}

  std::int64_t used() { return static_cast<std::int64_t>(rank.device.allocator().used_bytes()); }

  Rank rank;
  std::shared_ptr<CountedNumbers> data;
  Loader loader;
  DeviceFeed feed;
};

TEST(DeviceFeed, HasAllItsMemoryInUseFromTheStart) {
  Feeding f({.queue_depth = 2}, 4);
  const std::int64_t all = (4 + 3) * 2 * kBlock;
  EXPECT_EQ(batches_on_device(f.rank.device.options(), 4), 4 + 3);
  EXPECT_EQ(f.used(), all);
  std::deque<DeviceBatch> in_flight;
  for (int step = 0; step < 20; ++step) {
    in_flight.push_back(f.feed.next());
    EXPECT_EQ(in_flight.back().step, step);
    in_flight.back().fields.at("number")->ready->wait();
    EXPECT_EQ(f.used(), all);
    if (in_flight.size() > 2) in_flight.pop_front();
  }
  EXPECT_EQ(static_cast<std::int64_t>(f.rank.device.allocator().peak_bytes()), all);
}

TEST(DeviceFeed, StartsNoCopyThatItHasNoPlaceFor) {
  Feeding f({}, 1);
  const DeviceBatch first = f.feed.next();
  const DeviceBatch second = f.feed.next();
  // The third may be on its way, the fourth is fetched: what comes after it waits for a place.
  while (f.data->fetched < 4 * 2) std::this_thread::yield();
  EXPECT_LE(f.rank.metrics.metric("TransferToDevice").samples, 3 * 2);
}

TEST(DeviceFeed, ThatDoesNotFitIsAnErrorAtTheStart) {
  EXPECT_THAT(error_of([] { Feeding f({.memory_bytes = 7 * 2 * kBlock - 1}, 4); }),
              testing::StartsWith("6: device out of memory: 896.00B for batches on the device on "
                                  "top of 0.00B in use"));
}

}  // namespace
}  // namespace lockstep

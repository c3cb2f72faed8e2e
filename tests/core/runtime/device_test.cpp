#include "core/runtime/device.h"

#include <atomic>
#include <chrono>
#include <memory>

#include "tests/core/runtime/floats.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

struct DeviceTest : testing::Test {
  SteadyClock clock;
  Metrics metrics{clock};
  SpanStream spans{clock, metrics};
};

TEST_F(DeviceTest, RunsCommandsInOrderOnAnotherThread) {
  Device device({.queue_depth = 100}, spans);
  std::vector<int> order;
  for (int i = 0; i < 50; ++i)
    device.enqueue([&order, i, host = std::this_thread::get_id()] {
      EXPECT_NE(std::this_thread::get_id(), host);
      order.push_back(i);
    });
  device.synchronize();
  ASSERT_EQ(order.size(), 50U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(DeviceTest, PushesBackWhenItsQueueIsFull) {
  Device device({.queue_depth = 2}, spans);
  Event gate;
  Event running;
  device.enqueue([&] {
    running.set();
    gate.wait();
  });
  running.wait();
  std::atomic<int> queued = 0;
  std::jthread host([&] {
    for (int i = 0; i < 3; ++i) {
      device.enqueue([] {});
      ++queued;
    }
  });
  while (queued < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(queued, 2) << "the third has to wait";
  gate.set();
  host.join();
  EXPECT_EQ(queued, 3);
}

TEST_F(DeviceTest, FinishesWhatIsQueuedBeforeItDies) {
  int ran = 0;
  {
    Device device({.queue_depth = 10}, spans);
    for (int i = 0; i < 5; ++i) device.enqueue([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 5);
}

TEST_F(DeviceTest, CopiesThereAndBackAndCounts) {
  Device device({}, spans);
  const DeviceTensorPtr x = device.copy_to_device({floats({1, 2, 3})}, "x");
  const HostTensor back = device.copy_to_host(*x);
  EXPECT_THAT(back.as<float>(), ElementsAre(1, 2, 3));
  EXPECT_EQ(x->buffers[0]->space(), MemorySpace::kDevice);
  EXPECT_EQ(metrics.metric("TransferToDevice").samples, 1);
  EXPECT_EQ(metrics.metric("TransferToDevice").accumulator, 12);
  EXPECT_EQ(metrics.metric("TransferFromDevice").accumulator, 12);
  EXPECT_EQ(metrics.metric("DeviceLockWait").samples, 1);
}

TEST_F(DeviceTest, GetsOnWithEveryTensorItMakes) {
  const auto page = std::make_unique<ActivityPage>();  // all zero
  Device device({.activity = Activity(page.get())}, spans);
  device.make_zeros({DType::kF32, Shape{4}}, "zeros")->ready->wait();
  EXPECT_EQ(page->progress, 1U);
  device.copy_to_device({floats({1}), floats({2})}, "x")->ready->wait();
  EXPECT_EQ(page->progress, 3U);
}

/// A manual clock that tells whether a thread has looked at it.
class WatchedClock final : public Clock {
 public:
  std::int64_t now_ns() const override {
    const std::int64_t now = manual_.now_ns();
    if (std::this_thread::get_id() == reader_.load()) has_looked_ = true;
    return now;
  }
  void advance_ns(std::int64_t ns) { manual_.advance_ns(ns); }
  void watch_this_thread() { reader_ = std::this_thread::get_id(); }
  bool has_looked() const { return has_looked_; }

 private:
  ManualClock manual_;
  std::atomic<std::thread::id> reader_{};
  mutable std::atomic<bool> has_looked_{false};
};

TEST_F(DeviceTest, MeasuresHowLongAReadWaits) {
  WatchedClock manual;
  Metrics counted(manual);
  SpanStream stream(manual, counted);
  Device device({}, stream);
  const auto value = std::make_shared<DeviceTensor>(Type{DType::kF32, Shape{}});
  value->buffers.push_back(device.allocator().allocate(4, "value"));
  device.enqueue([&] {
    manual.advance_ns(5'000'000);
    value->ready->set();
  });
  device.synchronize();
  std::jthread reader([&] { (void)device.copy_to_host(*value); });
  reader.join();
  EXPECT_EQ(counted.metric("DeviceLockWait").accumulator, 0);

  const auto late = std::make_shared<DeviceTensor>(Type{DType::kF32, Shape{}});
  late->buffers.push_back(device.allocator().allocate(4, "late"));
  std::jthread second([&] {
    manual.watch_this_thread();
    (void)device.copy_to_host(*late);
  });
  while (!manual.has_looked()) std::this_thread::yield();  // until its wait has begun
  manual.advance_ns(7'000'000);
  late->ready->set();
  second.join();
  EXPECT_EQ(counted.metric("DeviceLockWait").accumulator, 7'000'000);
}

TEST_F(DeviceTest, KeepsOneBufferPerMicroBatch) {
  Device device({.transfer_threads = 2}, spans);
  const DeviceTensorPtr x = device.copy_to_device({floats({1}), floats({2}), floats({3})}, "x");
  x->ready->wait();
  ASSERT_EQ(x->buffers.size(), 3U);
  EXPECT_EQ(*reinterpret_cast<const float*>(x->buffers[2]->data()), 3);
  EXPECT_EQ(error_of([&] { (void)device.copy_to_host(*x); }),
            "2: f32[1] x has one value for each of 3 micro-batches: all_reduce it before reading");
}

TEST_F(DeviceTest, TakesACopyOutOfItsRoomAndLetsGoOfThatBeforeTheCopyIsSeen) {
  Device device({}, spans);
  const std::vector<float> values(4 << 20);  // takes long enough to be seen coming
  auto room = std::make_shared<Reservation>(device.allocator(), "batches");
  room->grow_to(values.size() * sizeof(float));
  const std::weak_ptr<Reservation> held = room;
  const DeviceTensorPtr x = device.copy_to_device({floats(values)}, "x", std::move(room));
  bool still_held = true;
  x->ready->on_ready([&] { still_held = !held.expired(); });
  x->ready->wait();
  device.copy_to_device({floats({1})}, "y")->ready->wait();  // behind the first, and its callbacks
  EXPECT_FALSE(still_held);
  EXPECT_EQ(device.allocator().peak_bytes(), values.size() * sizeof(float) + 64);
  x->buffers.clear();
  EXPECT_EQ(device.allocator().used_bytes(), 0U);
}

TEST_F(DeviceTest, RefusesMicroBatchesOfDifferentTypes) {
  Device device({}, spans);
  EXPECT_EQ(error_of([&] {
              (void)device.copy_to_device({floats({1}), floats({1, 2})}, "x");
            }),
            "2: micro-batches of x differ: f32[1] and f32[2]");
  EXPECT_EQ(error_of([&] { (void)device.copy_to_device({}, "x"); }),
            "2: nothing to copy to the device for x");
}

TEST_F(DeviceTest, MarksACopyThatDoesNotFitAsFailed) {
  Device device({.memory_bytes = 1024}, spans);
  const DeviceTensorPtr x = device.copy_to_device({floats(std::vector<float>(1000))}, "batch.x");
  EXPECT_EQ(error_of([&] { (void)device.copy_to_host(*x); }),
            "6: device out of memory: 3.93KiB for f32[1000] batch.x on top of 0.00B in use exceeds "
            "the limit of 1.00KiB (device.memory_gb); lower training.micro_batch_size or raise the "
            "limit, --dry-run shows what a step needs; the largest live tensors are:");
}

TEST_F(DeviceTest, NeedsAtLeastOneOfEverything) {
  EXPECT_EQ(
      error_of([&] { Device device({.queue_depth = 0}, spans); }),
      "2: a device needs at least 1 thread, 1 place in its queue and 1 transfer thread, not 1, "
      "0 and 1");
}

TEST(Device, MakesZerosWithoutACopy) {
  SteadyClock clock;
  Metrics metrics(clock);
  SpanStream spans(clock, metrics);
  Device device({.memory_bytes = 1024}, spans);
  const auto zeros = device.make_zeros({DType::kF32, Shape{3}}, "m.w");
  zeros->ready->wait();
  const HostTensor host = device.copy_to_host(*zeros);
  EXPECT_THAT(host.as<float>(), testing::Each(0));
  EXPECT_EQ(metrics.metric("TransferToDevice").samples, 0);
  const auto too_large = device.make_zeros({DType::kF32, Shape{1000}}, "m.v");
  EXPECT_THAT(error_of([&] { too_large->ready->wait(); }), testing::HasSubstr("f32[1000] m.v"));
}

}  // namespace
}  // namespace lockstep

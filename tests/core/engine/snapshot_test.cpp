// Copies of values as they are after the steps queued so far, made while later ones run.
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

TEST(Snapshot, IsOfTheStepsQueuedBeforeItAndWaitsForNone) {
  Rank rank;
  Tensor p = rank.variable({1, 2});
  const std::byte* memory = address_of(p);
  const HostTensor copy(DType::kF32, Shape{2});
  const EventPtr gate = rank.block_device();
  p.assign(p * 2.0);
  rank.engine.mark_step();
  const EventPtr copied = rank.engine.snapshot({{p}}, {copy});
  EXPECT_FALSE(copied->is_ready());
  gate->set();
  p.assign(p * 10.0);
  rank.engine.mark_step();
  copied->wait();
  EXPECT_THAT(copy.as<float>(), ElementsAre(2, 4));
  EXPECT_THAT(values_of(p), ElementsAre(20, 40));
  EXPECT_EQ(address_of(p), memory) << "it keeps no step from working in place";
  EXPECT_EQ(rank.metrics.counter("DonationCopy"), 0);
}

TEST(Snapshot, OfAFailedStepFails) {
  Rank rank({.memory_bytes = 1 << 20});
  Tensor p = rank.variable({1, 2});
  const HostTensor copy(DType::kF32, Shape{2});
  const EventPtr gate = rank.block_device();
  rank.engine.set_step(5);
  const Tensor big = broadcast_in_dim(p, Shape{1 << 20, 2}, {1});
  p.assign(p + 1.0);
  rank.engine.mark_step();
  const EventPtr copied = rank.engine.snapshot({{p}}, {copy});
  gate->set();
  EXPECT_THAT(error_of([&] { copied->wait(); }), StartsWith("6: step 5: device out of memory"));
}

TEST(Snapshot, CopiesWhatIsLargerThanAPieceWithAllThreads) {
  Rank rank({.threads = 3});
  std::vector<float> values(3'000'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000);
  const Tensor p = rank.variable(values);
  const Tensor q = rank.variable({7});
  const HostTensor first(DType::kF32, p.shape());
  const HostTensor second(DType::kF32, Shape{1});
  rank.engine.snapshot({{p, q}}, {first, second})->wait();
  EXPECT_EQ(std::memcmp(first.bytes().data(), values.data(), first.bytes().size()), 0);
  EXPECT_THAT(second.as<float>(), ElementsAre(7));
}

}  // namespace
}  // namespace lockstep

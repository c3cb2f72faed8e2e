// A variable's new value takes the old one's memory, unless the old value is still needed.
#include "core/observe/donation.h"

#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;

TEST(Donation, KeepsAVariableWhereItIs) {
  Rank rank;
  Tensor p = rank.variable({1, 2, 3});
  rank.engine.wait();
  const std::byte* address = address_of(p);
  for (int step = 0; step < 5; ++step) {
    p.assign(p - p * 0.5);
    rank.engine.mark_step();
    EXPECT_EQ(address_of(p), address) << "step " << step;
  }
  EXPECT_THAT(values_of(p), ElementsAre(1.0 / 32, 2.0 / 32, 3.0 / 32));
  EXPECT_EQ(rank.metrics.counter("DonationCopy"), 0);
}

TEST(Donation, CopiesAValueThatASnapshotHolds) {
  Rank rank;
  Tensor p = rank.variable({1, 2, 3});
  const Tensor snapshot = rank.context.tensor(p.state().value, InputKind::kState, "snapshot");
  p.assign(p + 1.0);
  rank.engine.mark_step();
  rank.engine.wait();
  EXPECT_EQ(rank.metrics.counter("DonationCopy"), 1);
  EXPECT_THAT(values_of(snapshot), ElementsAre(1, 2, 3));
  EXPECT_THAT(values_of(p), ElementsAre(2, 3, 4));
}

TEST(Donation, CopiesOnlyUntilTheSnapshotIsGone) {
  Rank rank;
  Tensor p = rank.variable({1, 2, 3});
  {
    const Tensor snapshot = rank.context.tensor(p.state().value, InputKind::kState, "snapshot");
    p.assign(p + 1.0);
    rank.engine.mark_step();
    rank.engine.wait();
  }
  const std::byte* address = address_of(p);
  p.assign(p + 1.0);
  rank.engine.mark_step();
  EXPECT_EQ(address_of(p), address);
  EXPECT_EQ(rank.metrics.counter("DonationCopy"), 1);
}

TEST(Donation, WaitsForReadersThatWereQueuedBefore) {
  Rank rank;
  Tensor p = rank.variable({1, 2, 3});
  const EventPtr gate = rank.block_device();
  const Tensor doubled = p * 2.0;
  rank.engine.mark_step();
  p.assign(p + 1.0);
  rank.engine.mark_step();
  gate->set();
  EXPECT_THAT(values_of(doubled), ElementsAre(2, 4, 6));
  EXPECT_THAT(values_of(p), ElementsAre(2, 3, 4));
}

TEST(Donation, KeepsTheOldValueForReadersInTheSameStep) {
  Rank rank;
  Tensor p = rank.variable({1, 2, 3});
  const Tensor total_before = sum(p);
  p.assign(p + 1.0);
  const Tensor total_after = sum(p);
  rank.engine.mark_step();
  EXPECT_EQ(total_before.item(), 6);
  EXPECT_EQ(total_after.item(), 9);
}

TEST(Donation, GivesTwoVariablesThatShareAValueMemoryOfTheirOwn) {
  Rank rank;
  Tensor p = rank.variable({1, 2, 3});
  Tensor q = rank.context.tensor(p.state().value, InputKind::kParameter, "q");
  p.assign(p + 1.0);
  q.assign(q * 10.0);
  rank.engine.mark_step();
  EXPECT_THAT(values_of(p), ElementsAre(2, 3, 4));
  EXPECT_THAT(values_of(q), ElementsAre(10, 20, 30));
  EXPECT_NE(address_of(p), address_of(q));
}

TEST(Donation, DoesNotApplyToScalars) {
  Rank rank;
  Tensor count = rank.context.scalar(5, DType::kI64, "count");
  for (int step = 0; step < 3; ++step) {
    count.assign(count + 1.0);
    rank.engine.mark_step();
  }
  EXPECT_EQ(count.item(), 8);
}

TEST(Assign, SwapsTwoVariables) {
  Rank rank;
  Tensor p = rank.variable({1, 2});
  Tensor q = rank.variable({3, 4});
  const Tensor before = p + 0.0;
  p.assign(q);
  q.assign(before);
  rank.engine.mark_step();
  EXPECT_THAT(values_of(p), ElementsAre(3, 4));
  EXPECT_THAT(values_of(q), ElementsAre(1, 2));
}

TEST(Donation, IsNoticedByWhoReadsWithoutALease) {
  Rank rank;
  Tensor p = rank.variable({1, 2, 3});
  const DeviceTensorPtr unleased = device_tensor_of(p).tensor();
  p.assign(p + 1.0);
  rank.engine.mark_step();
  rank.engine.wait();
  EXPECT_EQ(rank.metrics.counter("DonationCopy"), 0);
  const std::string message = " is read after a step has taken its memory";
  EXPECT_THAT(error_of([&] { (void)rank.device.copy_to_host(*unleased); }),
              testing::HasSubstr(message));
  EXPECT_THAT(error_of([&] { TensorLease late(unleased); }), testing::HasSubstr(message));
  EXPECT_THAT(values_of(p), ElementsAre(2, 3, 4));
}

Tensor matrix(Rank& rank, std::string_view name) {
  return rank.engine.to_device({HostTensor::of(Shape{2, 2}, std::vector<float>{1, 2, 3, 4})},
                               InputKind::kParameter, name);
}

/// Of what is pending, by the inputs' names.
std::map<std::string, InputDonation> donations_of(Rank& rank) {
  const auto step = rank.engine.compile_pending();
  const std::vector<InputDonation> all = donations(*step);
  std::map<std::string, InputDonation> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    out[std::string(step->step[step->step.inputs[i]].name)] = all[i];
  return out;
}

TEST(Donation, IsToldOfEachInput) {
  Rank rank;
  Tensor p = rank.variable({1, 2});
  Tensor count = rank.context.scalar(5, DType::kI64, "count");
  const Tensor mask = rank.variable({0, 1}, "mask");
  p.assign(p * mask + all_reduce(rank.batch({{1, 2}})));
  count.assign(count + 1.0);
  const auto told = donations_of(rank);
  ASSERT_EQ(told.size(), 4);
  EXPECT_EQ(told.at("p").kind, Donation::kDonated);
  EXPECT_EQ(told.at("mask").kind, Donation::kNotReplaced);
  EXPECT_EQ(told.at("batch.x").kind, Donation::kNotReplaced);
  EXPECT_EQ(told.at("count").kind, Donation::kOnHost);
}

TEST(Donation, ThatAKernelDoesNotAllowNamesIt) {
  Rank rank;
  Tensor p = matrix(rank, "p");
  p.assign(matmul(p, p));
  const InputDonation told = donations_of(rank).at("p");
  EXPECT_EQ(told.kind, Donation::kCopied);
  EXPECT_THAT(told.why, MatchesRegex("dot_general donation_test.cpp:[0-9]+ cannot overwrite its "
                                     "operand"));
}

TEST(Donation, ThatALaterReaderForbidsNamesIt) {
  Rank rank;
  Tensor p = matrix(rank, "p");
  const Tensor old = p * 1.0;
  const Tensor next = p + 1.0;
  const Tensor both = matmul(p, next);
  p.assign(next);
  const InputDonation told = donations_of(rank).at("p");
  EXPECT_EQ(told.kind, Donation::kCopied);
  EXPECT_THAT(told.why, MatchesRegex("dot_general donation_test.cpp:[0-9]+ reads it when the next "
                                     "value is written"));
}

TEST(Donation, IsNotOfWhatIsSwapped) {
  Rank rank;
  Tensor p = rank.variable({1, 2}, "p");
  Tensor q = rank.variable({3, 4}, "q");
  const Tensor before = p + 0.0;
  p.assign(q);
  q.assign(before);
  const auto told = donations_of(rank);
  EXPECT_EQ(told.at("p").kind, Donation::kCopied);
  EXPECT_THAT(told.at("p").why, MatchesRegex("the next value is another value, copied .*"));
}

TEST(TensorLease, LetsOnlyTheLastHolderTakeTheMemory) {
  const auto tensor = std::make_shared<DeviceTensor>(Type{DType::kF32, Shape{}}, std::string("p"));
  TensorLease lease(tensor);
  {
    const TensorLease reader = lease;
    EXPECT_FALSE(lease.take_memory());
  }
  EXPECT_TRUE(lease.take_memory());
  EXPECT_TRUE(tensor->is_taken());
  lease = {};
  EXPECT_TRUE(tensor->is_taken());
}

TEST(TensorLease, OfAValueThatStandsForAnotherCoversBoth) {
  const Type type{DType::kF32, Shape{}};
  const auto old_value = std::make_shared<DeviceTensor>(type, std::string("p"));
  const auto new_value = std::make_shared<DeviceTensor>(type, std::string("p"));
  TensorLease reader(old_value);
  new_value->stand_for(reader);
  TensorLease lease(new_value);
  EXPECT_FALSE(lease.take_memory()) << "the old value may still be read";
  EXPECT_FALSE(reader.take_memory()) << "so may the new one";
  reader = {};
  EXPECT_TRUE(lease.take_memory());
  EXPECT_TRUE(old_value->is_taken());
}

TEST(TensorLease, IsNeverThereWhileAnotherThreadWrites) {
  for (int round = 0; round < 200; ++round) {
    const auto tensor =
        std::make_shared<DeviceTensor>(Type{DType::kF32, Shape{}}, std::string("p"));
    int memory = 0;  // read with leases, written by who took it: a race is a sanitizer's finding
    TensorLease writer(tensor);
    std::atomic<int> sum{0};
    std::vector<std::jthread> readers;
    for (int t = 0; t < 2; ++t)
      readers.emplace_back([&, lease = writer]() mutable {
        for (int i = 0; i < 50; ++i) {
          const TensorLease again = lease;
          sum += memory;
        }
        lease = {};
      });
    while (!writer.take_memory()) std::this_thread::yield();
    memory = 1;
    readers.clear();
    EXPECT_EQ(sum, 0);
  }
}

}  // namespace
}  // namespace lockstep

#include "collectives/single.h"

#include <gtest/gtest.h>

#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

TEST(Single, ChangesNoDataAndIsDoneAtOnce) {
  const auto comm = make_single_communicator();
  EXPECT_EQ(comm->rank(), 0);
  EXPECT_EQ(comm->size(), 1);
  EXPECT_TRUE(comm->is_master_ordinal());
  std::vector<float> data = {1, 2, 3};
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter,
                          CollectiveKind::kAllGather, CollectiveKind::kBroadcast}) {
    EXPECT_TRUE(comm->submit(request_of(kind, data, 3))->is_ready());
  }
  EXPECT_THAT(data, testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(comm->exchange("tag", "mine"), testing::ElementsAre("mine"));
}

TEST(Single, KeepsTheOrderOfSubmission) {
  const auto comm = make_single_communicator();
  std::vector<float> data(1);
  auto first = all_reduce_of(data);
  first.ready = std::make_shared<Event>();
  const EventPtr first_done = comm->submit(first);
  const EventPtr second_done = comm->submit(all_reduce_of(data));
  EXPECT_FALSE(first_done->is_ready());
  EXPECT_FALSE(second_done->is_ready()) << "it must not overtake the first";
  first.ready->set();
  EXPECT_TRUE(first_done->is_ready());
  EXPECT_TRUE(second_done->is_ready());
}

TEST(Single, PassesOnTheErrorOfReady) {
  const auto comm = make_single_communicator();
  std::vector<float> data(1);
  auto request = all_reduce_of(data);
  request.ready = std::make_shared<Event>();
  const EventPtr done = comm->submit(request);
  request.ready->fail(std::make_exception_ptr(Error(ErrorKind::kNonFinite, "NaN")));
  EXPECT_EQ(error_of([&] { done->wait(); }), "5: NaN");
  comm->rendezvous("goes on");
}

TEST(Single, RefusesWhatTheOthersRefuse) {
  const auto comm = make_single_communicator();
  std::vector<BF16> data(4);
  EXPECT_EQ(error_of([&] { comm->submit(all_reduce_of(data)); }),
            "2: all_reduce cannot sum bf16; f32, f64, i32 and i64 can be summed");
}

TEST(SingleDeathTest, AbortPrintsTheReasonAndEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(make_single_communicator()->abort(6, "too large"), testing::ExitedWithCode(6),
              "ended with code 6: too large");
}

}  // namespace
}  // namespace lockstep

// The order of events: `ready` events, collectives, and the effect of one rank's failure on the
// others.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "tests/collectives/oracle.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;

TEST(Order, EventsAreMarkedInTheOrderOfSubmission) {
  on_ranks(3, [](Communicator& comm) {
    std::vector<std::vector<float>> data;
    for (int i = 0; i < 20; ++i) data.push_back(operands<float>(1, comm.rank(), 3000 - 100 * i));
    std::vector<int> marked;
    const auto all_submitted = std::make_shared<Event>();  // so that no callback runs here
    for (int i = 0; i < 20; ++i) {
      auto request = all_reduce_of(data[static_cast<std::size_t>(i)]);
      request.ready = all_submitted;
      comm.submit(request)->on_ready([&marked, i] { marked.push_back(i); });
    }
    all_submitted->set();
    comm.rendezvous("all are marked");
    std::vector<int> want(20);
    for (int i = 0; i < 20; ++i) want[static_cast<std::size_t>(i)] = i;
    EXPECT_EQ(marked, want);
  });
}

TEST(Order, DataIsNotTouchedBeforeItIsReady) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> data(1000, 0.0F);
    auto request = all_reduce_of(data);
    request.ready = std::make_shared<Event>();
    const EventPtr done = comm.submit(request);
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(done->is_ready());
    std::ranges::copy(operands<float>(2, comm.rank(), 1000), data.begin());
    request.ready->set();
    done->wait();
    EXPECT_EQ(bits_of(data), bits_of(serial_sums<float>(2, 2, 1000)));
  });
}

TEST(Order, ALaterRequestDoesNotOvertakeOneThatIsNotReady) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> first(10);
    std::vector<float> second(10);
    auto waiting = all_reduce_of(first);
    waiting.ready = std::make_shared<Event>();
    comm.submit(waiting);
    const EventPtr done = comm.submit(all_reduce_of(second));
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(done->is_ready());
    waiting.ready->set();
    done->wait();
  });
}

TEST(FailedReady, FailsThatCollectiveOnEveryRankWithTheSameKind) {
  on_ranks(3, [](Communicator& comm) {
    std::vector<float> data(8, 1.0F);
    auto request = all_reduce_of(data);
    request.step = 12;
    if (comm.rank() == 1) {
      request.ready = std::make_shared<Event>();
      request.ready->fail(std::make_exception_ptr(Error(ErrorKind::kOutOfMemory, "1 GB is full")));
    }
    EXPECT_EQ(error_of([&] { comm.submit(request)->wait(); }),
              comm.rank() == 1
                  ? "6: 1 GB is full"
                  : "6: rank 1 failed before all_reduce of 8 f32 (step 12): 1 GB is full");
    EXPECT_THAT(data, testing::Each(1.0F)) << "nothing may be added";
  });
}

TEST(FailedReady, LeavesTheRanksInStep) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> data(8);
    auto request = all_reduce_of(data);
    if (comm.rank() == 0) {
      request.ready = std::make_shared<Event>();
      request.ready->fail(std::make_exception_ptr(std::runtime_error("lost")));
    }
    comm.submit(request)->wait_quietly();
    std::vector<float> next = operands<float>(3, comm.rank(), 100);
    comm.submit(all_reduce_of(next))->wait();
    EXPECT_EQ(bits_of(next), bits_of(serial_sums<float>(3, 2, 100)));
  });
}

TEST(Mismatch, FailsOnEveryRankWithTheSameMessageAndFromThenOn) {
  on_ranks(3, [](Communicator& comm) {
    comm.rendezvous("start");
    std::vector<float> data(2048, 1.0F);
    auto request = request_of(CollectiveKind::kAllReduce, data, comm.rank() == 1 ? 2048 : 1024);
    request.step = 5;
    request.bucket = 2;
    const std::string message =
        "7: collective 1 does not match between ranks: ranks 0 and 2 have all_reduce of 1024 f32 "
        "(step 5, bucket 2), rank 1 has all_reduce of 2048 f32 (step 5, bucket 2): the count "
        "differs";
    EXPECT_EQ(error_of([&] { comm.submit(request)->wait(); }), message);
    EXPECT_THAT(data, testing::Each(1.0F));
    std::vector<float> other(1);
    EXPECT_EQ(error_of([&] { comm.submit(all_reduce_of(other))->wait(); }), message);
    EXPECT_EQ(error_of([&] { comm.rendezvous("later"); }), message);
  });
}

TEST(Mismatch, OfTagsNamesBoth) {
  on_ranks(2, [](Communicator& comm) {
    EXPECT_EQ(error_of([&] { comm.rendezvous(comm.rank() == 0 ? "save" : "evaluate"); }),
              "7: collective 0 does not match between ranks: rank 0 has exchange 'save', rank 1 "
              "has exchange 'evaluate': the tag differs");
  });
}

TEST(Mismatch, OfTheCollectiveListsShowsTheirSignatures) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> data(4);
    auto request = all_reduce_of(data);
    request.signature = {.low = static_cast<std::uint64_t>(comm.rank()), .high = 0};
    EXPECT_THAT(error_of([&] { comm.submit(request)->wait(); }),
                testing::EndsWith("the signature differs"));
  });
}

TEST(Abort, UnblocksEveryRankAndFailsWhatFollows) {
  constexpr const char* kMessage = "7: rank 2 ended the job with code 3: no more data";
  std::atomic<int> waiting{0};
  on_ranks(4, [&](Communicator& comm) {
    std::vector<float> data(8);
    if (comm.rank() == 2) {
      while (waiting < 3) std::this_thread::sleep_for(1ms);
      EXPECT_EQ(error_of([&] { comm.abort(3, "no more data"); }), kMessage);
    } else if (comm.rank() == 0) {  // waits for data of its own
      auto request = all_reduce_of(data);
      request.ready = std::make_shared<Event>();
      const EventPtr done = comm.submit(request);
      ++waiting;
      EXPECT_EQ(error_of([&] { done->wait(); }), kMessage);
    } else {  // waits for other ranks
      const EventPtr done = comm.submit(all_reduce_of(data));
      ++waiting;
      EXPECT_EQ(error_of([&] { done->wait(); }), kMessage);
    }
    EXPECT_EQ(error_of([&] { comm.rendezvous("after"); }), kMessage);
  });
}

TEST(Abort, MayBeCalledFromAnEventsCallback) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> data(8);
    std::atomic<bool> called{false};
    const EventPtr done = comm.submit(all_reduce_of(data));
    if (comm.rank() == 1) {
      done->on_ready([&] {
        EXPECT_THAT(error_of([&] { comm.abort(7, "enough"); }), testing::HasSubstr("enough"));
        called = true;
      });
      while (!called) std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(error_of([&] { comm.rendezvous("after"); }),
              "7: rank 1 ended the job with code 7: enough");
  });
}

TEST(Finish, CompletesWhatWasSubmitted) {
  auto comms = make_in_process_communicators(2);
  std::vector<std::vector<float>> data = {operands<float>(1, 0, 50), operands<float>(1, 1, 50)};
  const EventPtr first = comms[0]->submit(all_reduce_of(data[0]));
  const EventPtr second = comms[1]->submit(all_reduce_of(data[1]));
  on_ranks(comms, [](Communicator& comm) { comm.finish(); });
  EXPECT_TRUE(first->is_ready());
  EXPECT_TRUE(second->is_ready());
  EXPECT_EQ(bits_of(data[0]), bits_of(serial_sums<float>(1, 2, 50)));
}

TEST(Destruction, OfOneRankFailsThoseThatWaitForIt) {
  auto comms = make_in_process_communicators(2);
  std::vector<float> data(8);
  const EventPtr done = comms[1]->submit(all_reduce_of(data));
  comms[0].reset();
  EXPECT_EQ(error_of([&] { done->wait(); }), "7: rank 0 is gone; rank 1 still waits for it");
}

TEST(Destruction, WithoutFinishWaitsForNobody) {
  auto comms = make_in_process_communicators(2);
  std::vector<float> data(8);
  EventPtr done;
  try {
    const auto comm = std::move(comms[0]);
    auto request = all_reduce_of(data);
    request.ready = std::make_shared<Event>();  // never marked
    done = comm->submit(request);
    raise(ErrorKind::kData, "bad file");
  } catch (const Error&) {
  }
  EXPECT_EQ(error_of([&] { done->wait(); }), "7: rank 0 left the job before its end");
}

TEST(Submit, RefusesWhatCannotBeCarriedOut) {
  const auto comms = make_in_process_communicators(1);
  Communicator& comm = *comms[0];
  std::vector<BF16> halves(4);
  std::vector<float> data(4);
  const auto refusal = [&](const CollectiveRequest& request) {
    return error_of([&] { comm.submit(request); });
  };
  EXPECT_EQ(refusal(all_reduce_of(halves)),
            "2: all_reduce cannot sum bf16; f32, f64, i32 and i64 can be summed");
  EXPECT_EQ(refusal(request_of(CollectiveKind::kAllGather, data, -1)),
            "2: all_gather of -1 elements: the count is negative");
  EXPECT_EQ(refusal({.kind = CollectiveKind::kBroadcast, .count = 4}),
            "2: broadcast of 4 elements without data");
  auto broadcast = request_of(CollectiveKind::kBroadcast, data, 4);
  broadcast.root = 1;
  EXPECT_EQ(refusal(broadcast), "2: broadcast from rank 1 in a job of 1 ranks");
  EXPECT_EQ(refusal({.kind = CollectiveKind::kExchange}),
            "2: an exchange cannot be submitted; call Communicator::exchange");
}

TEST(InProcess, NeedsARank) {
  EXPECT_EQ(error_of([] { make_in_process_communicators(0); }),
            "2: 0 in-process ranks requested; at least 1 is needed");
}

}  // namespace
}  // namespace lockstep

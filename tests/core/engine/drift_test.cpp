// A rank whose state differs from that of the others is found, named, and ends the job.
#include <atomic>
#include <functional>

#include "core/trace/gradients.h"
#include "tests/core/engine/rank.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kSize = 40'000;  // three blocks
constexpr std::int64_t kInterval = 4;

/// A rank that trains a parameter p with a state m, and compares them.
class Trainee {
 public:
  explicit Trainee(Communicator& communicator) : rank_(communicator) {
    p_ = rank_.variable(std::vector<float>(kSize, 1.0F), "p");
    m_ = rank_.variable(std::vector<float>(kSize, 0.5F), "m");
    rank_.engine.start_state_check(kInterval);
  }
  void step() {
    const Tensor x = rank_.batch({std::vector<float>(kSize, 2.0F)});
    const Tensor gradient = gradients(sum(p_ * x), std::vector<Tensor>{p_})[0];
    const Tensor next = m_ * 0.9 + all_reduce(gradient);
    p_.assign(p_ - next * 0.01);
    m_.assign(next);
    if (total_.defined()) total_.assign(total_ * 0.5 + sum(p_));
    rank_.engine.set_step(steps_++);
    rank_.engine.mark_step(SyncReason::kStepEnd);
  }
  /// From now on a sum over p is state, too.
  void keep_total() {
    total_ = rank_.engine.to_device({HostTensor::scalar(0.0F)}, InputKind::kState, "total");
  }
  void flip_bit(const Tensor& tensor, std::size_t element) {
    rank_.engine.wait();
    auto* bits = const_cast<std::byte*>(address_of(tensor));
    bits[element * sizeof(float) + 2] ^= std::byte{0x40};  // one that rounding does not heal
  }
  /// Takes a snapshot as a master or another rank does.
  HostTensor save(bool master) {
    HostTensor p(DType::kF32, p_.shape());
    HostTensor m(DType::kF32, m_.shape());
    saved_ = master ? rank_.engine.snapshot({{p_, m_}}, {p, m}) : rank_.engine.snapshot({}, {});
    return p;
  }
  const EventPtr& saved() const { return saved_; }
  EventPtr block_device() { return rank_.block_device(); }
  Engine& engine() { return rank_.engine; }
  const Tensor& p() const { return p_; }
  const Tensor& m() const { return m_; }
  std::int64_t steps() const { return steps_; }

 private:
  Rank rank_;
  Tensor p_;
  Tensor m_;
  Tensor total_;
  std::int64_t steps_ = 0;
  EventPtr saved_;
};

/// What each rank's error is.
std::vector<std::string> errors_of(int ranks, const std::function<void(Trainee&, int)>& body) {
  return errors_on_ranks(ranks, ErrorKind::kPeer, [&](Communicator& communicator) {
    Trainee trainee(communicator);
    body(trainee, communicator.rank());
    trainee.engine().wait();
  });
}

TEST(Drift, OfHealthyRanksIsNone) {
  for (const std::string& error : errors_of(2, [](Trainee&trainee, int) {
         for (int i = 0; i < 10; ++i) trainee.step();
         trainee.engine().compare_whole_state();
       }))
    EXPECT_EQ(error, "no error");
}

TEST(Drift, IsFoundWithinTheIntervalAndTheRankNamed) {
  for (const bool of_state : {false, true}) {
    SCOPED_TRACE(of_state);
    std::atomic<std::int64_t> found_after{0};
    const std::vector<std::string> errors = errors_of(3, [&](Trainee& trainee, int rank) {
      for (int i = 0; i < 5; ++i) trainee.step();
      if (rank == 1) trainee.flip_bit(of_state ? trainee.m() : trainee.p(), 20'000);
      try {
        for (std::int64_t i = 0; i < 3 * kInterval; ++i) {
          trainee.step();
          trainee.engine().wait();
        }
      } catch (...) {
        found_after = trainee.steps();
        throw;
      }
    });
    EXPECT_LE(found_after, 5 + kInterval + 1) << "one more: the next step brings the news";
    for (const std::string& error : errors)
      EXPECT_THAT(error, AllOf(HasSubstr("rank 1 has another"), HasSubstr("than ranks 0 2"),
                               HasSubstr("elements 16384 to 32767"),
                               HasSubstr("they last agreed on it at step ")));
    if (!of_state) {
      EXPECT_THAT(errors[0], HasSubstr("another p than"));
    }
  }
}

// A scalar's turn is every step's: what it tells of is looked for in all of the state.
TEST(Drift, OfAScalarIsNamedByTheTensorThatItIsMadeOf) {
  std::vector<std::int64_t> steps(3);
  const std::vector<std::string> errors = errors_of(3, [&](Trainee& trainee, int rank) {
    trainee.keep_total();
    for (int i = 0; i < 5; ++i) trainee.step();
    if (rank == 1) trainee.flip_bit(trainee.p(), 20'000);
    for (std::int64_t i = 0; i < 3; ++i) {
      trainee.step();
      trainee.engine().wait();
      steps[static_cast<std::size_t>(rank)] = trainee.steps();
    }
  });
  EXPECT_THAT(steps, testing::Each(6)) << "the next step's header told of it";
  for (const std::string& error : errors)
    EXPECT_THAT(error, AllOf(HasSubstr("at step 6: rank 1 has another p than ranks 0 2 (elements "
                                       "16384 to 32767 and 1 more blocks)")));
}

TEST(Drift, IsFoundAtOnceWhenEverythingIsCompared) {
  const std::vector<std::string> errors = errors_of(2, [](Trainee& trainee, int rank) {
    for (int i = 0; i < 3; ++i) trainee.step();
    if (rank == 0) trainee.flip_bit(trainee.m(), kSize - 1);
    trainee.engine().compare_whole_state();
  });
  for (const std::string& error : errors)
    EXPECT_THAT(error,
                AllOf(HasSubstr("at step 3: rank 0, rank 1 have different m, and no majority"),
                      HasSubstr("elements 32768 to 39999")));
}

TEST(Drift, OfWhatIsSavedIsFoundByTheNextStep) {
  for (const int damaged : {0, 1}) {
    for (const bool of_state : {false, true}) {
      const std::vector<std::string> errors = errors_of(2, [&](Trainee& trainee, int rank) {
        trainee.step();
        trainee.step();
        if (rank == damaged) trainee.flip_bit(of_state ? trainee.m() : trainee.p(), 30'000);
        trainee.save(rank == 0);
        trainee.step();
      });
      for (const std::string& error : errors) {
        EXPECT_THAT(error, HasSubstr(of_state ? "have different m" : "have different p"));
        EXPECT_THAT(error, HasSubstr("states differ at step 2"));
      }
    }
  }
}

TEST(Drift, IsComparedOfWhatWasCopiedEvenIfItCameLater) {
  for (const std::string& error : errors_of(2, [](Trainee&trainee, int rank) {
         trainee.step();
         const HostTensor copy = trainee.save(rank == 0);
         if (rank == 0) {
           trainee.saved()->wait();
           EXPECT_EQ(copy.as<float>()[30'000], values_of(trainee.p())[30'000]);
           trainee.flip_bit(trainee.p(), 30'000);
         }
         trainee.engine().compare_whole_state();
       }))
    EXPECT_EQ(error, "no error") << "the copy is good";
}

TEST(Drift, OfWhatIsSavedIsComparedWithoutWaitingForIt) {
  for (const std::string& error : errors_of(2, [](Trainee&trainee, int rank) {
         trainee.step();
         trainee.engine().wait();
         const EventPtr gate = trainee.block_device();
         trainee.save(rank == 0);
         trainee.step();  // returns while the device has not begun to copy
         EXPECT_FALSE(trainee.saved()->is_ready());
         gate->set();
         trainee.engine().wait();
         EXPECT_TRUE(trainee.saved()->is_ready());
       }))
    EXPECT_EQ(error, "no error");
}

TEST(Drift, DoesNotKeepDonatedMemory) {
  const std::vector<std::string> errors = errors_of(2, [](Trainee& trainee, int) {
    trainee.step();
    const std::byte* before = address_of(trainee.p());
    for (int i = 0; i < 5; ++i) trainee.step();
    EXPECT_EQ(address_of(trainee.p()), before) << "updated in place all the time";
  });
  EXPECT_EQ(errors[0], "no error");
}

}  // namespace
}  // namespace lockstep

// Reads that break steps, planted in a training loop: each is found, with its line, its value and
// its count, and nothing else is reported.
#include <functional>
#include <optional>
#include <set>

#include "core/engine/engine.h"
#include "core/observe/cuts.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"
#include "tests/trainer/train/user_program.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {
namespace {

constexpr std::int64_t kSteps = 5;

/// What a plant has at hand, between taking a batch and its step.
struct Loop {
  Session& session;
  Net& net;
  const Batch& batch;
  const std::optional<StepResult>& last;  ///< the step before
  std::set<int>& lines;                   ///< where the plant says that it reads
};

struct Plant {
  const char* name;
  const char* what;    ///< that each of its lines reads
  std::int64_t count;  ///< how often each does
  std::function<void(const Loop&)> in_step;
};

/// A user's helper that reads, whoever calls it.
float first_of(const Tensor& x, std::set<int>& lines) {
  lines.insert(__LINE__ + 1);
  return x.to_host().as<float>()[0];
}

std::vector<Plant> plants() {
  return {
      {"a number made of the batch", "f32[]", kSteps,
       [](const Loop& loop) {
         loop.lines.insert(__LINE__ + 1);
         sum(loop.batch["x"]).item();
       }},
      {"a field of the batch", "batch.y", kSteps,
       [](const Loop& loop) {
         loop.lines.insert(__LINE__ + 1);
         loop.batch["y"].to_host();
       }},
      {"a parameter", "in.weight", kSteps,
       [](const Loop& loop) {
         loop.lines.insert(__LINE__ + 1);
         loop.net.parameters().all()[0].get().to_host();
       }},
      {"the loss of the step before", "the loss", kSteps - 1,
       [](const Loop& loop) {
         if (!loop.last) return;
         loop.lines.insert(__LINE__ + 1);
         loop.last->loss().value();
       }},
      {"a branch on a value", "f32[]", kSteps,
       [](const Loop& loop) {
         loop.lines.insert(__LINE__ + 1);
         if (sum(loop.batch["y"]).item() > 1e6) loop.session.print("large");
       }},
      {"a helper that is called twice", "f32[]", 2 * kSteps,
       [](const Loop& loop) {
         first_of(sum(loop.batch["x"]), loop.lines);
         first_of(sum(loop.batch["y"]), loop.lines);
       }},
      {"two lines", "f32[]", kSteps,
       [](const Loop& loop) {
         loop.lines.insert({__LINE__ + 1, __LINE__ + 2});
         sum(loop.batch["x"]).item();
         sum(loop.batch["y"]).item();
       }},
      {"the same value twice on a line", "f32[]", 2 * kSteps,
       [](const Loop& loop) {
         const Tensor x = sum(loop.batch["x"]);
         loop.lines.insert(__LINE__ + 1);
         for (int time = 0; time < 2; ++time) x.item();
       }},
      {"places of the largest", "i32[", kSteps,
       [](const Loop& loop) {
         loop.lines.insert(__LINE__ + 1);
         arg_max(loop.batch["x"], 1).to_host();
       }},
      {"what the model says of the batch", "f32[]", kSteps,
       [](const Loop& loop) {
         loop.lines.insert(__LINE__ + 1);
         loop.net(loop.batch).sum.item();
       }},
      {"how many samples count", "i64[]", kSteps,
       [](const Loop& loop) {
         loop.lines.insert(__LINE__ + 1);
         loop.batch.count().item();
       }},
      {"now and then", "f32[]", 1,
       [](const Loop& loop) {
         if (!loop.last || loop.last->number() != 3) return;
         loop.lines.insert(__LINE__ + 1);
         sum(loop.batch["x"]).item();
       }},
  };
}

struct PlantedBreaks : UserProgram {
  /// Trains with the plant, and says which reads were told of.
  std::vector<Cuts::Row> reads_of(const std::function<void(const Loop&)>& plant) {
    Session session(ProcessCall{words, settings, watch}, {});
    Net net;
    Trainer trainer(session, net, Sgd{});
    const DataLoader data(session, points(100), {.global_batch_size = 32, .micro_batch_size = 32});
    std::optional<StepResult> last;
    for (const Batch& batch : trainer.steps(data, kSteps)) {
      plant({session, net, batch, last, lines});
      last = trainer.step(batch, net);
    }
    trainer.evaluate(data, net);
    session.finish();
    std::vector<Cuts::Row> out = session.runtime().engine().cuts().rows();
    std::erase_if(out, [](const Cuts::Row& row) { return row.reason != "value read"; });
    return out;
  }

  std::set<int> lines;  ///< that read
};

TEST_F(PlantedBreaks, AreFoundWithLineAndWhatWasRead) {
  for (const Plant& plant : plants()) {
    SCOPED_TRACE(plant.name);
    lines.clear();
    std::set<std::string> wanted, found;
    for (const Cuts::Row& row : reads_of(plant.in_step)) {
      found.insert(row.line);
      EXPECT_TRUE(row.in_step);
      EXPECT_EQ(row.count, plant.count);
      EXPECT_NE(row.what.find(plant.what), std::string::npos) << row.what;
    }
    for (const int line : lines) wanted.insert(fmt::format("planted_breaks_test.cpp:{}", line));
    EXPECT_EQ(found, wanted);
  }
}

TEST_F(PlantedBreaks, NoneAreFoundWhereNumbersArePrintedWhenTheyAreThere) {
  const auto print = [](const Loop& loop) {
    if (loop.last) loop.session.print("loss {}", loop.last->loss());
  };
  EXPECT_TRUE(reads_of(print).empty());
  words.emplace_back("profile.forbid_reads=true");
  EXPECT_TRUE(reads_of(print).empty());
}

TEST_F(PlantedBreaks, AreErrorsWhereTheyAreForbidden) {
  words.emplace_back("profile.forbid_reads=true");
  for (const Plant& plant : plants()) {
    SCOPED_TRACE(plant.name);
    lines.clear();
    std::string error;
    try {
      reads_of(plant.in_step);
    } catch (const Error& e) {
      error = e.what();
    }
    EXPECT_NE(error.find(fmt::format("planted_breaks_test.cpp:{}", *lines.begin())),
              std::string::npos)
        << error;
  }
}

}  // namespace
}  // namespace lockstep

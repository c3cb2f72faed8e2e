// The engine's report about every program that it makes: planted recompilations of every cause, and
// loops without any.
#include <filesystem>
#include <fstream>

#include "core/engine/compile.h"
#include "core/engine/known_structures.h"
#include "core/engine/step_io.h"
#include "core/explain/tally.h"
#include "core/observe/compilation.h"
#include "core/trace/mode.h"
#include "tests/core/engine/with_disk_cache.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// A rank that remembers what it is told.
struct Telling {
  explicit Telling(const CompileOptions& options = Rank::compile_options(), Log& log = Log::null())
      : rank(options, {}, log) {
    rank.engine.set_compilation_listener(
        [this](const CompilationRecord& record) { records.push_back(record); });
  }
  /// "input_shape batch.x[0]: 2 -> 3"; of all that was told since the last call.
  std::vector<std::string> told() {
    (void)rank.engine.compilations();
    std::vector<std::string> out;
    for (const CompilationRecord& record : std::exchange(records, {})) {
      out.push_back(std::string(name_of(record.explanation.cause())));
      if (!record.explanation.differences.empty()) out.back() += " " + record.explanation.text();
    }
    return out;
  }

  Rank rank;
  std::vector<CompilationRecord> records;
};

struct Compilations : testing::Test, Telling {
  std::int64_t compiled() { return rank.metrics.counter("UncachedCompile"); }
};

TEST_F(Compilations, AreTheFirstOnesOfASteadyLoop) {
  Tensor p = rank.variable({1, 2});
  std::vector<Tensor> losses;
  for (int step = 0; step < 12; ++step) {
    losses.push_back(sum(p * rank.context.scalar(step, DType::kF32, "lr")));
    p.assign(p * 0.5);
    rank.engine.mark_step();
    if (step % 4 == 3) {
      const Tensor evaluated = sum(p * p);
      rank.engine.mark_step(SyncReason::kEvaluation);
      (void)evaluated.item();
    }
  }
  EXPECT_THAT(told(), ElementsAre("first_compile", "first_compile"));
  EXPECT_EQ(rank.engine.compilations().table(), "");
}

TEST_F(Compilations, OfALoopThatReadsInEveryStepAreFirstOnes) {
  Tensor p = rank.variable({1, 2});
  for (int step = 0; step < 6; ++step) {
    const Tensor norm = sum(p * p);
    if (norm.item() > 0) p.assign(p * 0.5);
    rank.engine.mark_step();
  }
  EXPECT_THAT(told(), ElementsAre("first_compile", "first_compile"));
}

TEST_F(Compilations, NameALengthThatChanges) {
  rank.engine.batches_are_padded(std::vector<std::string>{"batch.x[0]"}, {});
  const int line = __LINE__ + 2;
  for (const std::size_t length : {3, 5, 3, 4}) {
    const Tensor loss = sum(rank.batch({std::vector<float>(length, 1)}) * 2.0);
    rank.engine.mark_step();
  }
  EXPECT_THAT(told(), ElementsAre("first_compile", "input_shape batch.x[0]: 3 -> 5",
                                  "input_shape batch.x[0]: 3 -> 4"));
  EXPECT_EQ(
      rank.engine.compilations().table(),
      fmt::format("recompilations: 2 of 3 programs were versions of others and took 0 s\n"
                  "  cause          compiled  loaded  seconds  what\n"
                  "  input_shape           2       0     0.00  batch.x[0] had 3 values (3, 4, "
                  "5), compilations_test.cpp:{}\n"
                  "  input_shape: {}",
                  line, remedy_of(Cause::kInputShape)));
}

TEST_F(Compilations, NameAConstantOfEveryStep) {
  const DebugLog debug;
  Telling loud(Rank::compile_options(), *debug.log);
  Tensor p = loud.rank.variable({1, 2});
  const int line = __LINE__ + 2;
  for (int step = 1; step <= 3; ++step) {
    p.assign(p * double(step));
    loud.rank.engine.mark_step();
  }
  const std::string place = fmt::format("compilations_test.cpp:{}", line);
  EXPECT_THAT(loud.told(),
              ElementsAre("first_compile", fmt::format("constant constant f32[] {}: 1 -> 2", place),
                          fmt::format("constant constant f32[] {}: 2 -> 3", place)));
  EXPECT_THAT(
      debug.lines_with("recompiled"),
      ElementsAre(HasSubstr("1 of 2 misses have this cause; to end it, give the number as "
                            "a tensor, x.context().scalar("),
                  fmt::format("recompiled at step 2 in 0 s (program 2, cut by mark_step on "
                              "compilations_test.cpp:{}): constant, constant f32[] {}: 2 -> "
                              "3; 2 of 3 misses have this cause; to end it, {}",
                              line + 1, place, remedy_of(Cause::kConstant))));
}

TEST_F(Compilations, NameTheReadThatCutAStep) {
  Tensor p = rank.variable({1, 2});
  int line = 0;
  const auto step = [&](bool reads) {
    const Tensor norm = sum(p * p);
    line = __LINE__ + 1;
    if (reads) (void)norm.item();
    p.assign(p * sqrt(norm));
    rank.engine.mark_step();
  };
  for (const bool reads : {false, false, true, true, false}) step(reads);
  EXPECT_THAT(told(),
              ElementsAre("first_compile",
                          fmt::format("value_read the read at compilations_test.cpp:{} cut the "
                                      "step; this is what came before it",
                                      line),
                          fmt::format("value_read the read at compilations_test.cpp:{} cut the "
                                      "step; this is what came after it",
                                      line)));
}

TEST_F(Compilations, OfAnEvaluationWithTheModelsOwnLossAreFirstOnes) {
  Tensor p = rank.variable({1, 2});
  const auto loss = [&] { return sum(exp(p)); };
  for (int step = 0; step < 3; ++step) {
    const Tensor value = loss();
    p.assign(p - p * value);
    rank.engine.mark_step();
  }
  for (int batch = 0; batch < 3; ++batch) (void)loss().item();
  for (int step = 0; step < 3; ++step) {
    const Tensor value = loss();
    (void)value.item();
  }
  EXPECT_THAT(told(), ElementsAre("first_compile", "first_compile"));
}

TEST_F(Compilations, NameTheMode) {
  const Tensor p = rank.variable({1, 2});
  for (const bool training : {true, false, true, false}) {
    const ModeScope mode(rank.context, {.training = training});
    const Tensor loss = sum(training ? p * 0.5 : p);
    rank.engine.mark_step();
  }
  EXPECT_THAT(told(), ElementsAre("first_compile", HasSubstr("training, f32 -> evaluation, f32")));
}

TEST_F(Compilations, NameAHandleAndWhoHoldsIt) {
  const Tensor p = rank.variable({1, 2});
  std::vector<Tensor> history;
  int line = 0;
  for (int step = 0; step < 4; ++step) {
    line = __LINE__ + 1;
    Tensor logits = p * 2.0;
    const Tensor loss = sum(logits);
    if (step == 2) history = {logits, logits};
    logits = Tensor();
    rank.engine.mark_step();
  }
  EXPECT_THAT(told(), ElementsAre("first_compile",
                                  fmt::format("output_set multiply f32[2] compilations_test.cpp:{} "
                                              "is now an output, held by 2 handles",
                                              line)));
}

TEST_F(Compilations, NameWhatWasDroppedToMakeRoom) {
  CompileOptions options = Rank::compile_options();
  options.max_programs = 1;
  Telling small(options);
  const auto step = [&](std::size_t length) {
    const Tensor loss = sum(small.rank.batch({std::vector<float>(length, 1)}));
    small.rank.engine.mark_step();
  };
  for (const std::size_t length : {2, 3, 2, 3}) step(length);
  const std::string dropped =
      "evicted the program had been dropped from memory to make room: 2 different ones were needed "
      "so far, and device.max_programs is 1";
  EXPECT_THAT(small.told(),
              ElementsAre("first_compile", "input_shape batch.x[0]: 2 -> 3", dropped, dropped));
  EXPECT_THAT(small.rank.engine.compilations().table(), HasSubstr("raise device.max_programs"));
}

TEST_F(Compilations, AlternatingProgramsAreMadeOnce) {
  const Tensor p = rank.variable({1, 2});
  for (int step = 0; step < 8; ++step) {
    const Tensor loss = step % 2 == 0 ? sum(p) : sum(exp(p));
    rank.engine.mark_step();
  }
  EXPECT_EQ(compiled(), 2);
  EXPECT_EQ(told().size(), 2U);
}

// Beyond device.max_programs.

struct TooMany : Compilations {
  CompileOptions limited(bool stop) const {
    CompileOptions out = Rank::compile_options();
    out.max_programs = 3;
    out.stop_beyond = stop;
    return out;
  }
  static void pad(Rank& rank, const std::vector<std::int64_t>& lengths = {}) {
    rank.engine.batches_are_padded(std::vector<std::string>{"batch.tokens[0]"}, lengths);
  }
  static void step(Rank& rank, std::size_t length) {
    const Tensor loss = sum(rank.batch({std::vector<float>(length, 1)}, "batch.tokens"));
    rank.engine.mark_step();
  }
};

TEST_F(TooMany, ProgramsAreWarnedOfWithInputDimensionValuesAndRemedy) {
  const DebugLog debug;
  Telling loud(limited(false), *debug.log);
  pad(loud.rank);
  for (const std::size_t length : {2, 3, 4, 2, 3, 4}) step(loud.rank, length);
  EXPECT_THAT(debug.lines_with("different programs"), testing::IsEmpty());
  step(loud.rank, 5);
  const std::string told =
      "4 different programs were needed so far, more than device.max_programs (3): "
      "batch.tokens[0] had 4 values (2, 3, 4, 5); pad it to a few sizes with data.padding: bucket, "
      "or to one with max (in a program of one's own DataLoaderOptions::padding with "
      "PaddingMode::kBucket or kMax); or raise device.max_programs; until then the least "
      "recently used programs are dropped";
  EXPECT_THAT(debug.lines_with("4 different programs"), ElementsAre(told));
  for (const std::size_t length : {6, 7}) step(loud.rank, length);
  EXPECT_THAT(debug.lines_with("different programs").size(), 1U);
  for (const std::size_t length : {8, 9}) step(loud.rank, length);
  EXPECT_THAT(debug.lines_with("different programs").size(), 2U);
}

TEST_F(TooMany, BucketsAreExpectedUntilThereAreTooMany) {
  const DebugLog debug;
  Telling loud(limited(false), *debug.log);
  pad(loud.rank, {2, 3, 4, 5});
  for (const std::size_t length : {2, 3, 4, 5}) step(loud.rank, length);
  EXPECT_THAT(debug.lines_with("4 different programs"),
              ElementsAre(HasSubstr("(2, 3, 4, 5); pad to fewer sizes with data.buckets (or "
                                    "data.max_buckets, where they are auto), or to one with "
                                    "data.padding: max ")));
  EXPECT_EQ(loud.rank.engine.compilations().misses_of(Cause::kBucket), 3);
  EXPECT_EQ(loud.rank.engine.compilations().table(), "") << "they were asked for";
  step(loud.rank, 7);
  EXPECT_EQ(loud.rank.engine.compilations().misses_of(Cause::kInputShape), 1) << "it is no bucket";
}

TEST_F(TooMany, ProgramsEndTheRunIfItIsToldSo) {
  Telling strict(limited(true));
  pad(strict.rank);
  for (const std::size_t length : {2, 3, 4, 2}) step(strict.rank, length);
  EXPECT_EQ(usage_error([&] { step(strict.rank, 5); }),
            "step 0: 4 different programs were needed so far, more than device.max_programs (3): "
            "batch.tokens[0] had 4 values (2, 3, 4, 5); pad it to a few sizes with data.padding: "
            "bucket, or to one with max (in a program of one's own DataLoaderOptions::padding with "
            "PaddingMode::kBucket or kMax); or raise device.max_programs "
            "(device.on_max_programs: stop)");
}

TEST_F(TooMany, ProgramsOfNoKindAreCalledSo) {
  Telling strict(limited(true));
  const Tensor p = strict.rank.variable({1, 2});
  const auto step = [&](const Tensor& /*held*/, std::source_location where) {
    strict.rank.engine.mark_step(SyncReason::kMarkStep, where);
  };
  step(sum(p), std::source_location::current());
  step(exp(p), std::source_location::current());
  step(log(p), std::source_location::current());
  EXPECT_THAT(usage_error([&] { step(tanh(p), std::source_location::current()); }),
              HasSubstr("(3): no two of them are alike; raise device.max_programs (device.on_"));
}

// With a folder.

struct OnDisk : WithDiskCache {
  /// What an engine with these options says of the step.
  std::vector<CompilationRecord> step(const CompileOptions& with) const {
    Telling telling(with);
    Tensor p = telling.rank.variable({1, 2});
    p.assign(p - exp(p) * 0.5);
    telling.rank.engine.mark_step();
    telling.rank.engine.wait();
    return telling.records;
  }
  std::vector<std::string> causes(const CompileOptions& with) const {
    std::vector<std::string> out;
    for (const CompilationRecord& record : step(with))
      out.push_back(fmt::format("{} {}", record.loaded ? "loaded" : "compiled",
                                name_of(record.explanation.cause())) +
                    (record.explanation.differences.empty() ? "" : ": ") +
                    record.explanation.text());
    return out;
  }
  fs::path only(const char* extension) const {
    fs::path out;
    for (const auto& file : fs::directory_iterator(folder))
      if (file.path().extension() == extension) out = file.path();
    return out;
  }
};

TEST_F(OnDisk, WhatIsLoadedIsSaidToBe) {
  EXPECT_THAT(causes(options()), ElementsAre("compiled first_compile"));
  EXPECT_THAT(causes(options()), ElementsAre("loaded first_compile"));
}

TEST_F(OnDisk, ADamagedEntryIsNamed) {
  (void)step(options());
  const fs::path file = only(".artifact");
  std::ofstream(file, std::ios::app) << "x";
  EXPECT_THAT(causes(options()),
              ElementsAre(testing::MatchesRegex("compiled damaged_entry: the file [0-9a-f]+ in "
                                                "device.compile_cache could not be read")));
  EXPECT_THAT(causes(options()), ElementsAre("loaded first_compile"));
}

TEST_F(OnDisk, OtherOptionsAreNamed) {
  (void)step(options());
  CompileOptions other = options();
  other.buckets.bucket_bytes = 3 << 20;
  EXPECT_THAT(causes(other), ElementsAre("compiled options: distributed.bucket_mb: 25 -> 3"));
  EXPECT_THAT(causes(other), ElementsAre("loaded first_compile"));
}

TEST_F(OnDisk, OtherVectorUnitsAreNamed) {
  CompileOptions narrow = options();
  narrow.target.isa = Isa::kAvx2;
  narrow.target.bf16 = Bf16Units::kNone;
  if (narrow.target.isa == options().target.isa) GTEST_SKIP() << "there are no others here";
  (void)step(narrow);
  EXPECT_THAT(causes(options()),
              ElementsAre(HasSubstr("compiled isa: vector units: avx2 -> avx512")));
}

TEST_F(OnDisk, AnotherBuildIsNamed) {
  const std::vector<CompilationRecord> first = step(options());
  fs::remove(only(".artifact"));
  fs::remove(only(".known"));
  CompileSettings settings = compile_settings(options());
  settings[0].value = "0123456789abcdef0123456789abcdef";
  KnownStructures(options().artifacts).add(first.at(0).structure, settings);
  EXPECT_THAT(causes(options()),
              ElementsAre(testing::MatchesRegex("compiled build: the build: "
                                                "0123456789abcdef0123456789abcdef -> [0-9a-f]+")));
}

TEST_F(OnDisk, AFileThatWasRemovedIsNamed) {
  (void)step(options());
  fs::remove(only(".artifact"));
  EXPECT_THAT(causes(options()),
              ElementsAre("compiled evicted: the file in device.compile_cache had been removed, to "
                          "make room (device.compile_cache_gb) or by hand"));
}

TEST_F(OnDisk, ADamagedIndexIsNoError) {
  (void)step(options());
  std::ofstream(only(".known"), std::ios::trunc) << "nonsense";
  CompileOptions other = options();
  other.buckets.bucket_bytes = 3 << 20;
  EXPECT_THAT(causes(other), ElementsAre("compiled first_compile"));
  EXPECT_THAT(causes(options()), ElementsAre("loaded first_compile"));
}

TEST_F(OnDisk, TheIndexKeepsWhatEarlierOptionsWere) {
  for (const int megabytes : {1, 2, 4}) {
    CompileOptions with = options();
    with.buckets.bucket_bytes = megabytes << 20;
    (void)step(with);
  }
  CompileOptions with = options();
  with.buckets.bucket_bytes = 4 << 20;
  with.buckets.first_bucket_bytes = 2 << 20;
  EXPECT_THAT(causes(with), ElementsAre("compiled options: distributed.first_bucket_mb: 1 -> 2"));
}

}  // namespace
}  // namespace lockstep

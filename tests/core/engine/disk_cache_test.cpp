// Programs compiled by one engine are found by another on disk, after any event on the disk
// between.
#include <filesystem>
#include <fstream>
#include <random>

#include "core/engine/compile.h"
#include "core/engine/step_io.h"
#include "core/engine/update_plans.h"
#include "core/ir/text.h"
#include "core/kernels/kernel_cache.h"
#include "core/runtime/loaded_step.h"
#include "tests/core/engine/with_disk_cache.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

struct DiskCache : WithDiskCache {
  std::vector<fs::path> entries() const {
    std::vector<fs::path> out;
    for (const auto& file : fs::directory_iterator(folder))
      if (file.path().extension() != ".known") out.push_back(file.path());
    return out;
  }
};

/// A step with micro-batches, a sum over them and an update: p - lr * sum over micro-batches of x.
std::vector<float> train(Rank& rank, const std::vector<std::vector<float>>& micro_batches) {
  Tensor p = rank.variable({1, 2});
  p.assign(p - all_reduce(exp(rank.batch(micro_batches))) *
                   rank.context.scalar(0.1, DType::kF32, "lr"));
  const Tensor norm = sum(p * p);
  rank.engine.mark_step();
  std::vector<float> out = values_of(p);
  out.push_back(values_of(norm)[0]);
  return out;
}

struct DiskCounts {
  std::int64_t hits, misses, compiled;
  friend bool operator==(const DiskCounts&, const DiskCounts&) = default;
};
void PrintTo(const DiskCounts& counts, std::ostream* out) {
  *out << counts.hits << " hits, " << counts.misses << " misses, " << counts.compiled
       << " compiled";
}
DiskCounts disk_counts_of(const Rank& rank) {
  return {rank.metrics.counter("PersistentCacheHit"), rank.metrics.counter("PersistentCacheMiss"),
          rank.metrics.counter("UncachedCompile")};
}

const std::vector<std::vector<float>> kMicroBatches = {{1, 2}, {3, 4}, {5, 6}};

TEST_F(DiskCache, IsLeftAloneByWhoOnlyPlans) {
  Rank rank(options());
  const Tensor y = rank.variable({1, 2}) * 2.0;
  (void)rank.engine.compile_pending();
  EXPECT_EQ(disk_counts_of(rank), (DiskCounts{0, 0, 1}));
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(DiskCache, ServesASecondEngineWithTheSameResult) {
  Rank first(options());
  const auto result = train(first, kMicroBatches);
  EXPECT_EQ(disk_counts_of(first), (DiskCounts{0, 1, 1}));
  Rank second(options());
  EXPECT_EQ(train(second, kMicroBatches), result);
  EXPECT_EQ(disk_counts_of(second), (DiskCounts{1, 0, 0}));
  EXPECT_EQ(second.metrics.metric("ArtifactLoadTime").samples, 1);
  EXPECT_EQ(train(second, kMicroBatches), result);
  EXPECT_EQ(second.metrics.counter("CachedCompile"), 1);
  EXPECT_EQ(disk_counts_of(second), (DiskCounts{1, 0, 0}));
  Rank without;
  EXPECT_EQ(train(without, kMicroBatches), result);
  EXPECT_EQ(disk_counts_of(without), (DiskCounts{0, 0, 1}));
}

TEST_F(DiskCache, DoesNotDependOnTheNumberOfMicroBatches) {
  Rank first(options());
  train(first, kMicroBatches);
  Rank second(options());
  train(second, {{1, 2}});
  EXPECT_EQ(disk_counts_of(second), (DiskCounts{1, 0, 0}));
}

TEST_F(DiskCache, MissesAnotherShapeAndAnotherOption) {
  Rank first(options());
  train(first, kMicroBatches);
  Rank shape(options());
  const Tensor y = shape.variable({1, 2, 3}) * 2.0;
  shape.engine.mark_step();
  EXPECT_EQ(disk_counts_of(shape), (DiskCounts{0, 1, 1}));
  CompileOptions buckets = options();
  buckets.buckets.bucket_bytes = 1;
  Rank bucketed(buckets);
  train(bucketed, kMicroBatches);
  EXPECT_EQ(disk_counts_of(bucketed), (DiskCounts{0, 1, 1}));
  CompileOptions older = options();
  older.target.isa = older.target.isa == Isa::kAvx2 ? Isa::kAvx512 : Isa::kAvx2;
  EXPECT_NE(compile_identity({}, older), compile_identity({}, options()));
  CompileOptions tiles = options();
  tiles.target.bf16 = Bf16Units::kTiles;
  CompileOptions vectors = options();
  vectors.target.bf16 = Bf16Units::kVectors;
  EXPECT_NE(compile_identity({}, tiles), compile_identity({}, vectors));
}

TEST_F(DiskCache, KeepsStepsWithoutAGradientProgram) {
  for (const DiskCounts& expected : {DiskCounts{0, 1, 1}, DiskCounts{1, 0, 0}}) {
    Rank rank(options());
    const Tensor y = rank.variable({1, 2}) * 2.0;
    rank.engine.mark_step();
    EXPECT_THAT(values_of(y), ElementsAre(2, 4));
    EXPECT_EQ(disk_counts_of(rank), expected);
  }
}

TEST_F(DiskCache, ReplacesADamagedEntryAndWarnsOnce) {
  Rank first(options());
  const auto result = train(first, kMicroBatches);
  const fs::path entry = entries().at(0);
  fs::resize_file(entry, fs::file_size(entry) / 2);
  const DebugLog log;
  Rank second(options(), {}, *log.log);
  EXPECT_EQ(train(second, kMicroBatches), result);
  EXPECT_EQ(disk_counts_of(second), (DiskCounts{0, 1, 1}));
  EXPECT_THAT(log.lines_with("compile cache:"), ElementsAre(HasSubstr("is replaced")));
  Rank third(options());
  EXPECT_EQ(train(third, kMicroBatches), result);
  EXPECT_EQ(disk_counts_of(third), (DiskCounts{1, 0, 0}));
}

TEST_F(DiskCache, ReplacesAnEntryThatHoldsAnotherStep) {
  Rank first(options());
  train(first, kMicroBatches);
  const DebugLog log;
  // As if the hashes of two steps were equal: the entry is whole, but of another identity.
  Rank second(options(), {}, *log.log);
  {
    Tensor q = second.variable({1, 2, 3});
    q.assign(q * 2.0);
    second.engine.mark_step();
    second.engine.wait();
  }
  ArtifactStore store({.folder = folder.string()}, Log::null());
  std::vector<std::pair<Hash128, std::string>> kept;
  for (const fs::path& path : entries()) {
    const std::string name = path.filename().string().substr(9, 32);
    const Hash128 key{std::stoull(name.substr(16), nullptr, 16),
                      std::stoull(name.substr(0, 16), nullptr, 16)};
    kept.emplace_back(key, store.load(key).value());
  }
  ASSERT_EQ(kept.size(), 2);
  store.save(kept[0].first, kept[1].second);
  store.save(kept[1].first, kept[0].second);
  Rank third(options(), {}, *log.log);
  train(third, kMicroBatches);
  EXPECT_EQ(disk_counts_of(third), (DiskCounts{0, 1, 1}));
  EXPECT_THAT(log.lines_with("compile cache:"),
              testing::Contains(HasSubstr("it is of another step, build or machine")));
  Rank fourth(options());
  train(fourth, kMicroBatches);
  EXPECT_EQ(disk_counts_of(fourth), (DiskCounts{1, 0, 0}));
}

TEST_F(DiskCache, CompilesWhereNothingCanBeKept) {
  std::ofstream(folder) << "a file";
  const DebugLog log;
  Rank rank(options(), {}, *log.log);
  EXPECT_EQ(train(rank, kMicroBatches).size(), 3);
  const Tensor y = rank.variable({1, 2, 3}) * 2.0;
  rank.engine.mark_step();
  EXPECT_EQ(disk_counts_of(rank), (DiskCounts{0, 2, 2}));
  EXPECT_THAT(log.lines_with("compile cache:"),
              ElementsAre(HasSubstr("compile cache: nothing is stored: ")));
}

TEST_F(DiskCache, DoesNotKeepWhatDoesNotCompile) {
  Rank rank(options());
  Tensor p = rank.variable({1, 2});
  p.assign(p - rank.batch({{1, 2}}));  // not all-reduced
  EXPECT_THAT(error_of([&] { rank.engine.mark_step(); }), HasSubstr("2: "));
  EXPECT_TRUE(!fs::exists(folder) || entries().empty());
}

/// The file format below the checksums: any damage is an error, or a step that can be run.
TEST_F(DiskCache, NeverTrustsBytesThatCannotBeRun) {
  const Graph graph = parse(
      "%x = f32[2] input() {kind=batch}\n%p = f32[2] input() {kind=parameter}\n"
      "%e = f32[2] exp(%x)\n%s = f32[2] all_reduce(%e)\n%y = f32[2] subtract(%p, %s)\nreturn %y",
      "test.ir");
  KernelCache kernels(tested_target());
  UpdatePlans updates;
  const auto compiled =
      load_step(compile_step(graph, options(), kernels, updates, Log::null()), options(), kernels);
  const std::string identity = compile_identity(graph, options());
  const std::string good = serialize(*compiled, identity);
  const auto loaded = deserialize(good, identity, graph, options(), kernels);
  EXPECT_EQ(serialize(*loaded, identity), good);
  EXPECT_EQ(loaded->compiled->reduction.signature, compiled->compiled->reduction.signature);
  std::mt19937 dice(1);
  int refused = 0;
  constexpr int kTrials = 2000;
  for (int i = 0; i < kTrials; ++i) {
    std::string bad = good;
    bad[dice() % bad.size()] = static_cast<char>(dice());
    if (i % 2 == 0) bad.resize(dice() % bad.size());
    try {
      (void)deserialize(bad, identity, graph, options(), kernels);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kData) << e.what();
      ++refused;
    }
  }
  // Truncation always shows. A flipped bit in generated code is found when the code is asked for:
  // codegen_cache_test.cpp.
  EXPECT_GT(refused, kTrials / 2);
}

}  // namespace
}  // namespace lockstep

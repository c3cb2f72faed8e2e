// Programs as files: compiled ones and those from the disk, in a form that runs again.
#include "core/observe/program_dump.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/engine/compile.h"
#include "core/ir/structure.h"
#include "core/ir/text.h"
#include "core/kernels/reference/reference.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

struct ProgramDumpTest : testing::Test {
  ProgramDumpTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder = fs::path(testing::TempDir()) / fmt::format("ls_dump_{}_{}", test->name(), getpid());
    fs::remove_all(folder);
    options.dump_folder = (folder / "dumps" / "rank-0").string();
  }
  ~ProgramDumpTest() override { fs::remove_all(folder); }

  /// In order of their names.
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& file : fs::directory_iterator(options.dump_folder))
      out.push_back(file.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(fs::path(options.dump_folder) / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Of the only file with that ending.
  std::string text(const std::string& ending) const {
    std::string out;
    for (const std::string& name : files())
      if (name.ends_with(ending)) out += read(name);
    return out;
  }

  fs::path folder;
  CompileOptions options = Rank::compile_options();
};

/// A disk that has no room for more than so many bytes of a file.
struct SmallFiles {
  explicit SmallFiles(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit now{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }
  rlimit before{};
  void (*handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

/// A step with both programs.
void train_once(Rank& rank) {
  Tensor p = rank.variable({1, 2});
  p.assign(p - all_reduce(exp(rank.batch({{1, 2}, {3, 4}}))) *
                   rank.context.scalar(0.1, DType::kF32, "lr"));
  rank.engine.mark_step(SyncReason::kStepEnd);
  rank.engine.wait();
}

TEST_F(ProgramDumpTest, HoldsWhatWasRecordedAndWhatBecameOfIt) {
  Rank rank(options);
  train_once(rank);
  train_once(rank);  // from the cache: nothing new
  const std::string name = "program-0-step_end-[0-9a-f]{8}";
  EXPECT_THAT(files(),
              ElementsAre(MatchesRegex(name + ".gradient.ir"), MatchesRegex(name + ".plan.txt"),
                          MatchesRegex(name + ".recorded.ir"), MatchesRegex(name + ".update.ir")));
  EXPECT_THAT(text(".plan.txt"),
              AllOf(HasSubstr("gradient program: arena "), HasSubstr("\n0 fused %"),
                    HasSubstr("update program: arena "), HasSubstr("in the memory of input ")));
  EXPECT_THAT(text(".recorded.ir"), HasSubstr("all_reduce"));
}

TEST_F(ProgramDumpTest, ParsesBackToGraphsThatComputeTheSame) {
  Rank rank(options);
  train_once(rank);
  const Graph recorded = parse(text(".recorded.ir"), "recorded.ir");
  const std::string once = print(recorded);
  EXPECT_EQ(print(parse(once, "again.ir")), once);
  const Graph gradient = parse(text(".gradient.ir"), "gradient.ir");
  const Graph update = parse(text(".update.ir"), "update.ir");
  EXPECT_THAT(text(".gradient.ir"), HasSubstr("fusion"));
  const HostTensor x = Rank::vector_of({1, 2});
  const auto sums = evaluate_reference(gradient, std::vector{x});
  std::vector<HostTensor> inputs;
  for (const ValueId id : update.inputs)
    inputs.push_back(update[id].name == "p"    ? Rank::vector_of({1, 2})
                     : update[id].name == "lr" ? HostTensor::scalar<float>(0.1F)
                                               : sums.at(0));
  const auto next = evaluate_reference(update, inputs);
  EXPECT_FLOAT_EQ(next.at(0).as<float>()[0], 1 - 0.1F * std::exp(1.0F));
  EXPECT_FLOAT_EQ(next.at(0).as<float>()[1], 2 - 0.1F * std::exp(2.0F));
}

TEST_F(ProgramDumpTest, HoldsWhatCameFromTheDiskToo) {
  options.artifacts.folder = (folder / "cache").string();
  std::vector<std::string> compiled;
  {
    Rank rank(options);
    train_once(rank);
    for (const std::string& name : files()) compiled.push_back(read(name));
    EXPECT_THAT(compiled[1], HasSubstr(": compiled in "));
  }
  fs::remove_all(options.dump_folder);
  Rank rank(options);
  train_once(rank);
  EXPECT_EQ(rank.metrics.counter("PersistentCacheHit"), 1);
  const std::vector<std::string> names = files();
  ASSERT_EQ(names.size(), compiled.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string loaded = read(names[i]);
    EXPECT_THAT(loaded, HasSubstr("loaded from device.compile_cache in ")) << names[i];
    EXPECT_EQ(loaded.substr(loaded.find('\n')), compiled[i].substr(compiled[i].find('\n')))
        << names[i];
  }
}

TEST_F(ProgramDumpTest, HoldsWhatIsOnlyPlanned) {
  Rank rank(options);
  const Tensor y = rank.variable({1, 2}) * 2.0;
  (void)rank.engine.compile_pending();
  EXPECT_THAT(files(), ElementsAre(StartsWith("plan-dry_run-"), StartsWith("plan-dry_run-"),
                                   MatchesRegex("plan-dry_run-[0-9a-f]{8}.update.ir")));
}

TEST_F(ProgramDumpTest, RefusesAFolderThatCannotBe) {
  fs::create_directories(folder);
  std::ofstream(folder / "dumps") << "a file";
  EXPECT_THAT(error_of([&] { Rank rank(options); }),
              AllOf(StartsWith("2: environment variable LOCKSTEP_DUMP_DIR: programs cannot be "
                               "dumped to "),
                    HasSubstr(options.dump_folder)));
}

TEST_F(ProgramDumpTest, WarnsOnceOfADiskThatIsFullAndGoesOn) {
  const DebugLog log;
  Log warnings({.console = false, .file = log.path.string(), .debug = 0});
  Rank rank(options, {}, warnings);
  {
    const SmallFiles limit(1000);
    for (const float factor : {1.5F, 2.5F}) {
      const std::vector<float> many(500, factor);  // too long a text
      const Tensor y = rank.variable(many) * rank.context.constant(Rank::vector_of(many));
      rank.engine.mark_step();
      EXPECT_EQ(values_of(y)[0], factor * factor);
    }
  }
  EXPECT_THAT(log.lines_with("LOCKSTEP_DUMP_DIR"),
              ElementsAre(AllOf(StartsWith("LOCKSTEP_DUMP_DIR: programs are not dumped, or only "
                                           "in part: "),
                                HasSubstr("File too large"))));
  EXPECT_THAT(files(), testing::IsEmpty()) << "no part of a file";
}

}  // namespace
}  // namespace lockstep

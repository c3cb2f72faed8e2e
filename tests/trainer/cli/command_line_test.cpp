#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <sstream>
#include <stdexcept>

#include "core/base/build_id.h"
#include "core/base/error.h"
#include "core/base/help_pages.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/dispatch.h"
#include "trainer/cli/exit_codes.h"
#include "trainer/job/report_errors.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Watch watch;
  const int status = run_command_line(words, built_in(), Settings{}, watch, {out, err});
  return {status, out.str(), err.str()};
}

/// The whole of what is printed for a command line that must be refused with exit code 2.
std::string refusal(const std::vector<std::string>& words) {
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  return outcome.err;
}

int status_of(const std::function<int()>& body, std::string& message) {
  std::ostringstream err;
  const int status = report_errors(Settings{}, err, body);
  message = err.str();
  return status;
}

TEST(CommandLine, HelpNamesEveryCommand) {
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.err, "");
  for (const char* name : {"train",        "launch",      "eval",          "generate",
                           "config check", "config show", "config schema", "ckpt ls",
                           "ckpt inspect", "ckpt verify", "ckpt hash",     "ckpt prune",
                           "ir run",       "ir print",    "prepare text",  "prepare tokenizer",
                           "prepare idx",  "calibrate",   "doctor",        "models",
                           "predict",      "init"})
    EXPECT_THAT(help.out, HasSubstr("\n  " + std::string(name) + " "));
  EXPECT_EQ(run({"-h"}).out, help.out);
}

/// The step that is asked for, given: the prediction is nearly that.
TEST(CommandLine, ForeseeIsCorrectedByGivenSteps) {
  const TemporaryFolder folder;
  const std::string config = folder.write("gpt.yaml", R"(
model: {name: gpt2, n_layer: 1, n_head: 2, n_embd: 64, block_size: 32, vocab_size: 100}
data: {type: synthetic}
training: {max_steps: 1, global_batch_size: 4, micro_batch_size: 4}
optimizer: {name: adamw, learning_rate: 0.001}
)");
  const std::vector<std::string> words{"foresee", config, "--device", "a100-sxm4-80gb"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return more;
  };
  EXPECT_THAT(run(words).out, Not(HasSubstr("corrected")));
  EXPECT_THAT(run(with({"--given", "step_ms=100", "step_ms=100", "--given", "step_ms=100"})).out,
              AllOf(HasSubstr("\nstep 9"), HasSubstr("\ncorrected by 3 given steps: times ")));
  EXPECT_THAT(
      run(with({"--sweep", "training.micro_batch_size=2,4", "--given", "step_ms=100", "--json"}))
          .out,
      HasSubstr("\"given_steps\": 1"));
  EXPECT_EQ(refusal(with({"--given", "stepms=100"})),
            "lockstep: error: --given stepms=100: unknown key 'stepms'; did you mean 'step_ms'?\n"
            "see docs/guides/foresight.md\n");
}

TEST(CommandLine, EveryCommandHasAHelpThatBeginsWithItsUsage) {
  EXPECT_THAT(
      run({"train", "--help"}).out,
      StartsWith(
          "usage: lockstep train CONFIG [key.path=value ...] [--resume[=PATH]] [--dry-run]\n"));
  EXPECT_THAT(run({"ckpt", "prune", "-h"}).out,
              StartsWith("usage: lockstep ckpt prune PATH [--keep-last N]\n"));
  EXPECT_EQ(run({"prepare", "--help"}).out,
            "usage: lockstep prepare text IN [IN ...] [--output DIR] [--tokenizer TYPE] "
            "[--vocab FILE] [--merges FILE] [--val-fraction F] [--text-field NAME] [--plain-text]\n"
            "usage: lockstep prepare tokenizer IN [IN ...] [--type TYPE] [--vocab-size N] "
            "[--output FILE] [--min-frequency N] [--cased] [--text-field NAME] [--plain-text]\n"
            "usage: lockstep prepare idx IMAGES LABELS\n");
}

TEST(CommandLine, TellsItsVersion) {
  EXPECT_THAT(run({"--version"}).out, testing::MatchesRegex("lockstep [0-9.]+\n"));
}

TEST(CommandLine, SuggestsACommand) {
  EXPECT_EQ(refusal({"trian", "x"}),
            "lockstep: error: unknown command 'trian'; did you mean 'train'?\n"
            "usage: lockstep COMMAND ...; `lockstep --help` lists the commands\n");
  EXPECT_EQ(refusal({"--versoin"}),
            "lockstep: error: unknown option '--versoin'; did you mean '--version'?\n"
            "usage: lockstep COMMAND ...; `lockstep --help` lists the commands\n");
  EXPECT_EQ(refusal({"ir", "rum"}),
            "lockstep: error: unknown command 'ir rum'; did you mean 'ir run'?\n"
            "usage: lockstep ir run FILE.ir [--input A.h5] [--max-gb N] [--output B.h5] "
            "[--kernels KIND] [--threads N]\n"
            "usage: lockstep ir print FILE.ir [--passes]\n");
}

TEST(CommandLine, NeedsACommand) {
  EXPECT_THAT(refusal({}), StartsWith("lockstep: distributed data-parallel training"));
  EXPECT_THAT(refusal({"ckpt"}),
              StartsWith("lockstep: error: 'ckpt' needs a second word\nusage: lockstep ckpt ls "));
}

TEST(CommandLine, RefusesWrongOptions) {
  const std::string usage =
      "usage: lockstep train CONFIG [key.path=value ...] [--resume[=PATH]] [--dry-run]\n";
  EXPECT_EQ(refusal({"train", "x.yaml", "--dry-rnu"}),
            "lockstep: error: unknown option '--dry-rnu'; did you mean '--dry-run'?\n" + usage);
  EXPECT_EQ(refusal({"train", "x.yaml", "--dry"}),  // no abbreviations
            "lockstep: error: unknown option '--dry'\n" + usage);
  EXPECT_EQ(refusal({"train", "x.yaml", "--training.max_steps=3"}),
            "lockstep: error: unknown option '--training.max_steps'; a config key is overridden "
            "without dashes: training.max_steps=3\n" +
                usage);
  EXPECT_EQ(refusal({"train", "x.yaml", "--dry-run=yes"}),
            "lockstep: error: option '--dry-run' takes no value\n" + usage);
  EXPECT_EQ(refusal({"train", "x.yaml", "--resume="}),
            "lockstep: error: option '--resume' needs a value\n" + usage);
  EXPECT_EQ(refusal({"train", "x.yaml", "--dry-run", "--dry-run"}),
            "lockstep: error: option '--dry-run' was given twice\n" + usage);
}

TEST(CommandLine, RefusesWrongPositionals) {
  EXPECT_EQ(refusal({"ckpt", "ls"}),
            "lockstep: error: PATH is missing\nusage: lockstep ckpt ls PATH\n");
  EXPECT_EQ(refusal({"ckpt", "ls", "a", "b"}),
            "lockstep: error: unexpected argument 'b'\nusage: lockstep ckpt ls PATH\n");
  EXPECT_THAT(refusal({"train"}), StartsWith("lockstep: error: CONFIG is missing\n"));
  EXPECT_EQ(refusal({"models", "gpt2"}),
            "lockstep: error: unexpected argument 'gpt2'\nusage: lockstep models\n");
}

TEST(CommandLine, ChecksNumbersLikeTheConfigDoes) {
  EXPECT_EQ(refusal({"generate", "run", "--top-k", "many"}),
            "lockstep: error: --top-k must be an integer >= 0, not 'many'\n");
  EXPECT_EQ(refusal({"generate", "run", "--top-k", "-1"}),
            "lockstep: error: --top-k must be an integer >= 0, not '-1'\n");
  EXPECT_EQ(refusal({"generate", "run", "--temperature=nan"}),
            "lockstep: error: --temperature must be a number >= 0, not 'nan'\n");
  EXPECT_EQ(refusal({"generate", "run", "--max-new-tokens", "5x"}),
            "lockstep: error: --max-new-tokens must be an integer >= 0, not '5x'\n");
  EXPECT_EQ(refusal({"generate", "run", "--top-p", "0"}),
            "lockstep: error: --top-p must be a number > 0 and <= 1, not '0'\n");
  EXPECT_EQ(refusal({"generate", "run", "--num-samples", "0"}),
            "lockstep: error: --num-samples must be an integer >= 1 and <= 4096, not '0'\n");
  EXPECT_EQ(refusal({"generate", "run", "--num-beams", "0"}),
            "lockstep: error: --num-beams must be an integer >= 1 and <= 1024, not '0'\n");
  EXPECT_EQ(refusal({"generate", "run", "--length-penalty", "long"}),
            "lockstep: error: --length-penalty must be a number >= -10 and <= 10, not 'long'\n");
  EXPECT_EQ(refusal({"ckpt", "prune", "run", "--keep-last", "0"}),
            "lockstep: error: --keep-last must be an integer from 1 to 2147483647, not '0'\n");
}

TEST(CommandLine, AnUnexpectedExceptionBecomesAMessage) {
  std::string message;
  EXPECT_EQ(status_of([]() -> int { throw std::bad_alloc(); }, message), 6);
  EXPECT_EQ(message,
            "lockstep: error: the host has no memory left; stop other programs on this machine, "
            "start fewer ranks on it, or lower training.micro_batch_size\n"
            "see docs/guides/memory.md#what-goes-wrong\n");
  EXPECT_EQ(status_of([]() -> int { throw std::out_of_range("map::at"); }, message), 1);
  EXPECT_EQ(message,
            "lockstep: error: internal error: map::at (an exception that lockstep did not "
            "expect)\n");
  EXPECT_EQ(status_of([]() -> int { throw 5; }, message), 1);
  EXPECT_EQ(message, "lockstep: error: internal error: an unknown exception\n");
}

TEST(CommandLine, TheKindOfAnErrorIsTheExitCode) {
  std::string message;
  for (const ErrorKind kind :
       {ErrorKind::kInternal, ErrorKind::kUsage, ErrorKind::kData, ErrorKind::kCheckpoint,
        ErrorKind::kNonFinite, ErrorKind::kOutOfMemory, ErrorKind::kPeer, ErrorKind::kPreempted}) {
    EXPECT_EQ(status_of([&]() -> int { raise(kind, "first\nsecond"); }, message),
              static_cast<int>(kind));
    EXPECT_EQ(message, "lockstep: error: first\nsecond" + see_help_page(kind, "") + "\n");
  }
  EXPECT_EQ(status_of([] { return 75; }, message), 75);
  EXPECT_EQ(message, "");
}

TEST(CommandLine, EachOfSeveralRanksSaysWhichOneItIs) {
  std::ostringstream err;
  Settings settings;
  settings.world_rank = 3;
  settings.world_size = 4;
  report_errors(settings, err, []() -> int { raise(ErrorKind::kNonFinite, "the loss is nan"); });
  EXPECT_EQ(
      err.str(),
      "lockstep: error: rank 3: the loss is nan\nsee docs/guides/optimizers.md#what-goes-wrong\n");
  err.str("");
  settings.world_rank = 0;
  report_errors(settings, err, []() -> int { raise(ErrorKind::kUsage, "no such file"); });
  EXPECT_EQ(err.str(), "lockstep: error: rank 0: no such file\n");
  err.str("");
  settings.world_size = 1;
  report_errors(settings, err, []() -> int { raise(ErrorKind::kUsage, "no such file"); });
  EXPECT_EQ(err.str(), "lockstep: error: no such file\n");
}

TEST(CommandLine, OutputThatCannotBeWrittenIsAnError) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  Watch watch;
  EXPECT_EQ(run_command_line(std::vector<std::string>{"models"}, built_in(), Settings{}, watch,
                             {out, err}),
            1);
  EXPECT_EQ(err.str(), "lockstep: error: standard output cannot be written\n");
}

TEST(CommandLine, ModelsHaveTheirWellKnownSizes) {
  const Outcome models = run({"models"});
  EXPECT_EQ(models.status, 0);
  // Radford et al. 2019 as Hugging Face counts them (tied embedding once); LeCun et al. 1998.
  for (const char* parameters :
       {" 124439808 ", " 354823168 ", " 774030080 ", " 1557611200 ", " 61706 ", " 669706 "})
    EXPECT_THAT(models.out, HasSubstr(parameters));
}

TEST(CommandLine, VersionNamesTheBuildAndWhatItComputesWith) {
  const Outcome version = run({"version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, testing::StartsWith(run({"--version"}).out));
  EXPECT_THAT(version.out, HasSubstr("\nbuild id         " + build_id().hex() + "\n"));
  EXPECT_THAT(version.out, testing::ContainsRegex("\ninstruction set  AVX(2|-512)[^\n]*\n"));
  for (const char* pattern :
       {"\ncommit           unknown\n",  // of programs other than lockstep
        "\nbuild type       [A-Za-z]+\n", "\ncompiler         (GCC|Clang) [0-9.]+",
        "\ndocuments        /.+\n", "\nLLVM             19\\.[0-9.]+\n",
        "\noneDNN           [0-9.]+\n", "\nHDF5             1\\.[0-9.]+\n",
        "\nMPI              Open MPI v[0-9.]+\n"})
    EXPECT_THAT(version.out, testing::ContainsRegex(pattern));
}

TEST(CommandLine, EveryCommandMayEndWithTheCodesOfAllAndItsOwn) {
  std::vector<int> known;
  for (const ExitCode& code : exit_codes()) known.push_back(code.code);
  for (const CliCommand& command : all_commands()) {
    std::vector<int> codes;
    for (const ExitCode& code : exit_codes_of(command)) codes.push_back(code.code);
    EXPECT_THAT(codes, testing::IsSupersetOf({0, 1, 2, 6, 75})) << command.name;
    EXPECT_THAT(codes, testing::IsSupersetOf(command.exits)) << command.name;
    EXPECT_TRUE(std::ranges::is_sorted(codes)) << command.name;
    EXPECT_THAT(known, testing::IsSupersetOf(codes))
        << command.name << ": a code without a meaning";
  }
}

TEST(CommandLine, DoctorJudgesThisMachine) {
  const Outcome doctor = run({"doctor"});
  EXPECT_EQ(doctor.status, 0) << doctor.out;
  for (const char* topic : {"  cpu: ", "  cores: ", "  memory: ", "  mpi: ", "  /dev/shm: "})
    EXPECT_THAT(doctor.out, HasSubstr(topic));
}

}  // namespace
}  // namespace lockstep

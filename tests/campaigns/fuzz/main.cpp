// Feeds mutated inputs to the fuzz targets, in child processes with a limit of memory and of time,
// and reports inputs that crash, hang, exhaust memory or are refused with a wrong error.
//
//   fuzz_inputs [--seconds N] [--seed N] [--keep FOLDER] [TARGET...]
//   fuzz_inputs TARGET --input FILE       one input, in this process
//
// Prints a line per target. Exit code 1 if there was a finding; its input is kept in FOLDER.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/host_memory.h"
#include "tests/campaigns/fuzz/target.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFound = 99;                        // a child's exit code
constexpr int kCpuSeconds = 10;                   // that one input may take
constexpr int kWallSeconds = 120;                 // the same for waiting; the machine may be busy
constexpr rlim_t kExtraMemory = rlim_t{1} << 30;  // that one input may take
constexpr int kMaxFindings = 5;                   // of a target; the rest is likely the same

struct Options {
  double seconds = 25;
  std::uint64_t seed = 1;
  std::string keep = "fuzz_findings";
  std::string input;
  std::vector<std::string> targets;
};

/// What parent and child both see.
struct Shared {
  std::uint64_t next = 0;  ///< the input that the child works on
  char finding[4096] = {};
};

struct Tally {
  std::uint64_t inputs = 0;
  int crashes = 0;
  int hangs = 0;
  int wrong = 0;  ///< refused wrongly, or with another exception
  int findings() const { return crashes + hangs + wrong; }
};

/// The address space in use, in bytes.
rlim_t address_space() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void work(const Target& target, const std::vector<std::string>& good, Shared& shared,
                       std::uint64_t seed, Clock::time_point end) {
  rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  const rlimit memory{address_space() + kExtraMemory, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &memory);
  for (; Clock::now() < end; ++shared.next) {
    const itimerval limit{{}, {kCpuSeconds, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);  // SIGPROF ends the process
    alarm(kWallSeconds);
    const std::string finding = judge(target, draw_input(target, good, seed, shared.next));
    if (finding.empty()) continue;
    std::strncpy(shared.finding, finding.c_str(), sizeof shared.finding - 1);
    _exit(kFound);
  }
  _exit(0);
}

/// What the end of a child means; empty for a good one.
std::string describe_end(int status, const Shared& shared, Tally& tally) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFEXITED(status) && WEXITSTATUS(status) == kFound) {
    ++tally.wrong;
    return shared.finding;
  }
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM)) {
    ++tally.hangs;
    return "hangs";
  }
  ++tally.crashes;
  return WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                             : fmt::format("ended with {}", WEXITSTATUS(status));
}

Tally fuzz(const Target& target, const Options& options, double seconds) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  const std::vector<std::string> good = target.seeds();
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  LS_CHECK(memory != MAP_FAILED, "no shared memory");
  auto& shared = *new (memory) Shared;
  Tally tally;
  while (tally.findings() < kMaxFindings) {
    std::fflush(stdout);
    const pid_t child = fork();
    LS_CHECK(child >= 0, "no child process");
    if (child == 0) work(target, good, shared, options.seed, end);
    int status = 0;
    waitpid(child, &status, 0);
    const std::string finding = describe_end(status, shared, tally);
    if (finding.empty()) break;
    const std::string path =
        fmt::format("{}/{}-{}-{}", options.keep, target.name, options.seed, shared.next);
    std::filesystem::create_directories(options.keep);
    std::ofstream(path, std::ios::binary) << draw_input(target, good, options.seed, shared.next);
    fmt::print("finding: {}: {} (its input: {})\n", target.name, finding, path);
    ++shared.next;
    if (Clock::now() >= end) break;
  }
  tally.inputs = shared.next;
  munmap(memory, sizeof(Shared));
  return tally;
}

Options parse_options(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      LS_USER_CHECK(i + 1 < argc, "{} needs a value", word);
      return argv[++i];
    };
    if (word == "--seconds")
      out.seconds = std::stod(value());
    else if (word == "--seed")
      out.seed = std::stoull(value());
    else if (word == "--keep")
      out.keep = value();
    else if (word == "--input")
      out.input = value();
    else
      out.targets.push_back(word);
  }
  return out;
}

int run(const Options& options) {
  std::vector<Target> targets = all_targets();
  for (const std::string& name : options.targets) {
    const bool known = std::any_of(targets.begin(), targets.end(),
                                   [&](const Target& t) { return t.name == name; });
    LS_USER_CHECK(known, "there is no target '{}'", name);
  }
  if (!options.targets.empty())
    std::erase_if(targets, [&](const Target& t) {
      return std::find(options.targets.begin(), options.targets.end(), t.name) ==
             options.targets.end();
    });
  if (!options.input.empty()) {
    const std::string finding = judge(targets.at(0), contents_of(options.input));
    fmt::print("{}\n", finding.empty() ? "as it should be" : finding);
    return finding.empty() ? 0 : 1;
  }
  int findings = 0;
  for (const Target& target : targets) {
    const Tally tally =
        fuzz(target, options, options.seconds / static_cast<double>(targets.size()));
    findings += tally.findings();
    fmt::print("{}: {} inputs, {} crashes, {} hangs, {} wrong\n", target.name, tally.inputs,
               tally.crashes, tally.hangs, tally.wrong);
  }
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::fuzz

int main(int argc, char** argv) {
  lockstep::prepare_for_lack_of_memory();
  try {
    return lockstep::fuzz::run(lockstep::fuzz::parse_options(argc, argv));
  } catch (const std::exception& e) {
    fmt::print(stderr, "fuzz_inputs: {}\n", e.what());
    return 2;
  }
}

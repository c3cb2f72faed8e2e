#include "trainer/calibrate/jobs.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <iostream>

#include "core/base/error.h"
#include "data/files/read_text.h"
#include "trainer/launch/launch.h"
#include "trainer/machine/limits_file.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Limit of a job that measures sums; it takes about three.
constexpr double kMaxSumsSeconds = 20;

}  // namespace

JobFolder::JobFolder() : path_((fs::temp_directory_path() / "lockstep-calibrate-XXXXXX").string()) {
  LS_USER_CHECK(mkdtemp(path_.data()) != nullptr, "cannot make the folder {}", path_);
}

JobFolder::~JobFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

JobEnd run_job(int ranks, std::vector<std::string> command, double max_seconds) {
  LaunchOptions options;
  options.ranks = ranks;
  options.command = std::move(command);
  options.max_seconds = max_seconds;
  options.silent = true;
  try {
    const int code = launch(options);
    if (code == static_cast<int>(ErrorKind::kPreempted) || code > 128) return {code};
    if (code != 0) return {0, fmt::format("the job ended with code {}", code)};
  } catch (const Error& e) {
    return {0, e.what()};
  }
  return {};
}

std::vector<int> ranks_of_jobs(int cores) {
  std::vector<int> out;
  for (const int ranks : {2, 4})
    if (ranks <= cores) out.push_back(ranks);
  return out;
}

int add_sums_of_jobs(const std::vector<int>& ranks, bool quick, std::vector<AllReduceTime>& sums) {
  for (const int number : ranks) {
    const JobFolder folder;
    const std::string file = folder.path() + "/sums.json";
    std::vector<std::string> command{"calibrate", "--all-reduce", "--output", file};
    if (quick) command.emplace_back("--quick");
    JobEnd end = run_job(number, std::move(command), kMaxSumsSeconds);
    if (end.interrupted != 0) return end.interrupted;
    try {
      if (end.problem.empty()) {
        const MachineLimits limits = parse_limits(read_text(file), file);
        sums.insert(sums.end(), limits.all_reduce.begin(), limits.all_reduce.end());
      }
    } catch (const Error& e) {
      end.problem = e.what();
    }
    if (!end.problem.empty())
      std::cerr << fmt::format("lockstep: warning: sums over {} ranks are left out: {}\n", number,
                               end.problem);
  }
  return 0;
}

}  // namespace lockstep

#include "trainer/calibrate/jobs.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/base/settings.h"
#include "data/files/read_text.h"
#include "trainer/launch/launch.h"
#include "trainer/machine/limits_file.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Limit of a job that measures sums; it takes about three.
constexpr double kMaxSumsSeconds = 20;

}  // namespace

JobFolder::JobFolder() : path_(usable_temporary_folder() + "/lockstep-calibrate-XXXXXX") {
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

void pretend_hosts() {
  setenv("OMPI_MCA_btl", "self,tcp", 1);
  setenv("OMPI_MCA_btl_tcp_if_include", "lo", 1);
}

JobEnd add_sums_of_job(int ranks, const std::string& how, bool quick,
                       std::vector<AllReduceTime>& sums) {
  const JobFolder folder;
  const std::string file = folder.path() + "/sums.json";
  std::vector<std::string> command{"calibrate", how, "--output", file};
  if (quick) command.emplace_back("--quick");
  JobEnd end = run_job(ranks, std::move(command), kMaxSumsSeconds);
  if (end.interrupted != 0 || !end.problem.empty()) return end;
  try {
    const MachineLimits limits = parse_limits(read_text(file), file);
    sums.insert(sums.end(), limits.all_reduce.begin(), limits.all_reduce.end());
  } catch (const Error& e) {
    end.problem = e.what();
  }
  return end;
}

}  // namespace lockstep

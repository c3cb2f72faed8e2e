#include "watch/job_identity.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "watch/proc_file.h"

namespace lockstep {
namespace {

using Variables = std::map<std::string_view, std::string_view>;

Variables parse_variables(std::string_view environment) {
  Variables out;
  while (!environment.empty()) {
    const std::size_t end = environment.find('\0');
    const std::string_view entry = environment.substr(0, end);
    environment.remove_prefix(end == std::string_view::npos ? environment.size() : end + 1);
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos)
      out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

std::string_view text_of(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string_view() : found->second;
}

/// The number that a variable begins with: Slurm writes "2(x3)".
std::optional<int> number_of(const Variables& variables, std::string_view name) {
  const std::string_view text = text_of(variables, name);
  int value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<JobIdentity> parse_job_identity(std::string_view environment) {
  const Variables variables = parse_variables(environment);
  JobIdentity out;
  if (const auto size = number_of(variables, "OMPI_COMM_WORLD_SIZE")) {
    // A job's name can repeat, as it is made of a process id; the address of its server cannot.
    out.job = fmt::format("ompi {} {}", text_of(variables, "PMIX_NAMESPACE"),
                          text_of(variables, "PMIX_SERVER_URI2"));
    out.rank = number_of(variables, "OMPI_COMM_WORLD_RANK").value_or(0);
    out.size = *size;
    out.local_size = number_of(variables, "OMPI_COMM_WORLD_LOCAL_SIZE").value_or(0);
    return out;
  }
  const auto step_rank = number_of(variables, "SLURM_PROCID");
  const std::string_view step = text_of(variables, "SLURM_STEP_ID");
  const auto tasks = number_of(variables, "SLURM_STEP_NUM_TASKS");
  if (!step_rank || step.empty() || !tasks) return std::nullopt;
  out.job = fmt::format("slurm {} {}", text_of(variables, "SLURM_JOB_ID"), step);
  out.rank = *step_rank;
  out.size = *tasks;
  return out;
}

std::optional<JobIdentity> job_identity_of(std::int64_t pid) {
  const auto environment = read_proc_file(fmt::format("/proc/{}/environ", pid));
  if (!environment) return std::nullopt;
  return parse_job_identity(*environment);
}

}  // namespace lockstep

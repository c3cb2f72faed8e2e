#include "trainer/launch/slurm_job.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "core/base/error.h"

namespace lockstep {
namespace {

struct Answer {
  bool good = false;
  std::string text;  ///< both outputs
};

/// `command` is made of constants and of names that were checked.
Answer ask(const std::string& command) {
  Answer out;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "re");
  if (pipe == nullptr) return {false, "no process could be started"};
  std::array<char, 4096> bytes{};
  while (const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), pipe))
    out.text.append(bytes.data(), count);
  out.good = ::pclose(pipe) == 0;
  while (!out.text.empty() && out.text.back() == '\n') out.text.pop_back();
  return out;
}

bool is_job_name(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789_") == std::string::npos;
}

}  // namespace

std::string_view value_in(std::string_view line, std::string_view name) {
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    const bool begins = at == 0 || line[at - 1] == ' ';
    const std::size_t equals = at + name.size();
    if (!begins || equals >= line.size() || line[equals] != '=') continue;
    return line.substr(equals + 1, line.find(' ', equals) - equals - 1);
  }
  return {};
}

std::string requeue(const SlurmJob& job) {
  LS_USER_CHECK(is_job_name(job.name), "the environment's '{}' is not a job of Slurm", job.name);
  const Answer shown = ask(fmt::format("scontrol show job --oneliner {}", job.name));
  const std::string_view state = value_in(shown.text, "JobState");
  if (!shown.good || state.empty())
    return fmt::format("cannot requeue job {}: scontrol show job: {}", job.name, shown.text);
  // It is cancelled, or requeued already: that is what has ended it.
  if (state != "RUNNING") return fmt::format("job {} is not requeued: it is {}", job.name, state);
  const Answer answer = ask(fmt::format("scontrol requeue {}", job.name));
  if (!answer.good) return fmt::format("cannot requeue job {}: {}", job.name, answer.text);
  return fmt::format("job {} is requeued", job.name);
}

std::vector<std::string> node_names(const SlurmJob& job) {
  if (job.nodes.find('\'') != std::string::npos) return {};
  const Answer answer = ask(fmt::format("scontrol show hostnames '{}'", job.nodes));
  std::vector<std::string> out;
  if (!answer.good) return out;
  std::istringstream words(answer.text);
  for (std::string word; words >> word;) out.push_back(word);
  return out;
}

void shield_daemons() {
  constexpr const char* kShield = "env --block-signal=TERM";  // since coreutils 8.31
  if (ask(fmt::format("{} true", kShield)).good)
    setenv("OMPI_MCA_orte_launch_agent", fmt::format("{} orted", kShield).c_str(), 0);
}

}  // namespace lockstep

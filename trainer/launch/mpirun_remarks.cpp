#include "trainer/launch/mpirun_remarks.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep {
namespace {

/// OpenMPI's messages stand between two such lines.
constexpr std::string_view kRule =
    "--------------------------------------------------------------------------\n";
static_assert(kRule.size() == 75);
/// No message of OpenMPI is longer: the rule was somebody else's.
constexpr std::size_t kLongestBlock = 4096;

/// The beginnings of the messages that are dropped.
constexpr std::array<std::string_view, 2> kExitCodes{
    "Primary job  terminated normally, but ",
    "mpirun detected that one or more processes exited with non-zero status"};
constexpr std::string_view kForwarding = "mpirun: Forwarding signal ";

/// The daemon that is lost stands in a line such as "  Remote daemon: [[3475,0],1] on node node2".
constexpr std::string_view kLostDaemon = "ORTE has lost communication with a remote daemon";
constexpr std::string_view kRemote = "Remote daemon:";
constexpr std::string_view kOnNode = " on node ";

/// "" if the message names none.
std::string lost_host_of(std::string_view block) {
  if (!block.substr(kRule.size()).starts_with(kLostDaemon)) return "";
  std::size_t at = block.find(kRemote);
  if (at != std::string_view::npos) at = block.find(kOnNode, at);
  if (at == std::string_view::npos) return "";
  const std::string_view name = block.substr(at + kOnNode.size());
  return std::string(name.substr(0, name.find_first_of(" \n")));
}

bool one_begins_the_other(std::string_view a, std::string_view b) {
  const std::size_t length = std::min(a.size(), b.size());
  return a.substr(0, length) == b.substr(0, length);
}

bool is_exit_code(std::string_view block) {
  const std::string_view text = block.substr(kRule.size());
  return std::any_of(kExitCodes.begin(), kExitCodes.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

}  // namespace

std::string MpirunRemarks::take(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    if (in_other_line_) {
      out += c;
      in_other_line_ = c != '\n';
      continue;
    }
    held_ += c;
    if (in_block_) {
      if (c == '\n') take_line(out);
      if (held_.size() > kLongestBlock) out += release();
      continue;
    }
    if (c == '\n') {
      take_line(out);
    } else if (!one_begins_the_other(held_, kRule) && !one_begins_the_other(held_, kForwarding)) {
      out += release();
    }
  }
  return out;
}

/// The last line is complete.
void MpirunRemarks::take_line(std::string& out) {
  const std::string_view line = std::string_view(held_).substr(line_begin_);
  const bool is_rule = line == kRule;
  line_begin_ = held_.size();
  if (in_block_ && !is_rule) return;
  if (in_block_) {
    if (!is_exit_code(held_)) out += held_;
    if (std::string host = lost_host_of(held_); !host.empty())
      lost_hosts_.push_back(std::move(host));
  } else if (is_rule) {
    in_block_ = true;
    return;
  } else if (!line.starts_with(kForwarding)) {
    out += held_;
  }
  held_.clear();
  line_begin_ = 0;
  in_block_ = false;
}

std::string MpirunRemarks::release() {
  std::string out;
  out.swap(held_);
  in_other_line_ = !out.empty() && out.back() != '\n';
  line_begin_ = 0;
  in_block_ = false;
  return out;
}

}  // namespace lockstep

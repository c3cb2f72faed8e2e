#include "core/observe/cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/base/duration.h"
#include "core/trace/cut_trace.h"

namespace lockstep {

std::string Cuts::Row::told() const {
  if (first_step == 0) return what;
  if (first_step == last_step) return fmt::format("{} of step {}", what, first_step);
  return fmt::format("{} of steps {} to {}", what, first_step, last_step);
}

Cuts::RowId Cuts::add(const Row& row) {
  const std::lock_guard lock(mutex_);
  Key key{row.reason, row.line, row.in_step};
  auto found = index_.find(key);
  if (found == index_.end()) {
    Row fresh = row;
    if (rows_.size() >= kMaxRows) {
      key = {row.reason, "other lines", row.in_step};
      fresh.line = std::get<1>(key);
      fresh.what.clear();
      fresh.first_step = fresh.last_step = 0;
      found = index_.find(key);
    }
    if (found == index_.end()) {
      found = index_.emplace(std::move(key), static_cast<RowId>(rows_.size())).first;
      rows_.push_back(std::move(fresh));
      rows_.back().count = rows_.back().waited_ns = rows_.back().idle_ns = 0;
    }
  }
  Row& of = rows_[static_cast<std::size_t>(found->second)];
  ++of.count;
  if (row.first_step > 0 && row.what == of.what) {
    of.first_step = std::min(of.first_step, row.first_step);
    of.last_step = std::max(of.last_step, row.last_step);
  }
  return found->second;
}

void Cuts::add_wait(RowId row, std::int64_t ns) {
  const std::lock_guard lock(mutex_);
  rows_[static_cast<std::size_t>(row)].waited_ns += ns;
}

void Cuts::add_idle(RowId row, std::int64_t ns) {
  const std::lock_guard lock(mutex_);
  rows_[static_cast<std::size_t>(row)].idle_ns += ns;
}

std::int64_t Cuts::graph_breaks() const {
  const std::lock_guard lock(mutex_);
  std::int64_t out = 0;
  for (const Row& row : rows_)
    if (row.in_step) out += row.count;
  return out;
}

std::vector<Cuts::Row> Cuts::rows() const {
  const std::lock_guard lock(mutex_);
  std::vector<Row> out = rows_;
  std::ranges::stable_sort(out, std::greater<>(),
                           [](const Row& row) { return row.waited_ns + row.idle_ns; });
  return out;
}

std::string Cuts::worst_line() const {
  for (const Row& row : rows())
    if (row.idle_ns > 0) return row.line;
  return "";
}

std::string describe_reads(const std::vector<Cuts::Row>& rows) {
  std::string out;
  for (const Cuts::Row& row : rows) {
    const bool is_read = row.reason == name_of(SyncReason::kValueRead);
    if (!is_read || (!row.in_step && row.idle_ns == 0)) continue;
    const auto each = [&](std::int64_t ns) {
      return readable_ns(static_cast<double>(ns) / static_cast<double>(row.count));
    };
    out += fmt::format("  {} x {}: {}: the host waited {}, the device was idle {} each{}\n",
                       row.count, row.line, row.told(), each(row.waited_ns), each(row.idle_ns),
                       row.in_step ? " (graph break)" : "");
  }
  if (out.empty()) return "";
  return "values that were read within a step, or while the device had nothing else to do:\n" +
         out + "  read them a step or two later, or compute with them in a host_call";
}

}  // namespace lockstep

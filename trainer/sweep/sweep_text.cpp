#include "trainer/sweep/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/duration.h"
#include "trainer/runs/run_table.h"
#include "trainer/runs/text_table.h"

namespace lockstep {

std::string swept_text(const SweepJournal& journal) {
  std::vector<const JournalPoint*> points;
  points.reserve(journal.points.size());
  for (const JournalPoint& point : journal.points) points.push_back(&point);
  std::ranges::stable_sort(points, [&](const JournalPoint* a, const JournalPoint* b) {
    if (!a->best || !b->best) return a->best.has_value() && !b->best.has_value();
    return journal.larger_is_better ? *a->best > *b->best : *a->best < *b->best;
  });
  TextTable table{.columns = {{"run"}}};
  for (const std::string& key : journal.keys)
    table.columns.push_back({key.substr(key.rfind('.') + 1), true});
  for (const char* name : {"state", "step"})
    table.columns.push_back({name, std::string_view(name) == "step"});
  table.columns.push_back({"best " + journal.metric, true});
  for (const char* name : {"at step", "last", "wall"}) table.columns.push_back({name, true});
  std::string notes;
  for (const JournalPoint* point : points) {
    std::vector<std::string> row{point->name};
    row.insert(row.end(), point->shown.begin(), point->shown.end());
    row.emplace_back(name_of(point->state));
    row.push_back(point->step ? std::to_string(*point->step) : "");
    row.push_back(metric_text(point->best));
    row.push_back(point->best ? std::to_string(point->best_step) : "");
    row.push_back(metric_text(point->last));
    row.push_back(point->wall_seconds > 0 ? format_time(point->wall_seconds) : "");
    table.rows.push_back(std::move(row));
    if (point->state == PointState::kFailed)
      notes += fmt::format("{} failed with code {}: {}\n", point->name, point->code, point->error);
  }
  return table.aligned() + notes;
}

}  // namespace lockstep

#include "core/passes/pipeline.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/duration.h"
#include "core/base/error.h"
#include "core/base/suggest.h"
#include "core/ir/structure.h"
#include "core/ir/text.h"
#include "core/ir/verify.h"
#include "core/passes/absorb_scales.h"
#include "core/passes/canonicalize.h"
#include "core/passes/channels_last.h"
#include "core/passes/cse.h"
#include "core/passes/dce.h"
#include "core/passes/fold.h"
#include "core/passes/fuse.h"
#include "core/passes/schedule.h"
#include "core/passes/simplify.h"

namespace lockstep {
namespace {

/// A pass without log messages.
template <Graph (*kPass)(Graph, const Target&)>
Graph silent(Graph graph, const Target& target, Log&) {
  return kPass(std::move(graph), target);
}

constexpr std::array<Pass, 9> kPipeline = {{
    {"canonicalize", silent<canonicalize>},
    {"fold", silent<fold>},
    {"simplify", silent<simplify>},
    {"absorb_scales", silent<absorb_scales>},
    {"channels_last", silent<channels_last>},
    {"cse", silent<cse>},
    {"dce", silent<dce>},
    {"fuse", fuse},
    {"schedule", silent<schedule>},
}};

void check_names(const std::vector<std::string>& disabled) {
  std::array<std::string_view, kPipeline.size()> names;
  std::transform(kPipeline.begin(), kPipeline.end(), names.begin(),
                 [](const Pass& pass) { return pass.name; });
  for (const std::string& name : disabled)
    LS_USER_CHECK(std::find(names.begin(), names.end(), name) != names.end(), "unknown pass '{}'{}",
                  name, did_you_mean(nearest_word(name, names)));
}

constexpr int kTimeLevel = 2;
constexpr int kDumpLevel = 5;

/// `hash` is the graph's, and becomes the result's; null if changes are not reported.
PassReport run_pass(const Pass& pass, Graph& graph, const Target& target, SpanStream* spans,
                    Log& log, Hash128* hash) {
  const SteadyClock machine;
  const Clock& clock = spans != nullptr ? spans->clock() : machine;
  PassReport report;
  report.name = pass.name;
  const std::int64_t begin = clock.now_ns();
  graph = pass.run(std::move(graph), target, log);
  const std::int64_t end = clock.now_ns();
  report.ns = end - begin;
  report.nodes = graph.size();
  if (spans != nullptr)
    spans->record({.kind = SpanKind::kPass,
                   .begin_ns = begin,
                   .end_ns = end,
                   .name = pass.name,
                   .args = {report.nodes}});
  if (hash == nullptr) return report;
  const Hash128 after = structural_hash(graph);
  report.changed = after != std::exchange(*hash, after);
  log.debug(kTimeLevel, "pass {}: {}, {} nodes{}", report.name,
            readable_ns(static_cast<double>(report.ns)), report.nodes,
            report.changed ? "" : " (unchanged)");
  if (report.changed && log.debug_level() >= kDumpLevel)
    log.debug(kDumpLevel, "after {}:\n{}", report.name, print(graph));
  return report;
}

}  // namespace

std::span<const Pass> pipeline() {
  return kPipeline;
}

Graph run_pipeline(Graph graph, const Target& target, const PassOptions& options, Log& log,
                   std::vector<PassReport>* reports) {
  check_names(options.disabled);
  if (options.verify) verify(graph, "tracing");
  const auto& disabled = options.disabled;
  const bool explain = reports != nullptr || log.debug_level() >= kTimeLevel;
  Hash128 hash = explain ? structural_hash(graph) : Hash128{};
  for (const Pass& pass : kPipeline) {
    if (std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end()) continue;
    const PassReport report =
        run_pass(pass, graph, target, options.spans, log, explain ? &hash : nullptr);
    if (reports != nullptr) reports->push_back(report);
    if (options.verify) verify(graph, pass.name);
    options.activity.progress();
  }
  return graph;
}

}  // namespace lockstep

#include "core/observe/program_analysis.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/metrics.h"
#include "core/explain/descriptor.h"
#include "core/explain/history.h"
#include "core/ir/structure.h"
#include "core/observe/donation.h"
#include "core/runtime/loaded_step.h"
#include "core/runtime/plan_cost.h"

namespace lockstep {
namespace {

constexpr std::array kKinds{InputKind::kParameter, InputKind::kState, InputKind::kBatch,
                            InputKind::kScalar};
/// Of lists that may have hundreds of entries, this many are named.
constexpr std::size_t kNamed = 3;

std::string size(std::size_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

/// A number of values of one kind, and their bytes.
struct Amount {
  std::size_t count = 0;
  std::size_t bytes = 0;

  void add(const Type& type) {
    ++count;
    bytes += type.bytes();
  }
};

using ByKind = std::array<Amount, kKinds.size()>;

std::string describe(const ByKind& kinds) {
  std::string out;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (kinds[k].count == 0) continue;
    out +=
        fmt::format("{}{} {} {}{}", out.empty() ? "" : ", ", kinds[k].count, name_of(kKinds[k]),
                    size(kinds[k].bytes), kKinds[k] == InputKind::kBatch ? " a micro-batch" : "");
  }
  return out;
}

std::string describe(const CutSite& site) {
  if (site.reason.empty()) return "the start";
  return site.line.empty() ? site.reason : fmt::format("{} on {}", site.reason, site.line);
}

/// "gpt2.cpp (812 nodes), adamw.cpp (611)".
std::string describe_files(const Graph& graph) {
  std::map<std::string_view, std::size_t> nodes;
  for (const Node& node : graph.nodes) ++nodes[node.origin.file];
  nodes.erase("");
  std::vector<std::pair<std::string_view, std::size_t>> files(nodes.begin(), nodes.end());
  std::ranges::stable_sort(files, std::greater<>(), [](const auto& file) { return file.second; });
  std::string out;
  constexpr std::size_t kFiles = 6;
  for (std::size_t i = 0; i < std::min(files.size(), kFiles); ++i)
    out += fmt::format("{}{} ({}{})", i == 0 ? "" : ", ", files[i].first, files[i].second,
                       i == 0 ? " nodes" : "");
  if (files.size() > kFiles) out += fmt::format(" and {} more", files.size() - kFiles);
  return out.empty() ? "no file" : out;
}

std::string describe_outputs(const Graph& graph) {
  std::vector<bool> is_next(graph.outputs.size(), false);
  for (const Update& update : graph.updates)
    is_next[static_cast<std::size_t>(update.output)] = true;
  Amount next;
  Amount other;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    (is_next[i] ? next : other).add(graph[graph.outputs[i]].type);
  return fmt::format("{}: {} next values of inputs {}, {} others {}", graph.outputs.size(),
                     next.count, size(next.bytes), other.count, size(other.bytes));
}

void add_donations(const CompiledStep& step, std::vector<std::string>& lines) {
  const Graph& graph = step.step;
  const std::vector<InputDonation> all = donations(step);
  Amount donated;
  std::size_t on_host = 0;
  ByKind not_replaced;
  std::vector<std::string> copied;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Node& node = graph[graph.inputs[i]];
    switch (all[i].kind) {
      case Donation::kDonated: donated.add(node.type); break;
      case Donation::kOnHost: ++on_host; break;
      case Donation::kNotReplaced:
        not_replaced[static_cast<std::size_t>(std::ranges::find(kKinds, node.input_kind) -
                                              kKinds.begin())]
            .add(node.type);
        break;
      case Donation::kCopied:
        copied.push_back(fmt::format("{} {}: {}", node.name.empty() ? "unnamed" : node.name,
                                     node.type.to_string(), all[i].why));
    }
  }
  lines.push_back(fmt::format("Donated: {} inputs {}", donated.count, size(donated.bytes)));
  if (const std::string kinds = describe(not_replaced); !kinds.empty())
    lines.push_back("Not donated, as no output is their next value: " + kinds);
  if (on_host > 0)
    lines.push_back(fmt::format("Not donated, as they are numbers of the host: {}", on_host));
  for (std::size_t i = 0; i < std::min(copied.size(), kNamed); ++i)
    lines.push_back("Not donated: " + copied[i]);
  if (copied.size() > kNamed)
    lines.push_back(fmt::format("Not donated: {} more", copied.size() - kNamed));
}

std::string cost(double flops, double bytes) {
  return fmt::format("{:.4g} GFLOP, {}", flops * 1e-9, format_bytes(bytes));
}

/// Adds a line for the whole program, and one for its classes of work.
void add_program(std::string_view name, const Plan& plan, std::vector<std::string>& lines) {
  if (plan.graph.outputs.empty()) return;
  const CostByClass classes = cost_by_class(plan, [](const Plan&, std::size_t) { return 0.0; });
  WorkCost total;
  std::string by_class;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const WorkCost& work = classes[i];
    if (work.bundles == 0) continue;
    total.flops += work.flops;
    total.bytes += work.bytes;
    by_class +=
        fmt::format("{}{} {}: {}", by_class.empty() ? "" : "; ", name_of(static_cast<WorkClass>(i)),
                    work.bundles, cost(work.flops, work.bytes));
  }
  lines.push_back(fmt::format(
      "{} program: {} bundles of {} commands, arena {}, peak {}, constants {}, {} read and "
      "written",
      name, count_bundles(plan), plan.commands.size(),
      format_bytes(static_cast<double>(plan.arena_bytes)),
      format_bytes(static_cast<double>(plan.peak_bytes)),
      format_bytes(static_cast<double>(plan.constant_bytes)), cost(total.flops, total.bytes)));
  lines.push_back("  by class, in bundles: " + by_class);
}

/// Adds the largest values of the program with the higher peak, from its plan.
void add_largest(const CompiledStep& step, std::vector<std::string>& lines) {
  const bool gradient = step.gradient.peak_bytes >= step.update.peak_bytes;
  std::string_view left = (gradient ? step.gradient : step.update).largest_values;
  std::string out;
  for (std::size_t i = 0; i < kNamed && !left.empty(); ++i) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    const std::size_t gap = line.find("  ");  // the lines are a table's
    out += (out.empty() ? "" : ", ") + std::string(line.substr(0, gap));
    if (gap != std::string_view::npos) out += line.substr(gap + 1);
  }
  if (!out.empty())
    lines.push_back(fmt::format("Largest at the peak of the {} program: {}",
                                gradient ? "gradient" : "update", out));
}

std::string describe_code(const LoadedStep& program) {
  std::set<std::string_view> codes;
  for (const LoadedPlan* plan : {&program.gradient, &program.update})
    for (const auto& kernel : plan->kernels)
      if (kernel != nullptr) codes.insert(kernel->object_code());
  codes.erase("");
  std::size_t bytes = 0;
  for (const std::string_view code : codes) bytes += code.size();
  return fmt::format("{} of machine code in {} objects", size(bytes), codes.size());
}

std::string describe_cause(const Explanation& why) {
  if (why.is_open()) return "follows with the next graph, as a read cut this one";
  return fmt::format("{}{}", name_of(why.cause()),
                     why.differences.empty() ? "" : ": " + why.text());
}

std::vector<std::string> with_prefix(std::string_view prefix, const std::string& first,
                                     std::vector<std::string> lines) {
  for (std::string& line : lines) line = fmt::format("{}:   {}", prefix, line);
  lines.insert(lines.begin(), fmt::format("{}: {}", prefix, first));
  return lines;
}

}  // namespace

std::string program_name(std::int64_t id, std::string_view reason, const Hash128& structure) {
  std::string cause(reason);
  std::ranges::replace(cause, ' ', '_');
  return fmt::format("{}-{}-{}", id < 0 ? "plan" : fmt::format("program-{}", id), cause,
                     structure.hex().substr(0, 8));
}

std::vector<std::string> compilation_analysis(const std::string& name, const GraphDescriptor& graph,
                                              const Explanation& why, const CompiledStep& step) {
  const CutContext& context = graph.context();
  const Graph& recorded = step.step;
  ByKind inputs;
  for (const ValueId input : recorded.inputs)
    inputs[static_cast<std::size_t>(std::ranges::find(kKinds, recorded[input].input_kind) -
                                    kKinds.begin())]
        .add(recorded[input].type);
  std::vector<std::string> lines{
      fmt::format("Cause: {}", describe_cause(why)),
      fmt::format("Cut by: {}, after {}", describe(context.end), describe(context.begin)),
      fmt::format("Recorded in: {}", describe_files(recorded)),
      fmt::format("Graph: {} nodes (of {} recorded){}{}", recorded.size(), context.recorded,
                  context.mode.empty() ? "" : ", ", context.mode),
      fmt::format("Inputs: {}{}{}", recorded.inputs.size(), recorded.inputs.empty() ? "" : ": ",
                  describe(inputs)),
      fmt::format("Outputs: {}", describe_outputs(recorded))};
  add_donations(step, lines);
  return with_prefix("Compilation Analysis",
                     fmt::format("{}, structure {}", name, graph.structure().hex()),
                     std::move(lines));
}

std::string cause_analysis(const std::string& name, const Explanation& why) {
  return fmt::format("Compilation Analysis:   Cause of {}: {}", name, describe_cause(why));
}

std::vector<std::string> post_compilation_analysis(const std::string& name,
                                                   const LoadedStep& program,
                                                   std::string_view how) {
  const CompiledStep& step = *program.compiled;
  std::vector<std::string> lines;
  add_program("Gradient", step.gradient, lines);
  add_program("Update", step.update, lines);
  if (!step.reduction.offsets.empty()) {
    Amount reduced;
    for (const Type& type : step.split.reduced) reduced.add(type);
    lines.push_back(fmt::format("Summed over micro-batches and ranks: {} values {} in {} buckets",
                                reduced.count, size(reduced.bytes), step.reduction.buckets.size()));
  }
  add_largest(step, lines);
  lines.push_back("Kernels: " + describe_code(program));
  return with_prefix("Post Compilation Analysis", fmt::format("{}, {}", name, how),
                     std::move(lines));
}

std::string execution_analysis(std::int64_t step, std::string_view cause, const std::string& name,
                               const Graph& graph) {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  for (const ValueId id : graph.inputs) inputs += graph[id].type.bytes();
  for (const ValueId id : graph.outputs) outputs += graph[id].type.bytes();
  return fmt::format(
      "Execution Analysis: step {}: {}, {}, {} nodes, {} inputs {}, {} outputs {} (of a "
      "micro-batch)",
      step, cause, name, graph.size(), graph.inputs.size(), size(inputs), graph.outputs.size(),
      size(outputs));
}

}  // namespace lockstep

#include "core/explain/parameter_updates.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/explain/remedies.h"

namespace lockstep {
namespace {

constexpr std::size_t kNamed = 4;

using Names = std::set<std::string>;

/// "a, b and 3 more".
std::string list(const Names& names) {
  if (names.empty()) return "none";
  const std::size_t shown = std::min(names.size(), kNamed);
  const auto end = std::next(names.begin(), static_cast<std::ptrdiff_t>(shown));
  std::string out = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  if (shown < names.size()) out += fmt::format(" and {} more", names.size() - shown);
  return out;
}

class UpdateComparison {
 public:
  UpdateComparison(const Comparison& graphs, std::vector<Difference>& differences)
      : line_(graphs.now.context().end.line),
        old_(graphs.old),
        now_(graphs.now),
        differences_(differences) {}

  void run() {
    std::vector<Difference> found;
    const auto add = [&](const Names& names, const char* one, const char* many) {
      if (!names.empty())
        found.push_back({.cause = Cause::kOutputSet,
                         .subject = list(names),
                         .to = names.size() == 1 ? one : many,
                         .line = line_,
                         .remedy = kTrainedRemedy});
    };
    add(only_trained(old_, now_), "is not trained any more", "are not trained any more");
    add(only_trained(now_, old_), "is trained now", "are trained now");
    if (!found.empty())
      mark_derived([&](const Difference& d) {
        return d.cause != Cause::kConstant && (d.scope == kUpdateScope || is_rule(d));
      });
    Names both;
    std::ranges::set_intersection(old_.trained(), now_.trained(), std::inserter(both, both.end()));
    const Names before = old_.slots(both), slots = now_.slots(both);
    if (before != slots) {
      found.push_back({.cause = Cause::kInputs,
                       .subject = "what the optimizer keeps of each parameter",
                       .from = list(before),
                       .to = list(slots),
                       .line = line_,
                       .remedy = kUpdateRemedy});
      std::erase_if(differences_,
                    [&](const Difference& d) { return d.cause == Cause::kConstant && is_rule(d); });
      mark_derived([&](const Difference& d) { return is_rule(d); });
    }
    std::ranges::move(found, std::back_inserter(differences_));
    name_settings();
  }

 private:
  /// What the update records for a setting has a scope of its name.
  void name_settings() {
    for (Difference& difference : differences_) {
      const bool ops = difference.cause == Cause::kOpAdded || difference.cause == Cause::kOpRemoved;
      const bool setting = difference.scope.starts_with(std::string(kUpdateScope) + ".");
      if (!ops || !setting || difference.remedy != kUpdateRemedy || is_rule(difference)) continue;
      difference.subject =
          fmt::format("{} of the update: {}", difference.scope.substr(kUpdateScope.size() + 1),
                      difference.subject);
    }
  }

  /// Of the parameters that both have.
  static Names only_trained(const ParameterUpdates& in, const ParameterUpdates& other) {
    Names out;
    for (const std::string& name : in.trained())
      if (!other.trains(name) && other.find_parameter(name) != kNoValue) out.insert(name);
    return out;
  }

  bool is_rule(const Difference& difference) const {
    return old_.is_rule(difference.scope) || now_.is_rule(difference.scope);
  }

  void mark_derived(auto which) {
    for (Difference& difference : differences_)
      if (which(difference)) {
        difference.derived = true;
        difference.perhaps = false;
      }
  }

  std::string line_;
  ParameterUpdates old_;
  ParameterUpdates now_;
  std::vector<Difference>& differences_;
};

}  // namespace

ParameterUpdates::ParameterUpdates(const GraphDescriptor& graph) : graph_(graph) {
  for (const ValueId id : graph.inputs())
    if (graph[id].kind == InputKind::kParameter) parameters_.emplace(graph.input(id).name, id);
  for (const Update& update : graph.updates()) {
    const ValueId next = graph.outputs()[static_cast<std::size_t>(update.output)];
    const ValueId written = graph.inputs()[static_cast<std::size_t>(update.input)];
    if (!graph.is_update(next) || !is_rule(graph.scope(next))) continue;
    const ValueId parameter = find_parameter(graph.scope(next).substr(kUpdateScope.size() + 1));
    parameter_of_.emplace(written, parameter);
    if (written == parameter) trained_.insert(graph.input(parameter).name);
  }
}

ValueId ParameterUpdates::parameter_of(ValueId input) const {
  const auto found = parameter_of_.find(input);
  return found == parameter_of_.end() ? kNoValue : found->second;
}

ValueId ParameterUpdates::find_parameter(const std::string& name) const {
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? kNoValue : found->second;
}

Names ParameterUpdates::slots(const Names& of_parameters) const {
  Names out;
  for (const auto& [written, parameter] : parameter_of_) {
    const std::string& name = graph_.input(parameter).name;
    const std::string& slot = graph_.input(written).name;
    if (of_parameters.contains(name) && slot.ends_with("." + name))
      out.insert(slot.substr(0, slot.size() - name.size() - 1));
  }
  return out;
}

bool ParameterUpdates::is_rule(const std::string& scope) const {
  return scope.size() > kUpdateScope.size() + 1 && scope.starts_with(kUpdateScope) &&
         find_parameter(scope.substr(kUpdateScope.size() + 1)) != kNoValue;
}

void tell_parameter_updates(const Comparison& graphs, std::vector<Difference>& differences) {
  UpdateComparison(graphs, differences).run();
}

}  // namespace lockstep

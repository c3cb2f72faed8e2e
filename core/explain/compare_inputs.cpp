#include <algorithm>
#include <utility>

#include "core/explain/differences.h"
#include "core/explain/parameter_updates.h"
#include "core/explain/remedies.h"

namespace lockstep {
namespace {

std::string print_sizes(std::span<const std::int64_t> sizes) {
  return Shape(ArrayRef<std::int64_t>(sizes)).to_string();
}

class InputComparison {
 public:
  InputComparison(const Comparison& graphs, SizeChanges& sizes)
      : old_(graphs.old),
        now_(graphs.now),
        to_old_(graphs.alignment.to_old),
        updates_(graphs.now),
        sizes_(sizes) {}

  std::vector<Difference> run() {
    std::vector<ValueId> inputs;
    for (const ValueId id : now_.inputs())
      if (old_of(id) != kNoValue) inputs.push_back(id);
    // State has other shapes because batches have, or parameters.
    std::ranges::stable_sort(inputs, {}, [&](ValueId id) {
      return std::pair(now_[id].kind != InputKind::kBatch, now_[id].kind != InputKind::kParameter);
    });
    for (const ValueId id : inputs) compare(id, old_of(id));
    return std::move(out_);
  }

 private:
  ValueId old_of(ValueId id) const { return to_old_[static_cast<std::size_t>(id)]; }

  Difference& add(Cause cause, ValueId id, std::string subject, std::string from, std::string to) {
    out_.push_back({cause, std::move(subject), std::move(from), std::move(to)});
    out_.back().made_input = now_.input(id).name.empty();
    if (const ValueId user = first_user(now_, id); user != kNoValue) {
      out_.back().line = now_.line(user);
      out_.back().scope = now_.scope(user);
    }
    return out_.back();
  }

  void compare(ValueId id, ValueId old) {
    const bool same = now_.same_type(id, old_, old);
    const std::string name = same ? describe(now_, id) : describe_untyped(now_, id);
    if (now_[id].kind != old_[old].kind)
      add(Cause::kInputs, id, name, std::string(name_of(old_[old].kind)),
          std::string(name_of(now_[id].kind)));
    if (now_[id].dtype != old_[old].dtype)
      add(Cause::kInputDtype, id, name, std::string(name_of(old_[old].dtype)),
          std::string(name_of(now_[id].dtype)));
    compare_sizes(id, old, name);
  }

  /// What an update keeps for a parameter has another size with that.
  bool follows_parameter(ValueId id) const {
    const ValueId parameter = updates_.parameter_of(id);
    if (parameter == kNoValue || parameter == id) return false;
    const ValueId old = old_of(parameter);
    return old != kNoValue && !std::ranges::equal(now_.sizes(parameter), old_.sizes(old));
  }

  void compare_sizes(ValueId id, ValueId old, const std::string& name) {
    const auto before = old_.sizes(old);
    const auto sizes = now_.sizes(id);
    if (std::ranges::equal(before, sizes)) return;
    sizes_.add(before, sizes);
    const bool follows = follows_parameter(id);
    const bool as_many = count_elements(before) == count_elements(sizes);
    if (before.size() != sizes.size() || as_many) {
      Difference& difference =
          add(Cause::kInputShape, id, name, print_sizes(before), print_sizes(sizes));
      difference.derived = follows;
      difference.remedy = kShapeRemedy;
      return;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == before[i]) continue;
      const std::string which = dimension(id, old, i);
      const std::string subject = fmt::format("{}[{}]", name, which);
      const bool padded = now_.context().padded.contains(subject);
      Difference& difference =
          add(Cause::kInputShape, id, subject, std::to_string(before[i]), std::to_string(sizes[i]));
      difference.derived = follows;
      difference.remedy = remedy_of_size({now_[id].kind, which, padded});
    }
  }

  std::string dimension(ValueId id, ValueId old, std::size_t i) const {
    const std::string& name = now_.input(id).dimensions[i];
    const std::string& before = old_.input(old).dimensions[i];
    return !name.empty() ? name : !before.empty() ? before : std::to_string(i);
  }

  const GraphDescriptor& old_;
  const GraphDescriptor& now_;
  const std::vector<ValueId>& to_old_;
  ParameterUpdates updates_;  ///< of the new graph
  SizeChanges& sizes_;
  std::vector<Difference> out_;
};

}  // namespace

std::vector<Difference> compare_inputs(const Comparison& graphs, SizeChanges& sizes) {
  return InputComparison(graphs, sizes).run();
}

}  // namespace lockstep

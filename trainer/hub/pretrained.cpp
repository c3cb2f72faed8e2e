#include "trainer/hub/pretrained.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kMaxListed = 200;  ///< that an error lists; the others are counted

/// The first ones, and the number of others.
std::string join_some(std::vector<std::string> lines, std::size_t max_lines,
                      const std::string& separator) {
  const std::size_t count = lines.size();
  lines.resize(std::min(count, max_lines));
  std::string out = fmt::format("{}", fmt::join(lines, separator));
  if (count > max_lines) out += fmt::format("{}and {} more", separator, count - max_lines);
  return out;
}

bool are_equal(const SafetensorsFolder::Tensor& a, const SafetensorsFolder::Tensor& b) {
  if (!(a.entry->shape == b.entry->shape)) return false;
  const HostTensor first = a.file->read_f32(*a.entry);
  const HostTensor second = b.file->read_f32(*b.entry);
  return std::ranges::equal(first.bytes(), second.bytes());
}

}  // namespace

Pretrained::Tensors Pretrained::named_as_parameters(const HubFormat& format) {
  Tensors out;
  for (const auto& [name, tensor] : folder_.tensors()) {
    const std::string mine = renamed(name, format.read);
    const auto is_ignored = [&](const std::string& pattern) { return matches(mine, pattern); };
    if (std::ranges::any_of(format.ignored, is_ignored)) continue;
    if (!out.emplace(mine, tensor).second)
      unfit_.push_back(fmt::format("{} is in the files by two names", quote_name(mine)));
  }
  return out;
}

void Pretrained::join_tied(const HubFormat& format, const ParameterSet& parameters,
                           Tensors& tensors) {
  for (const HubTied& tied : format.tied) {
    const auto second = tensors.find(tied.name);
    const bool is_own =
        std::ranges::find(parameters.all(), tied.name, &Parameter::name) != parameters.all().end();
    if (second == tensors.end() || is_own) continue;
    const auto [first, is_only] = tensors.emplace(tied.parameter, second->second);
    if (!is_only && !are_equal(first->second, second->second))
      unfit_.push_back(fmt::format("'{}' is not equal to '{}', which the model ties it to",
                                   tied.name, tied.parameter));
    tensors.erase(second);
  }
}

void Pretrained::take(const std::string& name, const Type& type, bool may_lack, Tensors& tensors) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    if (!may_lack) missing_.push_back(fmt::format("'{}' {}", name, type.to_string()));
    return;
  }
  const SafetensorsEntry& entry = *found->second.entry;
  const bool has_type =
      type.dtype == DType::kF32 ? is_float(entry.type) : entry.type == safetensors_type(type.dtype);
  if (!has_type || !(entry.shape == type.shape)) {
    unfit_.push_back(
        fmt::format("'{}' is {}, but the model has {}", name, entry.type_text(), type.to_string()));
  } else {
    taken_[name] = found->second;
    elements_ += type.shape.elements();
  }
  tensors.erase(found);
}

Pretrained::Pretrained(const std::string& folder, const HubFormat& format, const Module& model,
                       bool strict, const std::string& part)
    : folder_(folder) {
  Tensors tensors = named_as_parameters(format);
  join_tied(format, model.parameters(), tensors);
  const auto may_lack = [&](const std::string& name) {
    return std::ranges::any_of(format.may_lack, [&](const auto& p) { return matches(name, p); });
  };
  for (const Parameter& p : model.parameters().all())
    if (p.name.starts_with(part)) take(p.name, {DType::kF32, p.shape}, may_lack(p.name), tensors);
  for (const ModuleBuffer& b : model.buffers().all())
    if (b.name.starts_with(part)) take(b.name, {b.dtype(), b.shape()}, may_lack(b.name), tensors);
  for (const auto& [name, tensor] : tensors)
    surplus_.push_back(fmt::format("{} {}", quote_name(name), tensor.entry->type_text()));
  if (!strict) return;
  std::vector<std::string> problems;
  problems.reserve(missing_.size() + surplus_.size() + unfit_.size());
  for (const std::string& text : missing_) problems.push_back("missing: " + text);
  for (const std::string& text : surplus_) problems.push_back("surplus: " + text);
  problems.insert(problems.end(), unfit_.begin(), unfit_.end());
  if (!problems.empty())
    raise(ErrorKind::kCheckpoint,
          "{}: the weights are not those of the model ('model.strict: false' uses those that fit "
          "and draws the others):\n"
          "  {}",
          folder, join_some(std::move(problems), kMaxListed, "\n  "));
}

std::optional<HostTensor> Pretrained::value(const std::string& name) const {
  const auto found = taken_.find(name);
  if (found == taken_.end()) return std::nullopt;
  const auto& [file, entry] = found->second;
  return is_float(entry->type) ? file->read_f32(*entry) : file->read(*entry);
}

std::vector<std::string> Pretrained::describe() const {
  constexpr std::size_t kMaxLogged = 20;
  std::vector<std::string> out{fmt::format("weights from {}: {} tensors with {} parameters",
                                           folder_.path(), taken_.size(), elements_)};
  const auto add = [&](const std::string& what, const std::vector<std::string>& names) {
    if (!names.empty())
      out.push_back(fmt::format("{}: {}", what, join_some(names, kMaxLogged, ", ")));
  };
  add("drawn, because they are not in the folder", missing_);
  add("in the folder only", surplus_);
  add("not taken", unfit_);
  return out;
}

}  // namespace lockstep

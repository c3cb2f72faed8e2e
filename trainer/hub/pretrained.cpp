#include "trainer/hub/pretrained.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/name_pattern.h"

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

bool are_equal(const SourceTensor& a, const SourceTensor& b) {
  if (!(a.shape == b.shape)) return false;
  const HostTensor first = a.read();
  const HostTensor second = b.read();
  return std::ranges::equal(first.bytes(), second.bytes());
}

bool matches_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [&](const auto& p) { return matches(name, p); });
}

/// Whether two shapes differ in one dimension at most.
bool differ_only_in(const Shape& a, const Shape& b, std::size_t dimension) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (i != static_cast<int>(dimension) && a[i] != b[i]) return false;
  return true;
}

}  // namespace

Pretrained::Tensors Pretrained::named_as_parameters(const HubFormat& format) {
  Tensors out;
  for (const auto& [name, tensor] : source_) {
    const std::string mine = renamed(name, format.read);
    if (matches_any(mine, format.ignored)) continue;
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

std::optional<Pretrained::Change> Pretrained::change_of(const std::string& name, const Shape& from,
                                                        const Shape& to,
                                                        const HubFormat& format) const {
  const bool has_token_rows =
      name == format.token_embedding || matches_any(name, format.token_rows);
  if (has_token_rows && !options_.token_rows.empty() && differ_only_in(from, to, 0))
    return Change::kTokens;
  if (from == to) return Change::kNone;
  if (options_.grow_positions == GrowPositions::kNone) return std::nullopt;
  if (matches_any(name, format.text_positions) && differ_only_in(from, to, 0))
    return Change::kTextPositions;
  if (matches_any(name, format.image_positions) && differ_only_in(from, to, 1))
    return Change::kImagePositions;
  return std::nullopt;
}

void Pretrained::take(const std::string& name, const Type& type, const HubFormat& format,
                      Tensors& tensors) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    if (!matches_any(name, format.may_lack))
      missing_.push_back(fmt::format("'{}' {}", name, type.to_string()));
    return;
  }
  const SourceTensor& tensor = found->second;
  const bool has_type =
      type.dtype == DType::kF32 ? tensor.is_float : !tensor.is_float && tensor.dtype == type.dtype;
  const auto change = has_type ? change_of(name, tensor.shape, type.shape, format) : std::nullopt;
  if (!change) {
    const bool has_positions =
        matches_any(name, format.text_positions) || matches_any(name, format.image_positions);
    unfit_.push_back(fmt::format("'{}' is {}, but the model has {}{}", name, tensor.type_text,
                                 type.to_string(),
                                 has_positions ? " (see 'model.grow_positions')" : ""));
  } else {
    const bool positions = *change == Change::kTextPositions || *change == Change::kImagePositions;
    if (positions)
      changed_.push_back(fmt::format("'{}' from {} to {} positions", name,
                                     tensor.shape[*change == Change::kImagePositions ? 1 : 0],
                                     type.shape[*change == Change::kImagePositions ? 1 : 0]));
    if (*change == Change::kTokens)
      changed_.push_back(fmt::format(
          "'{}' by the text of tokens: {} of {} rows", name,
          std::ranges::count_if(options_.token_rows, [](std::int64_t row) { return row >= 0; }),
          type.shape[0]));
    taken_[name] = {.tensor = tensor, .shape = type.shape, .change = *change};
    elements_ += type.shape.elements();
  }
  tensors.erase(found);
}

Pretrained::Pretrained(WeightSource source, const HubFormat& format, const Module& model,
                       FitOptions options)
    : path_(std::move(source.path)),
      options_(std::move(options)),
      source_(std::move(source.tensors)) {
  Tensors tensors = named_as_parameters(format);
  join_tied(format, model.parameters(), tensors);
  for (const Parameter& p : model.parameters().all())
    if (p.name.starts_with(options_.part)) take(p.name, {DType::kF32, p.shape}, format, tensors);
  for (const ModuleBuffer& b : model.buffers().all())
    if (b.name.starts_with(options_.part)) take(b.name, {b.dtype(), b.shape()}, format, tensors);
  for (const auto& [name, tensor] : tensors)
    surplus_.push_back(fmt::format("{} {}", quote_name(name), tensor.type_text));
  source_.clear();
  if (!options_.strict) return;
  std::vector<std::string> problems;
  problems.reserve(missing_.size() + surplus_.size() + unfit_.size());
  for (const std::string& text : missing_) problems.push_back("missing: " + text);
  for (const std::string& text : surplus_) problems.push_back("surplus: " + text);
  problems.insert(problems.end(), unfit_.begin(), unfit_.end());
  if (!problems.empty())
    raise(ErrorKind::kCheckpoint,
          "{}: the weights are not those of the model ({} uses those that fit and draws the "
          "others):\n"
          "  {}",
          path_, options_.lenient, join_some(std::move(problems), kMaxListed, "\n  "));
}

HostTensor Pretrained::with_token_rows(const HostTensor& from, const Shape& shape) const {
  HostTensor out(DType::kF32, shape);
  const auto source = from.as<float>();
  const auto target = out.as<float>();
  const auto rows = static_cast<std::size_t>(from.shape()[0]);
  const std::size_t width = rows == 0 ? 0 : source.size() / rows;
  std::vector<double> mean(width, 0);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t c = 0; c < width; ++c) mean[c] += source[row * width + c];
  for (std::size_t row = 0; row < static_cast<std::size_t>(shape[0]); ++row) {
    const std::int64_t theirs =
        row < options_.token_rows.size() ? options_.token_rows[row] : std::int64_t{-1};
    const bool known = theirs >= 0 && static_cast<std::size_t>(theirs) < rows;
    for (std::size_t c = 0; c < width; ++c)
      target[row * width + c] = known ? source[static_cast<std::size_t>(theirs) * width + c]
                                      : static_cast<float>(mean[c] / static_cast<double>(rows));
  }
  return out;
}

std::optional<HostTensor> Pretrained::value(const std::string& name) const {
  const auto found = taken_.find(name);
  if (found == taken_.end()) return std::nullopt;
  const Taken& taken = found->second;
  const HostTensor read = taken.tensor.read();
  switch (taken.change) {
    case Change::kNone: return read;
    case Change::kTokens: return with_token_rows(read, taken.shape);
    case Change::kTextPositions:
      return grow_text_positions(read, taken.shape[0], options_.grow_positions);
    case Change::kImagePositions: return grow_image_positions(read, taken.shape[1]);
  }
  LS_CHECK(false, "unknown change");
}

std::vector<std::string> Pretrained::describe() const {
  constexpr std::size_t kMaxLogged = 20;
  std::vector<std::string> out{fmt::format("weights from {}: {} tensors with {} parameters", path_,
                                           taken_.size(), elements_)};
  const auto add = [&](const std::string& what, const std::vector<std::string>& names) {
    if (!names.empty())
      out.push_back(fmt::format("{}: {}", what, join_some(names, kMaxLogged, ", ")));
  };
  add("made to fit", changed_);
  add("drawn, because they are not there", missing_);
  add("not of the model", surplus_);
  add("not taken", unfit_);
  return out;
}

}  // namespace lockstep

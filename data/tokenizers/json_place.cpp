#include "data/tokenizers/json_place.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// Sequences of sequences beyond this are no tokenizer.
constexpr int kDeepest = 24;

/// How deep brackets nest; what is in strings does not count.
int depth_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quoted) ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

const Json& json(const void* value) {
  return *static_cast<const Json*>(value);
}

}  // namespace

JsonPlace::JsonPlace(std::shared_ptr<const void> root, const void* value, std::string place,
                     int depth)
    : root_(std::move(root)), value_(value), place_(std::move(place)), depth_(depth) {
  if (depth_ > kDeepest) refuse("nested too deeply");
}

JsonPlace JsonPlace::parse(const std::string& text, const std::string& name) {
  if (depth_of(text) > 2 * kDeepest) raise(ErrorKind::kData, "{}: nested too deeply", name);
  try {
    auto root = std::make_shared<const Json>(Json::parse(text));
    const void* value = root.get();
    return {std::move(root), value, name, 0};
  } catch (const Json::parse_error& error) {
    raise(ErrorKind::kData, "{}: not valid JSON at byte {}", name, error.byte);
  } catch (const Json::out_of_range&) {
    raise(ErrorKind::kData, "{}: not valid JSON: a number is too large", name);
  }
}

JsonPlace JsonPlace::below(const void* value, const std::string& step) const {
  const char* join = depth_ == 0 ? ": " : step.starts_with('[') ? "" : ".";
  return {root_, value, place_ + join + step, depth_ + 1};
}

bool JsonPlace::is_null() const {
  return json(value_).is_null();
}

bool JsonPlace::is_object() const {
  return json(value_).is_object();
}

bool JsonPlace::is_string() const {
  return json(value_).is_string();
}

std::string JsonPlace::string() const {
  if (!json(value_).is_string()) refuse("not a string");
  return json(value_).get<std::string>();
}

bool JsonPlace::boolean() const {
  if (!json(value_).is_boolean()) refuse("neither true nor false");
  return json(value_).get<bool>();
}

std::int32_t JsonPlace::number() const {
  const Json& value = json(value_);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT32_MAX)
    refuse("not an integer from 0 to 2147483647");
  return value.get<std::int32_t>();
}

std::vector<JsonPlace> JsonPlace::elements() const {
  const Json& value = json(value_);
  if (!value.is_array()) refuse("not a list");
  std::vector<JsonPlace> out;
  out.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i)
    out.push_back(below(&value[i], fmt::format("[{}]", i)));
  return out;
}

void JsonPlace::for_each_member(
    const std::function<void(const std::string&, const JsonPlace&)>& f) const {
  const Json& value = json(value_);
  if (!value.is_object()) refuse("not an object");
  for (const auto& [key, member] : value.items()) f(key, below(&member, key));
}

JsonPlace JsonPlace::at(std::string_view key) const {
  auto found = find(key);
  if (!found) refuse(fmt::format("'{}' is missing", key));
  return *std::move(found);
}

std::optional<JsonPlace> JsonPlace::find(std::string_view key) const {
  const Json& value = json(value_);
  if (!value.is_object()) refuse("not an object");
  const auto found = value.find(std::string(key));
  if (found == value.end() || found->is_null()) return std::nullopt;
  return below(&*found, std::string(key));
}

std::string JsonPlace::string_or(std::string_view key, const std::string& otherwise) const {
  const auto found = find(key);
  return found ? found->string() : otherwise;
}

bool JsonPlace::boolean_or(std::string_view key, bool otherwise) const {
  const auto found = find(key);
  return found ? found->boolean() : otherwise;
}

std::string JsonPlace::type() const {
  return at("type").string();
}

void JsonPlace::allow_only(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, member] : json(value_).items())
    if (key != "type" && !member.is_null() && std::ranges::find(keys, key) == keys.end())
      refuse(fmt::format("the key '{}' is not known", key));
}

void JsonPlace::refuse(std::string_view reason) const {
  raise(ErrorKind::kData, "{}: {}", place_, reason);
}

void JsonPlace::refuse_type(std::string_view what) const {
  refuse(fmt::format("the {} '{}' is not known", what, type()));
}

std::string JsonPlace::dump() const {
  return json(value_).dump();
}

}  // namespace lockstep

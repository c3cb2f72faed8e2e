#include "core/base/json_place.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>

#include "core/base/posix_file.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

/// A key in a path; keys of users may be long.
std::string path_step(std::string_view key) {
  const std::string quoted = quote_json(key);
  const bool is_plain = quoted.size() == key.size() + 2;
  return is_plain ? std::string(key) : quoted;
}

/// As the library writes it; the library is called only if the string needs escapes.
void append_string(std::string_view text, std::string& out) {
  const bool is_plain = std::ranges::all_of(
      text, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '"' && c != '\\'; });
  if (is_plain) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += Json(text).dump();
  }
}

void append_json(const JsonTree& tree, std::uint32_t index, std::string& out);

void append_object(const JsonTree& tree, std::uint32_t index, std::string& out) {
  std::vector<std::pair<std::string_view, std::uint32_t>> keys;
  keys.reserve(tree.node(index).size);
  for (std::uint32_t at = index + 1; at < tree.node(index).next; at = tree.node(at + 1).next)
    keys.emplace_back(tree.text_of(tree.node(at)), at + 1);
  std::ranges::sort(keys);
  out += '{';
  for (const auto& [key, value] : keys) {
    if (value != keys.front().second) out += ',';
    append_string(key, out);
    out += ':';
    append_json(tree, value, out);
  }
  out += '}';
}

void append_json(const JsonTree& tree, std::uint32_t index, std::string& out) {
  const JsonNode& node = tree.node(index);
  const std::string_view text = tree.text_of(node);
  constexpr std::size_t kShort = 18;  // digits that any 64 bits hold
  switch (node.kind) {
    case JsonKind::kNull:
    case JsonKind::kBool: out += text; return;
    case JsonKind::kInteger:
      if (text.size() <= kShort && text != "-0") {
        out += text;
        return;
      }
      [[fallthrough]];
    case JsonKind::kReal: out += Json::parse(text).dump(); return;
    case JsonKind::kString: append_string(text, out); return;
    case JsonKind::kList:
      out += '[';
      for (std::uint32_t at = index + 1; at < node.next; at = tree.node(at).next) {
        if (at != index + 1) out += ',';
        append_json(tree, at, out);
      }
      out += ']';
      return;
    case JsonKind::kObject: append_object(tree, index, out); return;
  }
  __builtin_unreachable();
}

}  // namespace

JsonPlace JsonPlace::parse(std::string text, JsonSource source) {
  return {std::make_shared<const JsonTree>(std::move(text), std::move(source)), 0};
}

JsonPlace JsonPlace::parse(std::string text, const std::string& name) {
  return parse(std::move(text), JsonSource{.name = name});
}

JsonPlace JsonPlace::read(const std::string& path, ErrorKind kind) {
  const PosixFile file = PosixFile::open(path, kind);
  const std::uint64_t bytes = file.size();
  if (bytes > kMaxJsonBytes)
    raise(kind, "{}: has {} bytes, but JSON may have at most {}", path, bytes, kMaxJsonBytes);
  std::string text(bytes, '\0');
  text.resize(file.read(0, std::as_writable_bytes(std::span(text))));
  return parse(std::move(text), JsonSource{.name = path, .kind = kind});
}

std::string JsonPlace::string() const {
  if (!is_string()) refuse_kind("a string");
  return std::string(tree_->text_of(node()));
}

bool JsonPlace::boolean() const {
  if (kind() != JsonKind::kBool) refuse_kind("true or false");
  return tree_->text_of(node()) == "true";
}

std::optional<std::int64_t> JsonPlace::find_integer(std::int64_t min, std::int64_t max) const {
  std::int64_t value = 0;
  const std::string_view text = tree_->text_of(node());
  const bool is_read =
      is_integer() &&
      std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
  if (!is_read || value < min || value > max) return std::nullopt;
  return value;
}

std::int64_t JsonPlace::integer(std::int64_t min, std::int64_t max) const {
  const auto value = find_integer(min, max);
  if (!value) refuse_kind(fmt::format("an integer from {} to {}", min, max));
  return *value;
}

std::int32_t JsonPlace::number() const {
  return static_cast<std::int32_t>(integer(0, INT32_MAX));
}

double JsonPlace::real() const {
  if (kind() != JsonKind::kReal && !is_integer()) refuse_kind("a number");
  return Json::parse(tree_->text_of(node())).get<double>();
}

std::vector<JsonPlace> JsonPlace::elements() const {
  if (!is_list()) refuse_kind("a list");
  std::vector<JsonPlace> out;
  out.reserve(node().size);
  for (std::uint32_t at = index_ + 1; at < node().next; at = tree_->node(at).next)
    out.push_back({tree_, at});
  return out;
}

void JsonPlace::for_each_member(
    const std::function<void(const std::string&, const JsonPlace&)>& f) const {
  if (!is_object()) refuse_kind("an object");
  for (std::uint32_t at = index_ + 1; at < node().next; at = tree_->node(at + 1).next)
    f(std::string(tree_->text_of(tree_->node(at))), {tree_, at + 1});
}

JsonPlace JsonPlace::at(std::string_view key) const {
  auto found = find(key);
  if (!found) refuse(fmt::format("'{}' is missing", key));
  return *std::move(found);
}

std::optional<JsonPlace> JsonPlace::find_any(std::string_view key) const {
  if (!is_object()) refuse_kind("an object");
  for (std::uint32_t at = index_ + 1; at < node().next; at = tree_->node(at + 1).next)
    if (tree_->text_of(tree_->node(at)) == key) return JsonPlace(tree_, at + 1);
  return std::nullopt;
}

std::optional<JsonPlace> JsonPlace::find(std::string_view key) const {
  auto out = find_any(key);
  if (out && out->is_null()) out.reset();
  return out;
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
  if (!is_object()) refuse_kind("an object");
  for (std::uint32_t at = index_ + 1; at < node().next; at = tree_->node(at + 1).next) {
    const std::string_view key = tree_->text_of(tree_->node(at));
    if (key == "type" || tree_->node(at + 1).kind == JsonKind::kNull) continue;
    if (std::ranges::find(keys, key) == keys.end())
      raise(tree_->source().kind, "{}: the key '{}' is not known", place_of(tree_->node(at).begin),
            path_step(key));
  }
}

void JsonPlace::refuse(std::string_view reason) const {
  raise(tree_->source().kind, "{}: {}", place(), reason);
}

void JsonPlace::refuse_type(std::string_view what) const {
  refuse(fmt::format("the {} '{}' is not known", what, path_step(type())));
}

void JsonPlace::refuse_kind(std::string_view wanted) const {
  refuse(fmt::format("must be {}, not {}", wanted, describe()));
}

std::string JsonPlace::dump() const {
  std::string out;
  append_json(*tree_, index_, out);
  return out;
}

std::string JsonPlace::describe() const {
  constexpr std::size_t kLongest = 40;
  const std::string_view text = tree_->text_of(node());
  switch (kind()) {
    case JsonKind::kString: return "the string " + quote_json(text);
    case JsonKind::kList: return "a list";
    case JsonKind::kObject: return "an object";
    case JsonKind::kNull:
    case JsonKind::kBool:
    case JsonKind::kInteger:
    case JsonKind::kReal:
      return fmt::format("{}{}", text.substr(0, kLongest), text.size() > kLongest ? "..." : "");
  }
  __builtin_unreachable();
}

std::string JsonPlace::path() const {
  std::string out;
  for (std::uint32_t outer = 0; outer != index_;) {
    const bool in_object = tree_->node(outer).kind == JsonKind::kObject;
    std::uint32_t at = outer + 1;
    std::string step;
    for (std::size_t i = 0;; ++i) {
      const std::uint32_t value = in_object ? at + 1 : at;
      if (index_ < tree_->node(value).next) {
        step = in_object ? path_step(tree_->text_of(tree_->node(at))) : fmt::format("[{}]", i);
        outer = value;
        break;
      }
      at = tree_->node(value).next;
    }
    out += (out.empty() || !in_object ? "" : ".") + step;
  }
  return out;
}

std::string JsonPlace::place_of(std::size_t offset) const {
  const std::string steps = path();
  return tree_->where(offset) + (steps.empty() ? "" : ": " + steps);
}

std::string JsonPlace::place() const {
  return place_of(node().begin);
}

}  // namespace lockstep

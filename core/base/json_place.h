// A value of a JSON text (json_tree.h says what is read) together with its position, so that an
// error names the file, line, column and path: "tokenizer.json:12:5: normalizer.normalizers[1]:
// ...".
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_tree.h"

namespace lockstep {

/// Cheap to copy; keeps the whole text. Every method raises an error of the source's kind if the
/// value is not of the requested type: "... must be a string, not 5".
class JsonPlace {
 public:
  /// Error unless `text` is JSON as json_tree.h defines it.
  static JsonPlace parse(std::string text, JsonSource source);
  /// `name` is the file that `text` is from. Errors are kData.
  static JsonPlace parse(std::string text, const std::string& name);
  /// Reads a file, after a check of its size. Errors are of `kind`.
  static JsonPlace read(const std::string& path, ErrorKind kind);

  JsonKind kind() const { return node().kind; }
  bool is_null() const { return kind() == JsonKind::kNull; }
  bool is_object() const { return kind() == JsonKind::kObject; }
  bool is_list() const { return kind() == JsonKind::kList; }
  bool is_string() const { return kind() == JsonKind::kString; }
  bool is_integer() const { return kind() == JsonKind::kInteger; }

  std::string string() const;
  bool boolean() const;
  std::int64_t integer(std::int64_t min, std::int64_t max) const;
  /// The same; nothing if the value is not an integer, or out of bounds.
  std::optional<std::int64_t> find_integer(std::int64_t min, std::int64_t max) const;
  /// From 0 to 2^31 - 1.
  std::int32_t number() const;
  double real() const;
  std::vector<JsonPlace> elements() const;
  /// f(key, value) of each member of an object, in the order of the text.
  void for_each_member(const std::function<void(const std::string&, const JsonPlace&)>& f) const;

  /// A member that must be there.
  JsonPlace at(std::string_view key) const;
  /// A member that may be missing; a null counts as present.
  std::optional<JsonPlace> find_any(std::string_view key) const;
  /// A member; nothing if it is missing or null.
  std::optional<JsonPlace> find(std::string_view key) const;
  std::string string_or(std::string_view key, const std::string& otherwise) const;
  bool boolean_or(std::string_view key, bool otherwise) const;

  /// The member "type": what kind of component an object is.
  std::string type() const;
  /// Refuses a key that is not in the list (or "type"): it may change what the component means.
  void allow_only(std::initializer_list<std::string_view> keys) const;
  [[noreturn]] void refuse(std::string_view reason) const;
  [[noreturn]] void refuse_type(std::string_view what) const;

  /// The value with all its members as compact JSON; keys in order of their bytes.
  std::string dump() const;
  /// The value's name in messages: `the string "abc"`, `5`, `an object`.
  std::string describe() const;
  /// "FILE:LINE:COLUMN".
  std::string position() const { return tree_->where(node().begin); }
  /// "FILE:LINE:COLUMN: PATH"; the path begins at the root, whose own path is empty.
  std::string place() const;

 private:
  JsonPlace(std::shared_ptr<const JsonTree> tree, std::uint32_t index)
      : tree_(std::move(tree)), index_(index) {}
  const JsonNode& node() const { return tree_->node(index_); }
  [[noreturn]] void refuse_kind(std::string_view wanted) const;
  std::string path() const;
  /// As place(), but for a byte of the text.
  std::string place_of(std::size_t offset) const;

  std::shared_ptr<const JsonTree> tree_;
  std::uint32_t index_;
};

}  // namespace lockstep

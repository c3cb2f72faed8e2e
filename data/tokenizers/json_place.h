// A value of a tokenizer.json together with where it stands, so that whatever is wrong with it is
// refused by file and place: "tokenizer.json: normalizer.normalizers[1]: ...".
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Every method raises kData if the value is not what it asks for.
class JsonPlace {
 public:
  /// `name` is the file that `text` is from. Error kData unless it is JSON.
  static JsonPlace parse(const std::string& text, const std::string& name);

  bool is_null() const;
  bool is_object() const;
  bool is_string() const;
  std::string string() const;
  bool boolean() const;
  /// From 0 to 2^31 - 1.
  std::int32_t number() const;
  std::vector<JsonPlace> elements() const;
  /// f(key, value) of each member of an object, keys in order of their bytes.
  void for_each_member(const std::function<void(const std::string&, const JsonPlace&)>& f) const;

  /// A member that must be there.
  JsonPlace at(std::string_view key) const;
  /// A member that may be missing or null: then nothing.
  std::optional<JsonPlace> find(std::string_view key) const;
  std::string string_or(std::string_view key, const std::string& otherwise) const;
  bool boolean_or(std::string_view key, bool otherwise) const;

  /// The member "type": what kind of component an object is.
  std::string type() const;
  /// Refuses a key that is not in the list (or "type"): it may change what the component means.
  void allow_only(std::initializer_list<std::string_view> keys) const;
  [[noreturn]] void refuse(std::string_view reason) const;
  [[noreturn]] void refuse_type(std::string_view what) const;

  /// What the value is, and all in it, as compact JSON.
  std::string dump() const;
  /// How many places stand above this one.
  int depth() const { return depth_; }
  const std::string& place() const { return place_; }

 private:
  JsonPlace(std::shared_ptr<const void> root, const void* value, std::string place, int depth);
  JsonPlace below(const void* value, const std::string& step) const;

  std::shared_ptr<const void> root_;  ///< keeps the whole document
  const void* value_;                 ///< an nlohmann::json of it
  std::string place_;
  int depth_;
};

}  // namespace lockstep

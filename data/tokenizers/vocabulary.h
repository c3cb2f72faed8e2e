// Tokens and their ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json_place.h"

namespace lockstep {

/// Allows lookup of a string view in a map of strings.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

class Vocabulary {
 public:
  /// {"token": id, ...}. Error kData if an id occurs twice, or is far above the number of tokens.
  explicit Vocabulary(const JsonPlace& json);

  std::optional<std::int32_t> id_of(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  /// The token of an id; null if it has none.
  const std::string* token(std::int32_t id) const;
  /// Every id is below this.
  std::int64_t end_of_ids() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::size_t size() const { return ids_.size(); }
  std::size_t longest_token() const { return longest_; }  ///< in bytes

 private:
  std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> ids_;
  std::vector<const std::string*> tokens_;  ///< by id; null where there is none
  std::size_t longest_ = 0;
};

/// Error kData if `largest`, the largest id, is far above `count`, the number of tokens: a table by
/// id would be mostly empty.
void check_ids(std::int64_t largest, std::size_t count, const JsonPlace& json);

}  // namespace lockstep

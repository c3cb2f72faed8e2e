// Characters of Unicode 15.1 and 16.0, which ICU 72 does not support. Source: the Unicode Character
// Database 16.0, DerivedGeneralCategory.txt.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace lockstep {

struct NewerCharacters {
  char32_t first;
  char32_t last;
  std::string_view category;  ///< "Lu", "Nd", ...
};

/// In ascending order.
std::span<const NewerCharacters> newer_characters();

/// The general category of one of them.
std::optional<std::string_view> newer_category(char32_t character);

}  // namespace lockstep

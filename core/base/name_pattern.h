// Patterns of names, as file names have them: '*' stands for any text, '?' for any character, [0-5]
// and [!ab] for one of a set or none of it; "*.layer.[0-5].*" names the first six layers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Whether the whole name matches.
bool matches(const std::string& name, const std::string& pattern);

/// Insertions, deletions and substitutions after which the name would match.
int pattern_distance(std::string_view name, std::string_view pattern);

/// "; the nearest are 'a', 'b' and 'c'": the names that are least far from matching, at most three,
/// in their order; "" without names.
std::string nearest_names(std::string_view pattern, std::span<const std::string_view> names);

}  // namespace lockstep

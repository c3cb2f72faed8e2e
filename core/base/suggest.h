// "did you mean": the known word nearest to a misspelled one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep {

/// Insertions, deletions, substitutions and swaps of neighbours that turn a into b (optimal string
/// alignment).
int edit_distance(std::string_view a, std::string_view b);

/// The first nearest of `candidates`, or "" if none is within a third of the word's length (two
/// edits for short words).
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean 'x'?", or "" if x is empty.
std::string did_you_mean(std::string_view x);

}  // namespace lockstep

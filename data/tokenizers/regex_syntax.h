// Translates Oniguruma's syntax to PCRE2's; regex.h lists the differences.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// Error kData, beginning with `place`, for a construct without an equivalent.
std::string pcre2_pattern(std::string_view oniguruma, const std::string& place);

/// Whether the pattern has repetitions that a matcher does not count when it counts the places to
/// which it can go back: possessive ones, and those in atomic groups, lookahead and lookbehind.
bool hides_steps(std::string_view oniguruma);

}  // namespace lockstep

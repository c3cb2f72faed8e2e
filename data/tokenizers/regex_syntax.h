// From Oniguruma's syntax to PCRE2's; regex.h says what differs.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// Error kData, which begins with `place`, for what has no equal.
std::string pcre2_pattern(std::string_view oniguruma, const std::string& place);

/// Whether a matcher that counts where it can go back passes over repetitions that it does not
/// count: possessive ones, and those in atomic groups, lookahead and lookbehind.
bool hides_steps(std::string_view oniguruma);

}  // namespace lockstep

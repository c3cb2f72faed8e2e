// The lines of a text.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace lockstep {

/// visit(number from 1, line without its end) for each line; a \r before the end belongs to it.
void for_each_line(std::string_view text,
                   const std::function<void(std::int64_t, std::string_view)>& visit);

/// Whether the line has only blanks.
bool is_blank(std::string_view line);

}  // namespace lockstep

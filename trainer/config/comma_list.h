// Lists on the command line: "1,2,4", "a=1,b=[2,3]".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The parts between commas. A comma within brackets or quotes is part of one.
std::vector<std::string> split_at_commas(std::string_view text);

}  // namespace lockstep

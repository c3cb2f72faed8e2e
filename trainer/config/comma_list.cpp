#include "trainer/config/comma_list.h"

namespace lockstep {

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> out{""};
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    }
    if (c == ',' && depth == 0 && quote == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace lockstep

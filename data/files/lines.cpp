#include "data/files/lines.h"

#include <algorithm>

namespace lockstep {

void for_each_line(std::string_view text,
                   const std::function<void(std::int64_t, std::string_view)>& visit) {
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(++number, line);
  }
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\f\v") == std::string_view::npos;
}

}  // namespace lockstep

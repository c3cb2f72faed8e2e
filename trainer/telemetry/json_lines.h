// The lines of a file to which a run appends one JSON object at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace lockstep {

struct JsonLine {
  std::string text = {};    ///< without its end
  std::int64_t number = 1;  ///< from 1 on
  bool torn = false;        ///< the file ends without the line's end: it may still be written
};

/// Calls `visit` with each line that the file has now; those that a run appends meanwhile are left
/// out. Error kUsage naming the file if it is not a regular one, or a line has more than
/// kMaxJsonLineBytes.
void for_each_json_line(const std::string& path, const std::function<void(JsonLine)>& visit);

constexpr std::size_t kMaxJsonLineBytes = std::size_t{1} << 24;

}  // namespace lockstep

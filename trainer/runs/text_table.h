// Tables for a terminal and for spreadsheets.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct TextTable {
  struct Column {
    std::string name;
    bool is_number = false;  ///< stands at the right
  };
  std::vector<Column> columns = {};
  std::vector<std::vector<std::string>> rows = {};  ///< a cell for each column

  /// Aligned, with two spaces between columns and a line of their names. A cell is shown as
  /// printable() gives it. A column whose cells are all empty is left out.
  std::string aligned() const;
  /// Comma-separated values (RFC 4180) with a header.
  std::string csv() const;
};

/// The first `width` characters of a UTF-8 text; a longer one ends in "...".
std::string cut_to_width(const std::string& text, std::size_t width);

}  // namespace lockstep

#include "trainer/runs/text_table.h"

#include <algorithm>

#include "data/files/printable.h"

namespace lockstep {
namespace {

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

std::size_t characters_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string TextTable::aligned() const {
  std::vector<std::vector<std::string>> cells = rows;
  for (auto& row : cells)
    for (std::string& cell : row) cell = printable(cell);
  std::vector<std::size_t> shown, widths(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (const auto& row : cells) widths[c] = std::max(widths[c], characters_in(row[c]));
    if (widths[c] > 0) shown.push_back(c);
    widths[c] = std::max(widths[c], characters_in(columns[c].name));
  }
  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (const std::size_t c : shown) {
      const std::string& cell = cell_of(c);
      const std::string space(widths[c] - characters_in(cell), ' ');
      if (!line.empty()) line += "  ";
      line += columns[c].is_number ? space + cell : cell + space;
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line([&](std::size_t c) -> const std::string& { return columns[c].name; });
  for (const auto& row : cells)
    add_line([&](std::size_t c) -> const std::string& { return row[c]; });
  return out;
}

std::string TextTable::csv() const {
  std::string out;
  for (std::size_t c = 0; c < columns.size(); ++c)
    out += (c == 0 ? "" : ",") + csv_cell(columns[c].name);
  out += "\r\n";
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) out += (c == 0 ? "" : ",") + csv_cell(row[c]);
    out += "\r\n";
  }
  return out;
}

std::string cut_to_width(const std::string& text, std::size_t width) {
  constexpr std::size_t kDots = 3;
  if (characters_in(text) <= width || width <= kDots) return text;
  std::size_t left = width - kDots, end = 0;
  while (end < text.size() && (left > 0 || !begins_character(text[end])))
    if (begins_character(text[end++])) --left;
  return text.substr(0, end) + "...";
}

}  // namespace lockstep

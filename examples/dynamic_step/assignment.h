// The assignment problem: each row gets its own column, with the minimum sum of costs.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

/// The column of each row. `cost`: [rows, columns] row-major, rows <= columns. O(rows^2 columns)
/// steps: one shortest augmenting path per row, with potentials (Jonker and Volgenant, "A shortest
/// augmenting path algorithm for dense and sparse linear assignment problems", Computing 38, 1987).
/// The same costs give the same columns; of columns with equal costs the first is tried first.
/// Error std::invalid_argument for other sizes and for costs that are not finite.
inline std::vector<std::int32_t> assign(std::span<const float> cost, std::size_t rows,
                                        std::size_t columns) {
  if (rows > columns || cost.size() != rows * columns)
    throw std::invalid_argument("assign: more rows than columns, or another number of costs");
  for (const float value : cost)
    if (!std::isfinite(value)) throw std::invalid_argument("assign: a cost is not finite");

  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  const std::size_t start = columns;  // a column that the row to place has at first
  std::vector<double> row_price(rows, 0), column_price(columns + 1, 0);
  std::vector<std::size_t> row_of(columns + 1, kNone), previous(columns + 1, start);
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<double> distance(columns, std::numeric_limits<double>::infinity());
    std::vector<bool> visited(columns + 1, false);
    std::size_t column = start;
    row_of[start] = row;
    do {  // Dijkstra from `start` over columns to the nearest free one; reduced costs are >= 0
      visited[column] = true;
      const std::size_t from = row_of[column];
      double nearest = std::numeric_limits<double>::infinity();
      std::size_t next = kNone;
      for (std::size_t c = 0; c < columns; ++c) {
        if (visited[c]) continue;
        const double reduced =
            static_cast<double>(cost[from * columns + c]) - row_price[from] - column_price[c];
        if (reduced < distance[c]) {
          distance[c] = reduced;
          previous[c] = column;
        }
        if (distance[c] < nearest) {
          nearest = distance[c];
          next = c;
        }
      }
      for (std::size_t c = 0; c <= columns; ++c) {
        if (visited[c]) {
          row_price[row_of[c]] += nearest;
          column_price[c] -= nearest;
        } else {
          distance[c] -= nearest;
        }
      }
      column = next;
    } while (row_of[column] != kNone);
    for (; column != start; column = previous[column]) row_of[column] = row_of[previous[column]];
  }

  std::vector<std::int32_t> column_of(rows);
  for (std::size_t c = 0; c < columns; ++c)
    if (row_of[c] != kNone) column_of[row_of[c]] = static_cast<std::int32_t>(c);
  return column_of;
}

// Curves as plain text, for a terminal or a file.
//
//    4.17 |a
//         | ab
//    2.80 |   abb
//         |      aaabbb
//    1.43 |            aaaa
//         +----------------
//          0            200
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct DrawnCurve {
  std::string name = {};       ///< in the legend
  std::vector<double> x = {};  ///< finite, ascending
  std::vector<double> y = {};  ///< as many; those that are not finite are left out
};

struct DrawingOptions {
  int width = 80;           ///< characters of a line, 40 at least
  int height = 16;          ///< lines of the plot, 4 at least
  bool log_x = false;       ///< x > 0, on a logarithmic axis
  std::string x_name = {};  ///< below the axis
};

/// Each column shows the mean of a curve's values in it, or the line between its neighbours. The
/// mark of a curve is its letter, of the only one '*'; '#' where curves cross. A legend follows if
/// there are several. "" if no value is finite.
std::string draw_curves(const std::vector<DrawnCurve>& curves, const DrawingOptions& options);

/// The columns of the terminal that standard output is, or 80.
int terminal_width();

}  // namespace lockstep

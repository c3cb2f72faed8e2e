#include "trainer/runs/draw_curves.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep {
namespace {

constexpr int kPlainWidth = 80;
constexpr int kLeastWidth = 40, kLeastHeight = 4;
constexpr int kLabelWidth = 9;  ///< of a value beside the plot
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Of an axis.
struct AxisBounds {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
  /// Not of length 0.
  void widen() {
    if (low < high) return;
    const double by = low == 0 ? 1 : std::abs(low) * 0.05;
    low -= by;
    high += by;
  }
  /// 0 at `low`, `cells` - 1 at `high`.
  int cell(double value, int cells) const {
    return static_cast<int>(std::lround((value - low) / (high - low) * (cells - 1)));
  }
};

double position(double x, const DrawingOptions& options) {
  return options.log_x ? std::log10(x) : x;
}

/// The values of a curve by column; NaN where it has none.
std::vector<double> columns_of(const DrawnCurve& curve, const AxisBounds& x, int width,
                               const DrawingOptions& options) {
  std::vector<double> sums(static_cast<std::size_t>(width)), out(sums.size(), kNone);
  std::vector<int> counts(sums.size());
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (!std::isfinite(curve.y[i])) continue;
    const auto c = static_cast<std::size_t>(x.cell(position(curve.x[i], options), width));
    sums[c] += curve.y[i];
    ++counts[c];
  }
  std::size_t before = out.size();  // none
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (counts[c] == 0) continue;
    out[c] = sums[c] / counts[c];
    for (std::size_t between = before + 1; between < c; ++between) {
      const double part = static_cast<double>(between - before) / static_cast<double>(c - before);
      out[between] = out[before] + part * (out[c] - out[before]);
    }
    before = c;
  }
  return out;
}

std::string axis_text(const AxisBounds& x, int width, const DrawingOptions& options) {
  const auto end_text = [&](double at) {
    return options.log_x ? fmt::format("{:.2g}", std::pow(10, at)) : fmt::format("{:.6g}", at);
  };
  const std::string left = end_text(x.low), right = end_text(x.high);
  const int room = width - static_cast<int>(left.size() + right.size());
  return fmt::format("{:>{}}{}{:^{}}{}\n", "", kLabelWidth + 2, left, options.x_name,
                     std::max(room, 1), right);
}

}  // namespace

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kPlainWidth;
  return std::max<int>(size.ws_col, kLeastWidth);
}

std::string draw_curves(const std::vector<DrawnCurve>& curves, const DrawingOptions& options) {
  const int width = std::max(options.width, kLeastWidth) - kLabelWidth - 2;
  const int height = std::max(options.height, kLeastHeight);
  AxisBounds x, y;
  for (const DrawnCurve& curve : curves)
    for (std::size_t i = 0; i < curve.x.size(); ++i)
      if (std::isfinite(curve.y[i])) x.add(position(curve.x[i], options));
  if (x.is_empty()) return "";
  x.widen();
  std::vector<std::vector<double>> columns;
  for (const DrawnCurve& curve : curves) {
    columns.push_back(columns_of(curve, x, width, options));
    for (const double value : columns.back())
      if (std::isfinite(value)) y.add(value);
  }
  y.widen();
  std::vector<std::string> lines(static_cast<std::size_t>(height),
                                 std::string(static_cast<std::size_t>(width), ' '));
  const auto mark_of = [&](std::size_t i) {
    constexpr std::size_t kLetters = 26;
    return curves.size() == 1 ? '*' : static_cast<char>('a' + i % kLetters);
  };
  for (std::size_t i = 0; i < columns.size(); ++i)
    for (std::size_t c = 0; c < columns[i].size(); ++c) {
      if (!std::isfinite(columns[i][c])) continue;
      char& cell = lines[static_cast<std::size_t>(height - 1 - y.cell(columns[i][c], height))][c];
      cell = cell == ' ' ? mark_of(i) : '#';
    }
  std::string out;
  for (int row = 0; row < height; ++row) {
    const bool has_label = row == 0 || row == height - 1 || row == height / 2;
    const double value = y.high - (y.high - y.low) * row / (height - 1);
    std::string& line = lines[static_cast<std::size_t>(row)];
    line.resize(line.find_last_not_of(' ') + 1);
    out += fmt::format("{:>{}} |{}\n", has_label ? fmt::format("{:.4g}", value) : "", kLabelWidth,
                       line);
  }
  out += fmt::format("{:>{}} +{:->{}}\n", "", kLabelWidth, "", width);
  out += axis_text(x, width, options);
  if (curves.size() > 1)
    for (std::size_t i = 0; i < curves.size(); ++i)
      out += fmt::format("{:>{}}  {}\n", mark_of(i), kLabelWidth, curves[i].name);
  return out;
}

}  // namespace lockstep

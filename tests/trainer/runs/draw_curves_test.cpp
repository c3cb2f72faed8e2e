// Curves as plain text.
#include "trainer/runs/draw_curves.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace lockstep {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr DrawingOptions kSmallDrawing{.width = 40, .height = 5};

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST(DrawCurves, DrawsALineFromCornerToCorner) {
  const std::string text = draw_curves({{"a", {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}}}, kSmallDrawing);
  const std::vector<std::string> lines = lines_in(text);
  ASSERT_EQ(lines.size(), 7) << "the plot, the axis and its ends";
  EXPECT_THAT(lines[0], StartsWith("        4 |*"));
  EXPECT_THAT(lines[4], StartsWith("        0 |"));
  EXPECT_THAT(lines[4], EndsWith("*"));
  for (const std::string& line : lines) EXPECT_LE(line.size(), 40) << line;
  // Between two values stands the line that joins them.
  std::size_t marks = 0;
  for (int row = 0; row < 5; ++row)
    marks +=
        static_cast<std::size_t>(std::ranges::count(lines[static_cast<std::size_t>(row)], '*'));
  EXPECT_EQ(marks, 40 - 11);
}

TEST(DrawCurves, MarksSeveralByLettersAndCrossings) {
  const std::string text =
      draw_curves({{"up", {0, 4}, {0, 4}}, {"down", {0, 4}, {4, 0}}}, kSmallDrawing);
  EXPECT_THAT(text, HasSubstr("#"));
  EXPECT_THAT(text, EndsWith("        a  up\n        b  down\n"));
}

TEST(DrawCurves, PassesOverValuesThatAreNotFinite) {
  const std::string text = draw_curves({{"a", {0, 1, 2}, {1, NAN, 3}}}, kSmallDrawing);
  EXPECT_THAT(text, HasSubstr("        3 |"));
  EXPECT_THAT(text, testing::Not(HasSubstr("nan")));
  EXPECT_EQ(draw_curves({{"a", {0, 1}, {NAN, INFINITY}}}, kSmallDrawing), "");
  EXPECT_EQ(draw_curves({}, kSmallDrawing), "");
}

TEST(DrawCurves, ShowsOneValueInTheMiddle) {
  const std::string text = draw_curves({{"a", {10}, {2}}}, kSmallDrawing);
  EXPECT_EQ(std::ranges::count(text, '*'), 1);
  EXPECT_THAT(text, HasSubstr("        2 |"));
}

TEST(DrawCurves, HasALogarithmicAxis) {
  DrawingOptions options = kSmallDrawing;
  options.log_x = true;
  const std::vector<std::string> lines =
      lines_in(draw_curves({{"a", {1e-4, 1e-3, 1e-2}, {0, 1, 2}}}, options));
  // The same factor is the same distance: a straight line, whose middle is that of the plot.
  const std::size_t first = lines[2].find('*'), last = lines[2].rfind('*');
  EXPECT_EQ(first + last, 11 + 39) << lines[2];
  EXPECT_THAT(lines.back(), HasSubstr("0.0001"));
  EXPECT_THAT(lines.back(), EndsWith("0.01"));
}

}  // namespace
}  // namespace lockstep

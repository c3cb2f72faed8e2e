#include "examples/dynamic_step/assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Costs {
  std::size_t rows, columns;
  std::vector<float> values;

  double of(const std::vector<std::int32_t>& column_of) const {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row)
      sum += values[row * columns + static_cast<std::size_t>(column_of[row])];
    return sum;
  }
  std::vector<std::int32_t> assigned() const { return assign(values, rows, columns); }
};

/// The least sum over all ways to give rows columns from `row` on.
double least(const Costs& costs, std::size_t row, std::set<std::size_t>& taken) {
  if (row == costs.rows) return 0;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t column = 0; column < costs.columns; ++column) {
    if (!taken.insert(column).second) continue;
    best = std::min(best, static_cast<double>(costs.values[row * costs.columns + column]) +
                              least(costs, row + 1, taken));
    taken.erase(column);
  }
  return best;
}

template <class Draw>
Costs draw_costs(std::mt19937& random, std::size_t rows, std::size_t columns, Draw draw) {
  Costs out{rows, columns, std::vector<float>(rows * columns)};
  std::ranges::generate(out.values, [&] { return draw(random); });
  return out;
}

void expect_each_a_column_of_its_own(const Costs& costs,
                                     const std::vector<std::int32_t>& assigned) {
  EXPECT_EQ(assigned.size(), costs.rows);
  EXPECT_EQ(std::set(assigned.begin(), assigned.end()).size(), costs.rows);
  for (const std::int32_t column : assigned)
    EXPECT_LT(static_cast<std::size_t>(column), costs.columns);
}

TEST(Assignment, TakesTheLeastSumNotTheLeastCostOfARow) {
  EXPECT_THAT((Costs{2, 2, {1, 2, 1, 5}}.assigned()), ElementsAre(1, 0));
  EXPECT_THAT((Costs{3, 3, {4, 1, 3, 2, 0, 5, 3, 2, 2}}.assigned()), ElementsAre(1, 0, 2));
}

TEST(Assignment, IsAsGoodAsTheBestOfAllWays) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::size_t> size(0, 6);
  for (int i = 0; i < 400; ++i) {
    const std::size_t a = size(random), b = size(random);
    // Small integers: many ties, and sums without rounding. Below zero, too.
    const Costs costs = draw_costs(random, std::min(a, b), std::max(a, b), [](std::mt19937& r) {
      return static_cast<float>(std::uniform_int_distribution<int>(-3, 4)(r));
    });
    const std::vector<std::int32_t> assigned = costs.assigned();
    expect_each_a_column_of_its_own(costs, assigned);
    std::set<std::size_t> taken;
    EXPECT_EQ(costs.of(assigned), least(costs, 0, taken)) << "case " << i;
  }
}

TEST(Assignment, CannotBeImprovedByAnySwapOrFreeColumn) {
  std::mt19937 random(2);
  const Costs costs = draw_costs(random, 20, 32, std::uniform_real_distribution<float>(0, 10));
  std::vector<std::int32_t> assigned = costs.assigned();
  expect_each_a_column_of_its_own(costs, assigned);
  const double best = costs.of(assigned);
  for (std::size_t a = 0; a < costs.rows; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      std::swap(assigned[a], assigned[b]);
      EXPECT_GE(costs.of(assigned), best - 1e-9);
      std::swap(assigned[a], assigned[b]);
    }
    for (std::int32_t free = 0; free < 32; ++free) {
      if (std::ranges::count(assigned, free) > 0) continue;
      const std::int32_t own = std::exchange(assigned[a], free);
      EXPECT_GE(costs.of(assigned), best - 1e-9);
      assigned[a] = own;
    }
  }
}

TEST(Assignment, OfEqualCostsTakesTheFirstColumns) {
  EXPECT_THAT((Costs{3, 5, std::vector<float>(15, 2.5F)}.assigned()), ElementsAre(0, 1, 2));
}

TEST(Assignment, OfNothingIsNothing) {
  EXPECT_THAT((Costs{0, 0, {}}.assigned()), IsEmpty());
  EXPECT_THAT((Costs{0, 4, {}}.assigned()), IsEmpty());
}

TEST(Assignment, RefusesWhatHasNoAnswer) {
  EXPECT_THROW((Costs{2, 1, {1, 2}}.assigned()), std::invalid_argument);
  EXPECT_THROW((Costs{1, 2, {1}}.assigned()), std::invalid_argument);
  EXPECT_THROW((Costs{1, 2, {1, std::nanf("")}}.assigned()), std::invalid_argument);
  EXPECT_THROW((Costs{1, 2, {1, std::numeric_limits<float>::infinity()}}.assigned()),
               std::invalid_argument);
}

}  // namespace

#include "trainer/apps/likeliest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "data/files/printable.h"

namespace lockstep {

std::vector<ScoredClass> likeliest(std::span<const double> logits, std::int64_t top,
                                   std::size_t classes) {
  const double largest = *std::ranges::max_element(logits);
  double total = 0;
  for (const double logit : logits) total += std::exp(logit - largest);
  std::vector<std::size_t> order(std::min(classes, logits.size()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return logits[i]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(top)));
  std::vector<ScoredClass> out;
  out.reserve(order.size());
  for (const std::size_t i : order) out.push_back({i, std::exp(logits[i] - largest) / total});
  return out;
}

std::string class_name(std::size_t number, std::span<const std::string> names) {
  return number < names.size() ? names[number] : std::to_string(number);
}

std::string likeliest_text(std::span<const ScoredClass> found, std::span<const std::string> names) {
  std::string out;
  for (const auto& [number, probability] : found)
    out += fmt::format("{}{} {:.4f}", out.empty() ? "" : ", ", printable(class_name(number, names)),
                       probability);
  return out;
}

}  // namespace lockstep

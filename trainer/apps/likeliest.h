// The likeliest of the classes that a row of logits scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

struct ScoredClass {
  std::size_t number = 0;
  double probability = 0;  ///< by the softmax over all of the row
};

/// At most `top` of the first `classes` logits (the others are scores of nothing), the likeliest
/// first; of equally likely ones the first.
std::vector<ScoredClass> likeliest(std::span<const double> logits, std::int64_t top,
                                   std::size_t classes);

/// The name of a class, or its number.
std::string class_name(std::size_t number, std::span<const std::string> names);

/// "cat 0.9312, dog 0.0571", on one line whatever the names are.
std::string likeliest_text(std::span<const ScoredClass> found, std::span<const std::string> names);

}  // namespace lockstep

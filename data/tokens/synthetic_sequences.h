// Random sequences of tokens for models that do not predict the next one: with masked tokens to
// predict, or with a label.
#pragma once

#include <cstdint>
#include <string>

#include "data/samples/dataset.h"

namespace lockstep {

class SyntheticSequences final : public Dataset {
 public:
  enum class Task : std::uint8_t {
    kMasked,    ///< "tokens" and "targets" i32 [T]; targets are -100 but for 15 % of the positions
    kLabelled,  ///< "tokens" i32 [T] and "label" i32 []
  };
  struct Sizes {
    std::int64_t samples;
    std::int64_t length;
    std::int64_t vocab_size;
    std::int64_t n_classes;  ///< of labels; unused without labels
  };

  /// Error kUsage for sizes below 1.
  SyntheticSequences(Task task, const Sizes& sizes, std::uint64_t seed);

  std::int64_t size() const override { return sizes_.samples; }
  std::vector<FieldSpec> fields() const override;
  Sample get(std::int64_t index) const override;
  std::string describe() const override;

 private:
  Task task_;
  Sizes sizes_;
  std::uint64_t seed_;
};

}  // namespace lockstep

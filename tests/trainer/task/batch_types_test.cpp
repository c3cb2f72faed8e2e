// Which dimensions of batches a loader pads, by the names that reports have for them.
#include "trainer/task/batch_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::UnorderedElementsAre;

struct Pairs final : Dataset {
  std::int64_t size() const override { return 1; }
  std::vector<FieldSpec> fields() const override {
    return {{.name = "tokens", .dtype = DType::kI32, .shape = Shape{9}, .variable_length = true},
            {.name = "target", .shape = Shape{{7, "time"}, 3}, .variable_length = true},
            {.name = "image", .shape = Shape{{8, "length"}, 8}}};
  }
  Sample get(std::int64_t) const override { return {}; }
};

TEST(BatchTypes, NameTheDimensionsThatArePadded) {
  EXPECT_THAT(padded_dimensions(Pairs(), {}, "batch."),
              UnorderedElementsAre("batch.tokens[length]", "batch.attention_mask[length]",
                                   "batch.target[time]"));
  EXPECT_THAT(padded_dimensions(Pairs(), {.mask_of = "target"}, "eval."),
              UnorderedElementsAre("eval.tokens[length]", "eval.attention_mask[time]",
                                   "eval.target[time]"));
}

}  // namespace
}  // namespace lockstep

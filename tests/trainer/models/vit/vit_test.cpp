// ViT's sizes, and the images that it takes. Its names are tested beside those of other models of
// the hub (hub_names_test.cpp).
#include "trainer/models/vit/vit.h"

#include <gtest/gtest.h>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

/// As its authors and the hub's google/vit-base-patch16-224 and vit-large-patch16-224 have it.
TEST(Vit, HasAsManyParametersAsTheOriginals) {
  int found = 0;
  for (const auto& [text, size] : VitConfig::sizes()) {
    const std::int64_t elements = Vit(size).parameters().elements();
    if (text.ends_with("ViT base")) found += elements == 86'567'656;
    if (text.ends_with("ViT large")) found += elements == 304'326'632;
  }
  EXPECT_EQ(found, 2);
}

TEST(Vit, TakesImagesOfItsSizeOnly) {
  TraceContext context;
  const Vit model({.hidden_size = 8,
                   .num_hidden_layers = 1,
                   .num_attention_heads = 2,
                   .image_size = 28,
                   .patch_size = 7,
                   .num_channels = 1});
  const auto refusal = [&](const Shape& shape) {
    const Tensor image = context.filled(0, {DType::kF32, shape});
    return usage_error([&] { model(Batch({{"image", image}})); });
  };
  const std::string text =
      "vit takes images [B,1,28,28] by model.num_channels and model.image_size, not ";
  EXPECT_EQ(refusal(Shape{2, 1, 14, 28}), text + "[2,1,14,28]; data.image_size resizes them");
  EXPECT_EQ(refusal(Shape{2, 3, 28, 28}), text + "[2,3,28,28]");
}

}  // namespace
}  // namespace lockstep

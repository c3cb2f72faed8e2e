#include "trainer/models/vision/vision_config.h"

namespace lockstep {
namespace {

template <class Model>
Key classes_key() {
  return {.name = "n_classes",
          .member = bind<&Model::n_classes>(),
          .range = size_at_least(2),
          .doc = "Number of classes."};
}

}  // namespace

std::vector<Key> MlpConfig::keys() {
  return {{.name = "hidden_sizes",
           .member = bind<&MlpConfig::hidden_sizes>(),
           .range = size_at_least(1),
           .doc = "Widths of the hidden layers, first to last; [] makes a linear model.",
           .may_be_empty = true},
          {.name = "input_size",
           .member = bind<&MlpConfig::input_size>(),
           .range = size_at_least(1),
           .doc = "Numbers in one input sample."},
          classes_key<MlpConfig>()};
}

DataNeeds MlpConfig::needs() const {
  return {.inputs = "images", .n_classes = n_classes, .image = {1, 1, input_size}};
}

std::vector<std::pair<std::string, MlpConfig>> MlpConfig::sizes() {
  return {{"784-512-512-10 perceptron with ReLU, for images", {}}};
}

std::vector<Key> LenetConfig::keys() {
  return {classes_key<LenetConfig>()};
}

DataNeeds LenetConfig::needs() const {
  return {.inputs = "images", .n_classes = n_classes, .image = {1, 28, 28}};
}

std::vector<std::pair<std::string, LenetConfig>> LenetConfig::sizes() {
  return {{"LeNet-5 with ReLU and max pooling, 28 x 28 images", {}}};
}

}  // namespace lockstep

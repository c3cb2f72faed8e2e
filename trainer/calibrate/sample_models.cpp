#include "trainer/calibrate/sample_models.h"

#include <array>

namespace lockstep {

std::span<const SampleModel> sample_models() {
  static constexpr std::array<SampleModel, 5> kModels{SampleModel{"wide text", R"(
model: {name: gpt2, n_layer: 3, n_head: 4, n_embd: 256, block_size: 128, vocab_size: 4096, dropout: 0}
data: {type: synthetic, sequence_length: 128}
training: {max_steps: 1, global_batch_size: 16, micro_batch_size: 8, deterministic: false}
optimizer: {name: adamw, learning_rate: 0.001}
)",
                                                                  12},
                                                      SampleModel{"narrow text", R"(
model: {name: gpt2, n_layer: 3, n_head: 3, n_embd: 96, block_size: 64, vocab_size: 128, dropout: 0}
data: {type: synthetic, sequence_length: 64}
training: {max_steps: 1, global_batch_size: 16, micro_batch_size: 8, deterministic: false}
optimizer: {name: adamw, learning_rate: 0.001}
)",
                                                                  60},
                                                      SampleModel{"long text", R"(
model: {name: gpt2, n_layer: 2, n_head: 3, n_embd: 192, block_size: 512, vocab_size: 512, dropout: 0}
data: {type: synthetic, sequence_length: 512}
training: {max_steps: 1, global_batch_size: 4, micro_batch_size: 2, deterministic: false}
optimizer: {name: adamw, learning_rate: 0.001}
)",
                                                                  12},
                                                      SampleModel{"deep images", R"(
model: {name: resnet, depths: [2, 2, 2, 2], layer_type: bottleneck, image_size: 224, n_classes: 10}
data: {type: synthetic}
training: {max_steps: 1, global_batch_size: 4, micro_batch_size: 2, deterministic: false}
optimizer: {name: sgd, learning_rate: 0.01, momentum: 0.9}
)",
                                                                  5},
                                                      SampleModel{"small images", R"(
model: {name: resnet, depths: [2, 2, 2, 1], layer_type: basic, stem: cifar, image_size: 32, n_classes: 10}
data: {type: synthetic}
training: {max_steps: 1, global_batch_size: 32, micro_batch_size: 16, deterministic: false}
optimizer: {name: sgd, learning_rate: 0.01, momentum: 0.9}
)",
                                                                  5}};
  return kModels;
}

}  // namespace lockstep

// Writes the results of layers, forward and backward, for torch_layers_test.py to compare: a file
// FOLDER/<case>.h5 each, with the inputs ("in.x"), parameters ("parameter.fc.weight"), result
// ("out"), the incoming gradient ("dout") and the computed ones ("din.x", "gradient.fc.weight").
// Kernels are those of training, and numbers are f32.
//
//   layer_values FOLDER
#include <cstdio>
#include <filesystem>
#include <functional>

#include "checkpoint/tensors_file.h"
#include "core/base/rng.h"
#include "core/nn/pooling.h"
#include "core/nn/positions.h"
#include "core/nn/transformer.h"
#include "core/trace/gradients.h"
#include "core/trace/losses.h"
#include "core/trace/mode.h"
#include "data/images/soft_labels.h"
#include "tests/core/engine/rank.h"
#include "trainer/optimizers/sgd.h"
#include "trainer/task/model.h"
#include "trainer/train/training_step.h"

namespace lockstep {
namespace {

constexpr std::int64_t kWidth = 16;  // of elements of sequences

/// One layer, or function, on numbers of its own.
struct Case : Rank {
  explicit Case(std::string name_) : name(std::move(name_)) {}

  HostTensor draw(const Shape& shape, double factor) {
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    random_normal({.seed = 11, .stream = ++draws, .step = 0, .micro_batch = 0}, 0, values);
    for (float& v : values) v *= static_cast<float>(factor);
    return HostTensor::of(shape, values);
  }
  Tensor put(const std::string& label, const HostTensor& tensor) {
    written[label] = tensor;
    return engine.to_device({tensor}, InputKind::kParameter, label);
  }
  Tensor input(const std::string& label, const Shape& shape, double factor = 1) {
    inputs.push_back({label, put("in." + label, draw(shape, factor))});
    return inputs.back().second;
  }
  /// Which keys may be seen: all but the last ones of odd sequences of the batch.
  Tensor mask(std::int64_t batch, std::int64_t keys) {
    std::vector<std::uint8_t> seen;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t k = 0; k < keys; ++k) seen.push_back(b % 2 == 0 || k < keys - 2 ? 1 : 0);
    const Tensor bytes = put("mask", HostTensor::of(Shape{batch, keys}, seen));
    return not_equal(bytes, 0.0);
  }
  /// Everything gets a value; what begins as a constant (a norm's weight) is moved off it.
  void initialize() {
    for (Parameter& p : root.parameters().all()) {
      HostTensor value = initial_value(p, 5);
      if (p.initializer.kind == Initializer::Kind::kConstant) {
        const HostTensor noise = draw(p.shape, 0.3);
        for (std::size_t i = 0; i < value.as<float>().size(); ++i)
          value.as<float>()[i] += noise.as<const float>()[i];
      }
      p.value = put("parameter." + p.name, value);
    }
    for (ModuleBuffer& b : root.buffers().all()) {
      HostTensor value = b.initial;
      if (b.name.ends_with("running_mean")) value = draw(b.shape(), 0.5);
      b.value = put("buffer." + b.name, value);
    }
  }
  void record(const std::function<Tensor()>& forward) {
    const Tensor y = forward();
    const Tensor dy = put("dout", draw(y.shape(), 1));
    std::vector<Tensor> of;
    for (const auto& [label, tensor] : inputs) of.push_back(tensor);
    for (const Tensor& value : root.parameters().values()) of.push_back(value);
    const std::vector<Tensor> grads = gradients(sum(y * dy), of);
    engine.mark_step();
    written["out"] = y.to_host();
    std::size_t i = 0;
    for (const auto& [label, tensor] : inputs) written["din." + label] = grads[i++].to_host();
    for (const Parameter& p : root.parameters().all())
      written["gradient." + p.name] = grads[i++].to_host();
  }
  void write() { write_tensors_file(name + ".h5", written); }

  std::string name;
  std::uint64_t draws = 0;
  Module root;
  NamedTensors written;
  std::vector<std::pair<std::string, Tensor>> inputs;
};

/// A function of one input.
void function(const std::string& name, const Shape& shape, double factor,
              const std::function<Tensor(const Tensor&)>& f) {
  Case c(name);
  const Tensor x = c.input("x", shape, factor);
  c.record([&] { return f(x); });
  c.write();
}

/// A layer of one input, made by `make(root)`.
template <class Make>
void layer(const std::string& name, const Shape& shape, const Make& make, bool training = false) {
  Case c(name);
  const auto made = make(c.root);
  c.initialize();
  const Tensor x = c.input("x", shape);
  const ModeScope mode(c.context, {.training = training});
  c.record([&] { return (*made)(x); });
  c.write();
}

void write_functions() {
  const Shape shape{3, 7};
  function("relu", shape, 2, [](const Tensor& x) { return relu(x); });
  function("gelu", shape, 2, [](const Tensor& x) { return gelu(x); });
  function("gelu_tanh", shape, 2, [](const Tensor& x) { return gelu_tanh(x); });
  function("silu", shape, 2, [](const Tensor& x) { return silu(x); });
  function("softplus", Shape{4, 40}, 12, [](const Tensor& x) { return softplus(x); });
  function("softplus_of_zero", shape, 0, [](const Tensor& x) { return softplus(x); });
  function("rotary", Shape{2, 9, 3, 8}, 1, [](const Tensor& x) { return rotary_embedding(x); });
  Case c("swiglu");
  const Tensor gate = c.input("gate", shape), up = c.input("up", shape);
  c.record([&] { return swiglu(gate, up); });
  c.write();
}

void write_losses() {
  const auto of_two = [](const std::string& name, double factor, const auto& loss) {
    Case c(name);
    const Tensor x = c.input("x", Shape{6, 9}, factor), y = c.input("y", Shape{6, 9}, factor);
    c.record([&] { return loss(x, y); });
    c.write();
  };
  of_two("bce", 3, [](const Tensor& x, const Tensor& y) {
    return binary_cross_entropy_with_logits(x, sigmoid(y));
  });
  of_two("bce_weighted", 3, [](const Tensor& x, const Tensor& y) {
    return binary_cross_entropy_with_logits(x, sigmoid(y), 2.5);
  });
  of_two("huber", 1, [](const Tensor& x, const Tensor& y) { return huber(x, y, 0.7); });
  of_two("kl", 2, [](const Tensor& x, const Tensor& y) {
    return kl_divergence(log_softmax(x, 1), softmax(y, 1));
  });
  of_two("kl_of_zeros", 2, [](const Tensor& x, const Tensor& y) {
    return kl_divergence(log_softmax(x, 1), relu(y));
  });
  of_two("cosine", 1, [](const Tensor& x, const Tensor& y) { return cosine_similarity(x, y, 1); });
}

/// Of images that are mixed and smoothed, and of those that are one of the two.
void write_soft_labels() {
  for (const bool mixed : {true, false}) {
    for (const bool smooth : {true, false}) {
      Case c(fmt::format("soft_labels_{}{}", mixed ? "mixed" : "", smooth ? "smooth" : ""));
      const Tensor logits = c.input("logits", Shape{5, 7}, 3);
      const auto field = [&](const std::string& label, const auto& values) {
        return c.put(label, HostTensor::of(Shape{5}, values));
      };
      Batch::Fields fields = {{"label", field("label", std::vector{0, 6, 3, 3, 1})}};
      if (mixed) {
        fields[kMixLabel] = field("mix_label", std::vector{6, 3, 3, 1, 0});
        fields[kMixWeight] = field("mix_weight", std::vector{0.3F, 1.0F, 0.5F, 0.0F, 0.9F});
      }
      if (smooth) fields[kLabelSmoothing] = field("smoothing", std::vector<float>(5, 0.1F));
      c.record([&] { return classification_loss(logits, Batch(std::move(fields))).sum; });
      c.write();
    }
  }
}

void write_images() {
  const Shape images{2, 3, 9, 8};
  function("max_pool", images, 1, MaxPool2d{.kernel = 3, .stride = 2, .padding = 1});
  function("max_pool_default", images, 1, MaxPool2d{.kernel = 2});
  function("avg_pool", images, 1, AvgPool2d{.kernel = 3, .stride = 2, .padding = 1});
  function("avg_pool_default", images, 1, AvgPool2d{.kernel = 2});
  function("global_avg_pool", images, 1, GlobalAvgPool2d{});
  const auto batch_norm = [](Module& root) { return std::make_unique<BatchNorm2d>(root, "bn", 3); };
  layer("batch_norm_training", images, batch_norm, true);
  layer("batch_norm_evaluation", images, batch_norm);
  layer("group_norm", Shape{2, 6, 5, 4},
        [](Module& root) { return std::make_unique<GroupNorm>(root, "norm", 3, 6); });
}

void write_sequences() {
  const Shape sequences{3, 7, kWidth};
  layer("layer_norm", sequences,
        [](Module& root) { return std::make_unique<LayerNorm>(root, "norm", kWidth); });
  layer("rms_norm", sequences,
        [](Module& root) { return std::make_unique<RMSNorm>(root, "norm", kWidth); });
  layer("swiglu_mlp", sequences,
        [](Module& root) { return std::make_unique<GatedMlp>(root, "mlp", kWidth, 40); });
  for (const bool halves : {false, true})
    layer(halves ? "sinusoidal_halves" : "sinusoidal", sequences, [&](Module& root) {
      return std::make_unique<SinusoidalPositions>(
          root, "embed_positions", 11, kWidth,
          halves ? SinusoidalPositions::Order::kHalves : SinusoidalPositions::Order::kInterleaved);
    });

  const auto attention_layer = [&](const std::string& name, const AttentionOptions& options) {
    layer(name, sequences, [&](Module& root) {
      return std::make_unique<MultiHeadAttention>(root, "attn", kWidth, options);
    });
  };
  attention_layer("attention", {.heads = 4});
  attention_layer("attention_causal", {.heads = 4, .causal = true, .bias = false});
  attention_layer("attention_grouped",
                  {.heads = 4, .kv_heads = 2, .causal = true, .output_name = "o_proj"});
  attention_layer(
      "attention_rotary",
      {.heads = 4, .kv_heads = 1, .head_size = 6, .causal = true, .rotary = Rotary{.base = 100.0}});

  Case c("attention_cross");
  const MultiHeadAttention cross(c.root, "attn", kWidth, {.heads = 2, .memory_width = 12});
  c.initialize();
  const Tensor x = c.input("x", sequences), memory = c.input("memory", Shape{3, 5, 12});
  const Tensor mask = c.mask(3, 5);
  c.record([&] { return cross.attend(x, memory, mask); });
  c.write();
}

void write_blocks() {
  const Shape sequences{2, 6, kWidth};
  for (const bool pre_norm : {true, false}) {
    Case c(pre_norm ? "block_pre_norm" : "block_post_norm");
    const TransformerBlock block(c.root, "layers.0", kWidth,
                                 {.attention = {.heads = 2},
                                  .hidden = 24,
                                  .activation = pre_norm ? Activation::kGelu : Activation::kRelu,
                                  .pre_norm = pre_norm});
    c.initialize();
    const Tensor x = c.input("x", sequences), mask = c.mask(2, 6);
    c.record([&] { return block(x, mask); });
    c.write();
  }
  {
    Case c("block_bf16");
    const TransformerBlock block(c.root, "layers.0", kWidth, {.attention = {.heads = 2}});
    c.initialize();
    const Tensor x = c.input("x", sequences);
    const ModeScope mixed(c.context, {.compute_dtype = DType::kBF16});
    c.record([&] { return block(x); });
    c.write();
  }
  Case c("block_with_memory");
  const TransformerBlock block(c.root, "layers.0", kWidth,
                               {.attention = {.heads = 2, .causal = true},
                                .activation = Activation::kGeluTanh,
                                .memory_width = 12});
  c.initialize();
  const Tensor x = c.input("x", sequences), memory = c.input("memory", Shape{2, 5, 12});
  const Tensor mask = c.mask(2, 5);
  c.record([&] { return block.with_memory(x, memory, Tensor(), mask); });
  c.write();
}

/// Five steps of plain gradient descent, "in.x.<step>" and the values after each, then an
/// evaluation.
void write_batch_norm_steps() {
  struct Net : Module {
    BatchNorm2d bn{*this, "bn", 3};
    Loss operator()(const Batch& batch) const {
      return {.sum = sum(bn(batch["x"]) * batch["weight"]), .count = batch.count()};
    }
  } net;
  Case c("batch_norm_steps");
  TrainingState state(net, Sgd{.momentum = 0, .weight_decay = 0}, DType::kF32);
  begin_state(state, c.engine, *c.own_communicator, 1);
  make_state_finite(state, c.engine);
  const auto loss = [&](const Batch& batch) { return net(batch); };
  const auto batch = [&](const std::string& x) {
    const auto put = [&](const std::string& label, double factor) {
      c.written[label] = c.draw(Shape{4, 3, 5, 3}, factor);
      return c.engine.to_device({c.written[label]}, InputKind::kBatch, label);
    };
    return Batch({{"x", put("in.x." + x, 3)}, {"weight", put("in.weight." + x, 1)}});
  };
  for (std::int64_t step = 0; step < 5; ++step) {
    record_step(state, loss, batch(std::to_string(step)), make_step_inputs(c.engine, 0, 1, 1),
                {.step = step, .learning_rate = 0.05});
    c.engine.mark_step();
    for (const StateTensor& tensor : state_tensors(state))
      if (is_saved(tensor))
        c.written[fmt::format("after.{}.{}", step, tensor.label())] = tensor.value->to_host();
  }
  const Loss evaluated = record_evaluation(loss, batch("evaluation"), DType::kF32);
  c.engine.mark_step();
  c.written["evaluation"] = evaluated.sum.to_host();
  c.write();
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: layer_values FOLDER\n");
    return 2;
  }
  std::filesystem::current_path(argv[1]);
  lockstep::write_functions();
  lockstep::write_losses();
  lockstep::write_images();
  lockstep::write_soft_labels();
  lockstep::write_sequences();
  lockstep::write_blocks();
  lockstep::write_batch_norm_steps();
  return 0;
}

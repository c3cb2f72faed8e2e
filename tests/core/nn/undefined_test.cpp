// A layer that is called with an undefined tensor reports the line that called it and its own path.
// The headers are read to check that all layers are tested.
#include <algorithm>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/nn/pooling.h"
#include "core/nn/positions.h"
#include "core/nn/transformer.h"
#include "core/trace/mode.h"
#include "tests/core/nn/layer_fixture.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Tensors = std::vector<Tensor>;

struct UndefinedOperand : LayerTest {
  /// All of `f`'s `count` operands in turn. `line`: that of the call in f, or a few above it.
  void expect_refused(const std::string& name, int line, std::size_t count,
                      const std::function<void(const Tensors&)>& f) {
    tried.insert(name);
    for (std::size_t i = 0; i < count; ++i) {
      SCOPED_TRACE(fmt::format("{}, operand {}", name, i + 1));
      Tensors operands(count, counting(Shape{1, 2, 4}));
      operands[i] = Tensor();
      const std::string error = error_of([&] { f(operands); });
      EXPECT_THAT(error,
                  AllOf(StartsWith("2: undefined_test.cpp:"), HasSubstr("undefined tensor")));
      const int shown = std::atoi(error.substr(error.find(':', 3) + 1).c_str());
      EXPECT_THAT(shown, AllOf(testing::Ge(line), testing::Le(line + 3))) << error;
    }
  }
  std::set<std::string> tried;
};

/// A module of a user's.
struct Doubled : Module {
  using Module::Module;
  Tensor operator()(const Tensor& x) const {
    const ModuleScope scope = enter(x);
    return x + x;
  }
  static constexpr int kLine = __LINE__ - 3;
};

/// The classes of a header that can be called with a tensor.
std::set<std::string> layers_of(const std::string& header) {
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/" + header);
  std::set<std::string> out;
  std::string line, current;
  while (std::getline(file, line)) {
    std::smatch found;
    if (std::regex_search(line, found, std::regex(R"(^(?:class|struct) (\w+)[^;]*\{)")))
      current = found[1];
    if (line.find("Tensor operator()(const Tensor&") != std::string::npos) out.insert(current);
  }
  return out;
}

TEST_F(UndefinedOperand, IsRefusedByEveryLayer) {
  const Linear linear(root, "linear", 4, 4);
  const Embedding embedding(root, "embedding", 4, 4);
  const Conv2d conv(root, "conv", 1, 1, 1);
  const Dropout dropout(root, "dropout", 0.0);
  const LayerNorm layer_norm(root, "ln", 4);
  const RMSNorm rms_norm(root, "rms", 4);
  const BatchNorm2d batch_norm(root, "bn", 4);
  const GroupNorm group_norm(root, "gn", 2, 4);
  const MultiHeadAttention attention(root, "attn", 4, {.heads = 2});
  const GatedMlp mlp(root, "mlp", 4, 4);
  const TransformerBlock block(root, "block", 4, {.attention = {.heads = 2}});
  const TransformerBlock decoder(root, "decoder", 4,
                                 {.attention = {.heads = 2}, .memory_width = 4});
  const SinusoidalPositions positions(root, "positions", 4, 4);
  const Doubled doubled(root, "doubled");
  for (Parameter& p : parameters.all()) p.value = counting(p.shape, 0.01);
  KeyValueCache cache;
  cache.layers.resize(1);
  expect_refused("Linear", __LINE__, 1, [&](const Tensors& t) { linear(t[0]); });
  expect_refused("Embedding", __LINE__, 1, [&](const Tensors& t) { embedding(t[0]); });
  expect_refused("Embedding::attend", __LINE__, 2,
                 [&](const Tensors& t) { embedding.attend(t[0], &t[1]); });
  expect_refused("Conv2d", __LINE__, 1, [&](const Tensors& t) { conv(t[0]); });
  expect_refused("Dropout", __LINE__, 1, [&](const Tensors& t) { dropout(t[0]); });
  expect_refused("LayerNorm", __LINE__, 1, [&](const Tensors& t) { layer_norm(t[0]); });
  expect_refused("RMSNorm", __LINE__, 1, [&](const Tensors& t) { rms_norm(t[0]); });
  expect_refused("BatchNorm2d", __LINE__, 1, [&](const Tensors& t) { batch_norm(t[0]); });
  expect_refused("GroupNorm", __LINE__, 1, [&](const Tensors& t) { group_norm(t[0]); });
  expect_refused("MaxPool2d", __LINE__, 1, [&](const Tensors& t) { MaxPool2d{}(t[0]); });
  expect_refused("AvgPool2d", __LINE__, 1, [&](const Tensors& t) { AvgPool2d{}(t[0]); });
  expect_refused("GlobalAvgPool2d", __LINE__, 1,
                 [&](const Tensors& t) { GlobalAvgPool2d{}(t[0]); });
  expect_refused("MultiHeadAttention", __LINE__, 1, [&](const Tensors& t) { attention(t[0]); });
  expect_refused("MultiHeadAttention", __LINE__, 1,
                 [&](const Tensors& t) { attention(t[0], SequenceLayout{}); });
  expect_refused("MultiHeadAttention", __LINE__, 1,
                 [&](const Tensors& t) { attention(t[0], cache, 0); });
  expect_refused("MultiHeadAttention::attend", __LINE__, 2,
                 [&](const Tensors& t) { attention.attend(t[0], t[1]); });
  expect_refused("KeyValueCache::attend", __LINE__, 3,
                 [&](const Tensors& t) { cache.attend(0, t[0], t[1], t[2], 1); });
  expect_refused("GatedMlp", __LINE__, 1, [&](const Tensors& t) { mlp(t[0]); });
  expect_refused("TransformerBlock", __LINE__, 1, [&](const Tensors& t) { block(t[0]); });
  expect_refused("TransformerBlock::with_memory", __LINE__, 2,
                 [&](const Tensors& t) { decoder.with_memory(t[0], t[1]); });
  expect_refused("SinusoidalPositions", __LINE__, 1, [&](const Tensors& t) { positions(t[0]); });
  expect_refused("rotary_embedding", __LINE__, 1,
                 [&](const Tensors& t) { rotary_embedding(t[0]); });
  expect_refused("activate", __LINE__, 1,
                 [&](const Tensors& t) { activate(t[0], Activation::kSilu); });
  expect_refused("Doubled", Doubled::kLine, 1, [&](const Tensors& t) { doubled(t[0]); });
  std::size_t found = 0;
  for (const char* header : {"core/nn/layers.h", "core/nn/norm.h", "core/nn/pooling.h",
                             "core/nn/positions.h", "core/nn/attention.h", "core/nn/transformer.h"})
    for (const std::string& layer : layers_of(header)) {
      EXPECT_TRUE(tried.contains(layer)) << header << ": " << layer;
      ++found;
    }
  EXPECT_EQ(found, 15U);
}

TEST_F(UndefinedOperand, NamesTheModuleAndIsNoContributionToABuffer) {
  struct Counted : Module {
    explicit Counted(Module& parent)
        : Module(parent, "counted"),
          total(buffer("total", HostTensor::of(Shape{1}, std::vector<float>{0}))) {}
    ModuleBuffer& total;
  } counted(root);
  EXPECT_THAT(error_of([&] { (void)counted.enter(Tensor()); }),
              HasSubstr(": the operand of counted is an undefined tensor"));
  EXPECT_THAT(error_of([&] { counted.total.blend(Tensor(), 0.1); }),
              StartsWith(fmt::format("2: undefined_test.cpp:{}: the operand of counted.total is",
                                     __LINE__ - 2)));
  EXPECT_THAT(error_of([&] { counted.total.update(Tensor(), nullptr); }),
              HasSubstr(": the operand of counted.total is an undefined tensor"));
}

using DropoutByTheMode = LayerTest;

TEST_F(DropoutByTheMode, NeedsAKeyInTrainingOnly) {
  const Tensor x = counting(Shape{2, 3});
  const Tensor rate = context.scalar(0.5, DType::kF32, "rate");
  EXPECT_EQ(dropout(x, rate).handle(), x.handle()) << "as without any mode";
  EXPECT_EQ(dropout(x, 0.5).handle(), x.handle());
  const ModeScope training(context, {.training = true});
  const int line = __LINE__ + 1;
  EXPECT_EQ(error_of([&] { dropout(x, rate); }),
            fmt::format("2: undefined_test.cpp:{}: dropout needs a random key, and the training "
                        "mode has none",
                        line));
  const auto number = [&](double n) { return context.scalar(n, DType::kI64, "n"); };
  const ModeScope keyed(context,
                        {.training = true, .key = RandomKey{number(1), number(2), number(3)}});
  EXPECT_NE(dropout(x, rate).handle(), x.handle());
  EXPECT_EQ(dropout(x, 0.0).handle(), x.handle());
}

}  // namespace
}  // namespace lockstep

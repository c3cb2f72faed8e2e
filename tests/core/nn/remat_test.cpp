// Gradient checkpointing of a small GPT, compiled: the same bits from less memory.
#include "core/trace/remat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "collectives/single.h"
#include "core/base/clock.h"
#include "core/base/metrics.h"
#include "core/base/spans.h"
#include "core/engine/compile.h"
#include "core/engine/engine.h"
#include "core/kernels/kernel_cache.h"
#include "core/nn/layers.h"
#include "core/passes/pack_intervals.h"
#include "core/runtime/device.h"
#include "core/trace/gradients.h"
#include "core/trace/mode.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep {
namespace {

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kTime = 32;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kVocabulary = 40;

struct Block : Module {
  Block(Module& parent, std::string_view name)
      : Module(parent, name),
        ln_1(*this, "ln_1", kWidth),
        c_attn(*this, "c_attn", kWidth, 3 * kWidth),
        c_proj(*this, "c_proj", kWidth, kWidth),
        ln_2(*this, "ln_2", kWidth),
        c_fc(*this, "c_fc", kWidth, 4 * kWidth),
        c_out(*this, "c_out", 4 * kWidth, kWidth),
        dropout(*this, "dropout", 0.1) {}

  Tensor operator()(const Tensor& x) const {  // [B,T,C]
    AttentionSpec spec;
    spec.causal = true;
    spec.scale = 0.25;
    spec.dropout = 0.1;
    spec.key = mode_of(x).key;
    const Tensor qkv = reshape(c_attn(ln_1(x)), Shape{kBatch, kTime, 3, 4, kWidth / 4});
    const Tensor attended = x + c_proj(reshape(attention(qkv, spec), x.shape()));
    return attended + dropout(c_out(gelu_tanh(c_fc(ln_2(attended)))));
  }

  LayerNorm ln_1;
  Linear c_attn, c_proj;
  LayerNorm ln_2;
  Linear c_fc, c_out;
  Dropout dropout;
};

struct Gpt : Module {
  Gpt(std::int64_t layers, bool recompute) : recompute_(recompute) {
    for (std::int64_t i = 0; i < layers; ++i) h.add();
  }
  Tensor loss(const Tensor& tokens) const {
    Tensor x = to_compute_dtype(wte(tokens));
    for (const Block& block : h) x = recompute_ ? remat(block, x) : block(x);
    const Tensor logits = reshape(wte.attend(ln_f(x)), Shape{kBatch * kTime, kVocabulary});
    return sum(cross_entropy(logits, reshape(tokens, Shape{kBatch * kTime})));
  }

  Embedding wte{
      *this, "wte", kVocabulary, kWidth, {.init = Initializer::normal(0.2), .attends = true}};
  ModuleList<Block> h{*this, "h"};
  LayerNorm ln_f{*this, "ln_f", kWidth};

 private:
  bool recompute_;
};

/// Records the loss of a micro-batch and the gradients of all parameters.
class Recorder {
 public:
  Recorder(std::int64_t layers, bool recompute, DType dtype) : model_(layers, recompute) {
    for (Parameter& p : model_.parameters().all())
      p.value = engine_.to_device({initial_value(p, 5)}, InputKind::kParameter, p.name);
    std::vector<std::int32_t> words;
    for (std::int32_t i = 0; i < kBatch * kTime; ++i) words.push_back(i * 7 % kVocabulary);
    tokens_ =
        engine_.to_device({HostTensor::of({kBatch, kTime}, words)}, InputKind::kBatch, "tokens");
    mode_.compute_dtype = dtype;
    mode_.key = {
        context_.scalar(1, DType::kI64, "seed"), context_.scalar(2, DType::kI64, "step"),
        engine_.to_device({HostTensor::scalar<std::int64_t>(0)}, InputKind::kBatch, "micro_batch")};
  }

  Plan compile() {
    const std::vector<Tensor> results = record();
    KernelCache kernels(options_.target);
    Plan plan = compile_program(context_.cut().graph, options_, kernels, Log::null());
    context_.discard();
    return plan;
  }

  std::vector<HostTensor> run() {
    std::vector<Tensor> sums;
    for (const Tensor& result : record()) sums.push_back(all_reduce(convert(result, DType::kF32)));
    std::vector<HostTensor> out;
    for (const Tensor& sum : sums) out.push_back(sum.to_host());
    return out;
  }

 private:
  std::vector<Tensor> record() {
    const ModeScope scope(context_, mode_);
    const Tensor loss = model_.loss(tokens_);
    std::vector<Tensor> out = gradients(loss, model_.parameters().values());
    out.push_back(loss);
    return out;
  }

  const SteadyClock clock_;
  Metrics metrics_{clock_};
  SpanStream spans_{clock_, metrics_};
  const std::unique_ptr<Communicator> communicator_ = make_single_communicator();
  Device device_{{}, spans_};
  TraceContext context_;
  const CompileOptions options_{.target = tested_target(), .verify = true};
  Engine engine_{options_, context_, device_, *communicator_, Log::null()};
  Gpt model_;
  Tensor tokens_;
  Mode mode_{.training = true};
};

struct RematOf : testing::TestWithParam<DType> {};

TEST_P(RematOf, AGptGivesTheSameBits) {
  const std::vector<HostTensor> kept = Recorder(2, false, GetParam()).run();
  const std::vector<HostTensor> again = Recorder(2, true, GetParam()).run();
  ASSERT_EQ(kept.size(), again.size());
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(kept[i].bytes(), again[i].bytes())) << i;
}

/// The most bytes of the arena that hold what was written and is still to be read, or are written
/// just then: what any placing of the values takes. How much more this one takes depends on the
/// sizes of the kernels' scratch areas, and so on the processor.
std::int64_t peak_in_use(const Plan& plan) {
  std::vector<bool> in_use(static_cast<std::size_t>(plan.arena_bytes / kArenaAlignment));
  const auto mark = [&](const BufferSlice& slice, bool value) {
    if (slice.area != Area::kArena) return;
    const std::int64_t end = (slice.offset + slice.bytes + kArenaAlignment - 1) / kArenaAlignment;
    std::fill(in_use.begin() + slice.offset / kArenaAlignment, in_use.begin() + end, value);
  };
  std::int64_t peak = 0;
  for (std::size_t end = plan.commands.size(); end > 0;) {  // backward, bundle by bundle
    std::size_t begin = end - 1;
    while (plan.commands[begin].with_previous) --begin;
    const std::span bundle(&plan.commands[begin], end - begin);
    const auto mark_all = [&](auto member, bool value) {
      for (const Command& command : bundle)
        for (const BufferSlice& slice : command.*member) mark(slice, value);
    };
    mark_all(&Command::results, true);
    mark_all(&Command::operands, true);
    for (const Command& command : bundle) mark(command.scratch, true);
    peak = std::max<std::int64_t>(peak, std::ranges::count(in_use, true));
    for (const Command& command : bundle) mark(command.scratch, false);
    mark_all(&Command::results, false);
    mark_all(&Command::operands, true);
    end = begin;
  }
  return peak * kArenaAlignment;
}

/// How much a further layer adds.
std::int64_t bytes_per_layer(bool recompute, DType dtype) {
  return peak_in_use(Recorder(6, recompute, dtype).compile()) -
         peak_in_use(Recorder(5, recompute, dtype).compile());
}

TEST_P(RematOf, AGptKeepsOnlyTheBoundariesOfItsBlocks) {
  const auto element = static_cast<std::int64_t>(size_of(GetParam()));
  const std::int64_t boundary = kBatch * kTime * kWidth * element;
  // The matrices in the dtype of the dots, for which no copies are given here, depend on parameters
  // alone.
  const std::int64_t converted = GetParam() == DType::kF32 ? 0 : 12 * kWidth * kWidth * element;
  EXPECT_EQ(bytes_per_layer(true, GetParam()), boundary + converted);
  EXPECT_GT(bytes_per_layer(false, GetParam()), 8 * boundary + converted);
}

INSTANTIATE_TEST_SUITE_P(DTypes, RematOf, testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace lockstep

// A program whose steps differ, for compilations_test.py.
//
//   recompiling WHAT STEPS [KEY=VALUE ...]
//
// WHAT: steady, lengths (of documents, padded to the longest of the step), buckets (padded to a few
// lengths), constant (a number that changes in each step), held (a handle is kept in step 3), op
// (one more from step 3 on), field (one more is used from step 3 on), twins (two trainers), late (a
// function on rank 1's host takes 20 ms).
#include <lockstep/lockstep.h>

#include <algorithm>
#include <chrono>
#include <thread>

using namespace lockstep;

namespace {

constexpr std::int64_t kLongest = 40, kWords = 16, kWidth = 8;

/// Sample i has 1 + 7 i mod 40 words; whether it is long is its label.
class Documents final : public Dataset {
 public:
  std::int64_t size() const override { return 400; }
  std::vector<FieldSpec> fields() const override {
    return {{"tokens", DType::kI32, Shape{{kLongest, "length"}}, true},
            {"label", DType::kI32, Shape{}},
            {"weight", DType::kF32, Shape{}}};
  }
  Sample get(std::int64_t index) const override {
    const std::int64_t length = 1 + 7 * index % kLongest;
    std::vector<std::int32_t> words(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = static_cast<std::int32_t>((static_cast<std::size_t>(index) + i * i) % kWords);
    return {{"tokens", HostTensor::of(Shape{length}, words)},
            {"label", HostTensor::scalar<std::int32_t>(length > kLongest / 2 ? 1 : 0)},
            {"weight", HostTensor::scalar<float>(1.0F)}};
  }
};

/// Its operand as it is; slow on rank 1.
HostFunction wait_function(int rank) {
  return {"wait", 1, [rank](std::span<const HostTensor> in, std::span<HostTensor> out) {
            if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            std::ranges::copy(in[0].bytes(), out[0].bytes().begin());
          }};
}

struct Net : Module {
  std::string what;
  Embedding embedding{*this, "embedding", kWords, kWidth};
  Linear out{*this, "out", kWidth, 2};
  mutable std::int64_t step = 0;
  mutable std::vector<Tensor> history;
  HostFunction wait;

  explicit Net(std::string what_, int rank = 0)
      : what(std::move(what_)), wait(wait_function(rank)) {}
  Loss operator()(const Batch& batch) const {
    const Tensor words = embedding(batch["tokens"]);  // [B,T,W]
    Tensor x = mean(words, {1});
    const bool late = step >= 3;
    if (what == "op" && late) x = tanh(x);
    if (what == "constant") x = x * (1.0 + 0.1 * static_cast<double>(step));
    const Tensor logits = out(x);
    history.clear();
    if (what == "held" && step == 3) history = {logits};
    Tensor losses = cross_entropy(logits, batch["label"]);
    if (what == "late")
      losses = losses + 0.0 * host_call(wait, {stop_gradient(losses)}, losses.type());
    if (what == "field" && late) losses = losses * batch["weight"];
    return {.sum = batch.masked_sum(losses), .count = batch.count()};
  }
};

void train(Session& session, const std::string& what, std::int64_t steps) {
  Net net(what, session.rank());
  Trainer trainer(session, net, AdamW{.learning_rate = 1e-2}, {.run = "run"});
  DataLoaderOptions options{.global_batch_size = 4, .micro_batch_size = 2};
  if (what == "lengths") options.padding.mode = PaddingMode::kLongest;
  if (what == "buckets") options.padding = {.mode = PaddingMode::kBucket, .buckets = {20, 40}};
  const DataLoader data(session, std::make_shared<Documents>(), options);
  for (const Batch& batch : trainer.steps(data, steps)) {
    trainer.step(batch, net);
    ++net.step;
  }
  trainer.evaluate(data, net);
}

/// A second trainer in one program, of another module.
void train_twins(Session& session, std::int64_t steps) {
  const DataLoader data(session, std::make_shared<Documents>(),
                        {.global_batch_size = 4, .micro_batch_size = 2});
  Net first("steady"), second("op");
  second.step = 3;
  Trainer one(session, first, AdamW{}), two(session, second, Sgd{.learning_rate = 1e-2});
  for (const Batch& batch : one.steps(data, steps)) one.step(batch, first);
  for (const Batch& batch : two.steps(data, steps)) two.step(batch, second);
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](Session& session) {
    const std::string& what = session.arguments().at(0);
    const std::int64_t steps = std::stoll(session.arguments().at(1));
    what == "twins" ? train_twins(session, steps) : train(session, what, steps);
  });
}

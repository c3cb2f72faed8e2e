// A user's program for own_parts_test.py: its model has batch normalization, also in a block that
// is computed again, group normalization, noise, all losses of elements and rows, and a function on
// the host in its loss.
//
//   own_parts STEPS [version=N] [bad_sample=N] [throw_at=STEP] [thrown=N] [KEY=VALUE ...]
//
// version: of the host function; bad_sample: gets a label that the function refuses; throw_at: the
// step after which rank 1 throws; thrown: the thrown value, instead of a std::exception.
#include <lockstep/lockstep.h>

#include <algorithm>
#include <stdexcept>

using namespace lockstep;

namespace {

constexpr std::int64_t kSamples = 200, kSide = 6, kClasses = 3, kChannels = 4;

/// The number that a word `name=number` of the command line gives.
std::int64_t given(const Session& session, std::string_view name, std::int64_t otherwise) {
  for (const std::string& word : session.arguments())
    if (word.starts_with(name) && word[name.size()] == '=')
      return std::stoll(word.substr(name.size() + 1));
  return otherwise;
}

/// 1 for the samples of a micro-batch with the largest losses, 0 for the `version` others.
HostFunction hardest(std::int64_t version) {
  return {"hardest", version, [version](std::span<const HostTensor> in, std::span<HostTensor> out) {
            for (const std::int32_t label : in[1].as<std::int32_t>())
              if (label < 0 || label >= kClasses)
                throw std::runtime_error(fmt::format("label {} is none", label));
            const auto losses = in[0].as<float>();
            std::vector<float> sorted(losses.begin(), losses.end());
            std::ranges::sort(sorted);
            for (std::size_t i = 0; i < losses.size(); ++i)
              out[0].as<float>()[i] =
                  losses[i] < sorted[static_cast<std::size_t>(version)] ? 0.0F : 1.0F;
          }};
}

struct Block : Module {
  Conv2d conv;
  BatchNorm2d bn{*this, "bn", kChannels};

  Block(Module& parent, std::string_view name, std::int64_t in)
      : Module(parent, name), conv(*this, "conv", in, kChannels, 3, {.padding = {1, 1, 1, 1}}) {}
  Tensor operator()(const Tensor& x) const { return relu(bn(conv(x))); }
};

struct Net : Module {
  HostFunction keep;
  Block first{*this, "first", 1}, second{*this, "second", kChannels};
  GroupNorm norm{*this, "norm", 2, kChannels};
  Linear out{*this, "out", kChannels, kClasses};

  explicit Net(std::int64_t version) : keep(hardest(version)) {}

  /// What features [B,C] lose to those with noise, and their logits: [B].
  Tensor penalty(const Tensor& features, const Tensor& logits) const {
    const Mode mode = mode_of(features);
    Tensor noisy = features;
    if (mode.key) noisy = noisy + 0.1F * random_normal(*mode.key, features.shape());
    noisy = stop_gradient(noisy);
    const Tensor target = stop_gradient(softmax(out(noisy), 1));  // [B,classes]
    return reduce_sum(huber(features, noisy) + softplus(features), {1}) +
           reduce_sum(binary_cross_entropy_with_logits(logits, target), {1}) +
           reduce_sum(kl_divergence(log_softmax(logits, 1), target), {1}) -
           cosine_similarity(features, noisy + 1.0F);
  }

  Loss operator()(const Batch& batch) const {
    const Tensor x = norm(remat(second, first(batch["x"])));  // [B,C,H,W]
    const Tensor features = mean(x, {2, 3}), logits = out(features);
    const Tensor losses = cross_entropy(logits, batch["label"]) + 0.01F * penalty(features, logits);
    const Tensor kept = host_call(keep, {stop_gradient(losses), batch["label"]}, losses.type());
    return {.sum = batch.masked_sum(losses * kept),
            .count = batch.count(),
            .metrics = {{"kept", {batch.masked_sum(kept), batch.count()}}}};
  }
};

/// Noise that is brighter in a band of rows, which is the label.
DatasetPtr bands(std::int64_t bad_sample) {
  HostTensor x(DType::kF32, {kSamples, 1, kSide, kSide}), label(DType::kI32, {kSamples});
  random_normal({.seed = 7}, 0, x.as<float>());
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const std::int64_t band = i * i % kClasses;
    for (std::int64_t j = 0; j < 2 * kSide; ++j)
      x.as<float>()[static_cast<std::size_t>((i * kSide + 2 * band) * kSide + j)] += 1;
    label.as<std::int32_t>()[static_cast<std::size_t>(i)] =
        i == bad_sample ? -1 : static_cast<std::int32_t>(band);
  }
  return tensor_dataset({{"x", x}, {"label", label}});
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](Session& session) {
    Net net(given(session, "version", 1));
    Trainer trainer(session, net, AdamW{.learning_rate = 1e-2},
                    {.run = "run", .checkpoint = {.resume = "auto", .save_interval = 20}});
    const DataLoader data(session, bands(given(session, "bad_sample", -1)),
                          {.global_batch_size = 32, .micro_batch_size = 8, .shuffle = false});
    const std::int64_t throw_at = given(session, "throw_at", 0);
    for (const Batch& batch : trainer.steps(data, std::stoll(session.arguments().at(0)))) {
      const StepResult step = trainer.step(batch, net);
      if (session.rank() != 1 || step.number() != throw_at) continue;
      if (const std::int64_t number = given(session, "thrown", 0); number != 0) throw number;
      throw std::runtime_error("no page 41");
    }
    const MetricValues values = trainer.evaluate(data, net);
    session.print("eval loss {:.9f} kept {}", values.at("loss"), values.at("kept"));
  });
}

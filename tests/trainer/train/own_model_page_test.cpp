// The code of docs/guides/own_model.md and own_parts.md, line by line: it compiles, runs and
// trains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "core/base/error.h"
#include "core/trace/gradients.h"
#include "core/trace/host_call.h"
#include "core/trace/mode.h"
#include "tests/trainer/train/user_program.h"
#include "trainer/config/load.h"
#include "trainer/optimizers/sgd.h"
#include "trainer/registry/registry.h"
#include "trainer/settings/key.h"

namespace lockstep {
namespace {

// The lines are the page's.
// clang-format off
struct Scale : Module {
  Scale(Module& parent, std::string_view name, std::int64_t width)
      : Module(parent, name),
        weight(parameter("weight", Shape{width}, ParameterKind::kVector, Initializer::constant(1))),
        mean(buffer("mean", HostTensor::of(Shape{width}, std::vector<float>(width, 0)))) {}
  Tensor operator()(const Tensor& x) const {         // [B, width]
    const ModuleScope scope = enter(x);              // names what is recorded
    mean.blend(lockstep::mean(x, {0}), 0.1);         // a buffer: once a step, over all micro-batches
    return (x - broadcast_in_dim(mean.get(), x.shape(), {1})) * broadcast_in_dim(weight.get(), x.shape(), {1});
  }
  Parameter& weight;
  ModuleBuffer& mean;
};

struct Longest : Evaluator {
  std::string partial(const HostBatch& outputs) const override;      // outputs.at("scores"), outputs.at("mask")
  MetricValues combine(std::span<const std::string> partials, const MetricValues& values) const override;
};

struct SignMomentum {
  double learning_rate = 1e-3;                       // the peak of a schedule
  std::vector<std::string> slots() const { return {"momentum"}; }
  std::vector<Tensor> scalars(TraceContext& context, std::int64_t /*step*/, double rate) const {
    return {context.scalar(rate, DType::kF32, "optimizer.rate")};
  }
  std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient, std::span<const Tensor> slots,
                             std::span<const Tensor> scalars) const {
    const Tensor momentum = slots[0] * 0.9 + gradient * 0.1;
    return {parameter.value - scalars[0] * sign(momentum), momentum};  // the value, then the slots
  }

  static constexpr std::string_view kName = "sign_momentum";
  static constexpr std::string_view kDoc = "steps by the sign of a mean of gradients";
  static std::vector<Key> keys() {
    return {{.name = "learning_rate", .member = bind<&SignMomentum::learning_rate>(), .range = at_least(0),
             .doc = "Peak learning rate.", .required = true}};
  }
};

struct Texts : Dataset {
  std::int64_t size() const override { return 4; }
std::vector<FieldSpec> fields() const override {
  return {{.name = "tokens", .dtype = DType::kI32, .shape = Shape{{64, "length"}}, .variable_length = true},
          {.name = "label", .dtype = DType::kI32}};
}
  Sample get(std::int64_t i) const override {
    return {{"tokens", HostTensor(DType::kI32, Shape{i + 1})}, {"label", HostTensor::scalar<std::int32_t>(1)}};
  }
  std::string digest() const override { return "texts"; }
  std::string describe() const override { return "texts"; }
};

std::string Longest::partial(const HostBatch& outputs) const {
  return std::to_string(outputs.at("scores").shape()[0] * outputs.at("mask").shape()[0]);
}
MetricValues Longest::combine(std::span<const std::string> partials, const MetricValues& /*values*/) const {
  return {{"batches", static_cast<double>(partials.size())}};
}

struct Whole : Module {
  explicit Whole(Session& session_, double rate_) : session(session_), rate(rate_) {}

  Tensor changed(Tensor x) const {
    const double temperature = 0.5;
x = x * x.context().scalar(temperature, DType::kF32, "temperature");       // a new one in each step
x = dropout(x, x.context().scalar(rate, DType::kF32, "rate"));             // drops in training only
    return x;
  }
  Loss operator()(const Batch& batch) const {
    const Tensor x = scale(changed(batch["x"]));
const HostFunction round_up("round_up", 1, [](std::span<const HostTensor> in, std::span<HostTensor> out) {
  for (std::size_t i = 0; i < in[0].as<float>().size(); ++i)
    out[0].as<float>()[i] = std::ceil(in[0].as<float>()[i]);
});
Tensor y = host_call(round_up, {stop_gradient(x)}, Type{DType::kF32, x.shape()});
    const Tensor error = out(x) - batch["y"], losses = reduce_sum(error * error, {1});
    const Tensor correct = convert(less(losses, 0.5), DType::kF32), scores = x - y;
return {.sum = batch.masked_sum(losses),             // differentiated; sums, not means
        .count = batch.count(),                      // the divisor of the sum, at the end
        .metrics = {{"accuracy", {batch.masked_sum(correct), batch.count()}}},  // any number of ratios
        .outputs = {{"scores", scores}}};            // for evaluators, on the host
  }
  Session& session;
  double rate;
  Scale scale{*this, "scale", 2};
  Linear out{*this, "out", 2, 1};
};

struct OwnModelPage : UserProgram {};

TEST_F(OwnModelPage, ItsCodeTrainsAndEvaluates) {
  Session session(ProcessCall{words, settings, watch}, {});
  const HostTensor values = HostTensor::of(Shape{2}, std::vector<float>{1, 2});
const Tensor table = session.tensor(values, "table");                      // before the step: many numbers
  EXPECT_EQ(table.shape(), Shape{2});
  Whole net(session, 0.5);
  Trainer trainer(session, net, Sgd{.learning_rate = 1e-3});
  const DataLoader data(session, points(20), {.global_batch_size = 8, .micro_batch_size = 4});
  const std::int64_t total = 3;
for (const Batch& batch : trainer.steps(data, total)) trainer.step(batch, net);
trainer.evaluate(data, net, {std::make_shared<Longest>()});
  const MetricValues once = trainer.evaluate(data, net, {std::make_shared<Longest>()});
  EXPECT_EQ(once.at("batches"), 5);
  EXPECT_EQ(once, trainer.evaluate(data, net, {std::make_shared<Longest>()})) << "nothing is dropped";
  net.rate = 0;
  EXPECT_EQ(once, trainer.evaluate(data, net, {std::make_shared<Longest>()}));
  EXPECT_EQ(Texts().fields().size(), 2U);
  session.finish();
}

TEST_F(OwnModelPage, ItsOptimizerMovesEachWeightByTheRate) {
  Session session(ProcessCall{words, settings, watch}, {});
  struct Net : Module {
    Linear out{*this, "out", 2, 1};
    Loss operator()(const Batch& batch) const {
      const Tensor error = out(batch["x"]) - batch["y"];
      return {.sum = batch.masked_sum(error * error), .count = batch.count()};
    }
  } net;
Trainer trainer(session, net, SignMomentum{.learning_rate = 1e-2});
  const auto weight = [&] {
    const HostTensor host = net.parameters().at("out.weight").get().to_host();
    return std::vector<float>(host.as<const float>().begin(), host.as<const float>().end());
  };
  const std::vector<float> before = weight();
  const DataLoader data(session, points(8), {.global_batch_size = 8, .micro_batch_size = 4});
  for (const Batch& batch : trainer.steps(data, 1)) trainer.step(batch, net);
  const std::vector<float> after = weight();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(std::abs(after[i] - before[i]), 1e-2, 1e-7);
  EXPECT_THROW(net.parameters().at("out.wieght"), Error);
  session.finish();
}
// clang-format on

TEST_F(OwnModelPage, ItsOptimizerIsOneOfAConfig) {
  Registry registry = built_in();
  registry.add_optimizer<SignMomentum>();
  const std::string text = R"(model: {name: mlp}
data: {type: synthetic}
training: {max_steps: 1, global_batch_size: 8, micro_batch_size: 8}
optimizer: {name: sign_momentum, learning_rate: 0.01}
)";
  const Config config = parse_config(text, "run.yaml", registry, {}).config;
  const Optimizer optimizer = registry.make_optimizer(config.optimizer);
  EXPECT_EQ(optimizer.learning_rate(), 0.01);
  EXPECT_EQ(optimizer.slots(), std::vector<std::string>{"momentum"});
  EXPECT_THROW(parse_config(text, "run.yaml", built_in(), {}), Error);
}

/// Lines without the spaces around them.
std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/" + path);
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    out.push_back(first == std::string::npos ? "" : line.substr(first));
  }
  return out;
}

/// The lines of a page's blocks whose first line is `fence`.
std::vector<std::string> lines_in_blocks(const std::string& page, const std::string& fence) {
  std::vector<std::string> out;
  bool is_code = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) {
      is_code = line == fence;
    } else if (is_code) {
      out.push_back(line);
    }
  }
  return out;
}

TEST_F(OwnModelPage, ShowsNoOtherCodeThanThis) {
  const std::vector<std::string> here = lines_of("tests/trainer/train/own_model_page_test.cpp");
  std::set<std::string> compiled(here.begin(), here.end());
  for (const std::string& line : lines_of("examples/own_command/main.cpp")) compiled.insert(line);
  for (const auto& [page, least] :
       {std::pair("own_model.md", 25U), std::pair("own_parts.md", 15U)}) {
    const std::vector<std::string> shown =
        lines_in_blocks(std::string("docs/guides/") + page, "```cpp");
    for (const std::string& line : shown)
      EXPECT_TRUE(compiled.contains(line)) << page << ": " << line;
    EXPECT_GT(shown.size(), least) << page;
  }
}

TEST_F(OwnModelPage, BeginsWithTheExampleAsItIs) {
  const std::vector<std::string> shown =
      lines_in_blocks("docs/guides/own_model.md", "```cpp file=main.cpp");
  const std::vector<std::string> example = lines_of("examples/own_model/main.cpp");
  const auto begin = std::find(example.begin(), example.end(), "#include <lockstep/lockstep.h>");
  EXPECT_EQ(shown, std::vector<std::string>(begin, example.end()));
}

}  // namespace
}  // namespace lockstep

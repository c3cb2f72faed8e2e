// `lockstep` with your own model, dataset and metric: everything that the command does for its own
// models also works for yours.
//
//   cmake --build --preset release --target own_command
//   build/release/bin/own_command train examples/own_command/curve.yaml model.width=64
//   build/release/bin/own_command eval runs/curve
//
// Under mpirun it trains on all ranks, with the same hash; `train ... --resume`, `train ...
// --dry-run`, `config schema` and `models` support the model, too.

#include <lockstep/lockstep.h>

#include <array>
#include <cmath>
#include <cstring>

using namespace lockstep;

namespace {

/// Points of a noisy sine: {"x": f32 [1], "y": f32 [1]}. It has its own section of the config.
struct CurveData {
  static constexpr std::string_view kName = "curve";
  static constexpr std::string_view kDoc = "points of a noisy sine";
  static constexpr std::string_view kGives = "points";

  std::int64_t points = 4096;
  double noise = 0.1;

  static std::vector<Key> keys() {
    return {{.name = "points",
             .member = bind<&CurveData::points>(),
             .range = count_at_least(1),
             .doc = "Points to train on, and as many to validate on."},
            {.name = "noise",
             .member = bind<&CurveData::noise>(),
             .range = at_least(0),
             .doc = "Standard deviation of y."}};
  }
  DataSource open(const OpenContext& context) const;
};

class Points final : public Dataset {
 public:
  Points(const CurveData& data, std::uint64_t seed) : data_(data), seed_(seed) {}

  std::int64_t size() const override { return data_.points; }
  std::vector<FieldSpec> fields() const override {
    return {{"x", DType::kF32, Shape{1}}, {"y", DType::kF32, Shape{1}}};
  }
  Sample get(std::int64_t index) const override {
    std::array<float, 2> normal;
    random_normal({.seed = seed_}, 2 * static_cast<std::uint64_t>(index), normal);
    const float x = 2 * normal[0];
    const float y = std::sin(x) + static_cast<float>(data_.noise) * normal[1];
    return {{"x", HostTensor::of(Shape{1}, std::vector{x})},
            {"y", HostTensor::of(Shape{1}, std::vector{y})}};
  }

 private:
  CurveData data_;
  std::uint64_t seed_;
};

DataSource CurveData::open(const OpenContext& context) const {
  return {.train = std::make_shared<Points>(*this, context.seed),
          .validation = std::make_shared<Points>(*this, context.seed + 1)};
}

/// The largest error of all points: not a ratio of sums, and therefore an evaluator.
struct WorstError final : Evaluator {
  static constexpr std::string_view kName = "worst_error";
  static constexpr std::string_view kDoc = "the largest error of a point";

  std::string partial(const HostBatch& outputs) const override {
    const auto error = outputs.at("error").as<const float>();
    const auto mask = outputs.at("mask").as<const float>();
    float worst = 0;
    for (std::size_t i = 0; i < mask.size(); ++i) worst = std::max(worst, mask[i] * error[i]);
    return {reinterpret_cast<const char*>(&worst), sizeof worst};
  }
  MetricValues combine(std::span<const std::string> partials, const MetricValues&) const override {
    float worst = 0;
    for (const std::string& partial : partials) {
      float one = 0;
      std::memcpy(&one, partial.data(), sizeof one);
      worst = std::max(worst, one);
    }
    return {{"worst_error", worst}};
  }
};

/// One hidden layer from x to y.
class Curve final : public Model {
 public:
  static constexpr std::string_view kName = "curve";
  static constexpr std::string_view kDoc = "a curve through points";

  struct Config {
    std::int64_t width = 32;
    double tolerance = 0.2;

    static std::vector<Key> keys() {
      return {{.name = "width",
               .member = bind<&Config::width>(),
               .range = at_least(1),
               .doc = "Hidden units."},
              {.name = "tolerance",
               .member = bind<&Config::tolerance>(),
               .range = above(0),
               .doc = "How far a point may lie from the curve to count as hit."}};
    }
    DataNeeds needs() const { return {.inputs = "points"}; }
  };

  explicit Curve(const Config& config)
      : tolerance_(config.tolerance),
        hidden_(*this, "hidden", 1, config.width),
        out_(*this, "out", config.width, 1) {}

  Loss operator()(const Batch& batch) const override {
    const Tensor error = out_(tanh(hidden_(batch["x"]))) - batch["y"];  // [samples, 1]
    const Tensor hit = convert(less(abs(error), tolerance_), DType::kF32);
    return {.sum = batch.masked_sum(error * error),
            .count = batch.count(),
            .metrics = {{"hit", {batch.masked_sum(hit), batch.count()}}},
            .outputs = {{"error", abs(error)}}};
  }

 private:
  double tolerance_;
  Linear hidden_;
  Linear out_;
};

}  // namespace

int main(int argc, char** argv) {
  Registry registry = built_in();
  registry.add_model<Curve>();
  registry.add_dataset<CurveData>();
  registry.add_metric<WorstError>();
  return command_line(argc, argv, registry);
}

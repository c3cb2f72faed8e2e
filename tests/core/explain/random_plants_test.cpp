// Random programs of parts, each of which can be recorded in two ways. Of a program in which one or
// two parts changed exactly these are reported, with their lines; of one that did not change
// nothing.
#include <rapidcheck.h>

#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include "core/trace/gradients.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

/// What the reports of a changed part may say: of all of these causes, with this line.
struct Expected {
  std::string part;
  std::set<Cause> causes;
  std::string needle;  ///< in one of the texts
  int line = 0;        ///< 0: any
};

class Program {
 public:
  using Part = std::function<void(bool)>;

  explicit Program(unsigned seed) : random_(seed) {
    rows_ = pick({6, 8, 10});
    for (int i = 0; i < kParts; ++i)
      if (chance(5)) parts_.push_back(i);
    if (parts_.empty()) parts_.push_back(pick({0, 1, 2, 3}));
    std::shuffle(parts_.begin(), parts_.end(), random_);
    trains_ = chance(2);
    scoped_ = chance(2);
    std::vector<int> choices;
    for (const int part : parts_)
      if (part < kFollowers || part > kLastFollower) choices.push_back(part);
    if (choices.empty()) parts_.push_back(choices.emplace_back(1));
    const std::size_t changes = std::min(chance(2) ? std::size_t{1} : 2, choices.size());
    while (changed_.size() < changes) changed_.insert(choices[random_() % choices.size()]);
    // Lines of one branch, as far as a report can know.
    if (changed_.contains(kDType)) changed_.erase(14);
    for (const int part : {40, 44})
      if (changed_.contains(39) || (part == 44 && changed_.contains(40))) changed_.erase(part);
    if (changed_.contains(kDType)) changed_.erase(kTraining);  // a report has one mode
    // Two draws of one key, of which one goes: the order of the others cannot be told.
    if (changed_.contains(kTraining)) std::erase(parts_, 42), changed_.erase(44);
    // Of two orders a report names one, and ops of one kind that come, go and move are mistaken for
    // each other.
    if (changed_.contains(47)) {
      for (const int part : {6, 8, 14, 16}) changed_.erase(part);
    }
    // Of a shorter loop its last turns are told as its first.
    backwards_ = chance(4) && !changed_.contains(45);
  }

  /// Empty if the report is right; else what is wrong.
  std::string check() {
    record(backwards_);
    const Explanation why = record(!backwards_);
    const std::string wrong = judge(why);
    if (!wrong.empty()) return wrong;
    const std::size_t programs = plant_.structures.size();
    record(!backwards_);
    if (plant_.structures[programs] != plant_.structures[programs - 1])
      return "the same program has another structure";
    return "";
  }

 private:
  static constexpr int kParts = 49;
  static constexpr int kRows = 0, kDType = 12, kTraining = 13;
  static constexpr int kFollowers = 30, kLastFollower = 36;  ///< never change by themselves

  bool chance(unsigned of) { return random_() % of == 0; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return *(from.begin() + random_() % from.size());
  }

  Explanation record(bool changed) {
    expected_.clear();
    sums_.clear();
    held_.clear();
    const std::int64_t rows = changed && changed_.contains(kRows) ? rows_ + rows_ / 2 : rows_;
    TraceContext& context = plant_.context;
    key_.emplace(RandomKey{context.scalar(1, DType::kI64, "seed"),
                           context.scalar(2, DType::kI64, "step"),
                           context.scalar(3, DType::kI64, "micro_batch")});
    h_ = plant_.input({DType::kF32, Shape{{rows, "batch"}, {6}}}, "batch.x");
    const Tensor w = plant_.input({DType::kF32, Shape{6, 6}}, "w", InputKind::kParameter);
    const Tensor b = plant_.input({DType::kF32, Shape{6}}, "b", InputKind::kParameter);
    h_ = linear(h_, w, &b, true);
    for (const int part : parts_) {
      std::optional<ModuleScope> scope;
      if (scoped_) scope.emplace(plant_.context, fmt::format("part.{}", part));
      record_part(part, changed && changed_.contains(part));
    }
    Tensor loss = sum(h_ * h_);
    for (const Tensor& each : sums_) loss = loss + each;
    std::vector<Tensor> out = {loss};
    if (trains_) {
      const std::vector<Tensor> all{w, b};
      const std::vector<Tensor> g = gradients(loss, all);
      for (std::size_t i = 0; i < all.size(); ++i) out.push_back(all[i] - g[i] * 0.01);
    }
    h_ = Tensor();
    sums_.clear();
    return plant_.cut();
  }

  void expect(std::set<Cause> causes, const std::string& needle, int line) {
    expected_.push_back({.part = fmt::format("part {}", current_),
                         .causes = std::move(causes),
                         .needle = needle,
                         .line = line});
  }
  Tensor side(const Shape& shape, std::string_view name, DType dtype = DType::kF32) {
    return plant_.input({dtype, shape}, name, InputKind::kState);
  }
  static AttentionSpec causal(bool on) {
    AttentionSpec out;
    out.causal = on;
    out.scale = 0.5;
    return out;
  }
  void add(const Tensor& x) { sums_.push_back(sum(x)); }

  // One line for each part, which `expect` names.
  // clang-format off
  void record_part(int part, bool again) {
    current_ = part;
    const auto on = [&](std::set<Cause> causes, const std::string& needle, int line) { if (changed_.contains(part)) expect(std::move(causes), needle, line); };
    const std::set<Cause> ops{Cause::kOpAdded, Cause::kOpRemoved};
    TraceContext& context = plant_.context;
    switch (part) {
      case kRows:
        on({Cause::kInputShape}, "batch.x[batch]", 0);
        h_ = h_ - mean(h_, {0}, true);
        break;
      case 1: on({Cause::kConstant}, "", __LINE__); h_ = h_ * (again ? 0.77 : 0.31); break;
      case 2: on({Cause::kConstant}, "", __LINE__); h_ = h_ + (again ? 1.1 : 2.9); break;
      case 3: on({Cause::kAttribute}, "dims", __LINE__); h_ = h_ * softmax(h_, again ? 0 : 1); break;
      case 4: on({Cause::kAttribute}, "start", __LINE__); add(exp(slice_dim(side(Shape{20}, "s4"), 0, again ? 3 : 1, again ? 11 : 9))); break;
      case 5: on({Cause::kAttribute}, "dims", __LINE__); add(exp(mean(side(Shape{5, 5, 5}, "s5"), {again ? 1 : 2}))); break;
      case 6: on(ops, "", __LINE__); h_ = again ? tanh(h_) : sin(h_); break;
      case 7: on(ops, "abs", __LINE__); if (again) h_ = abs(h_); break;
      case 8: { const Tensor a = exp(h_), c = tanh(h_); on({Cause::kOpOrder}, "", __LINE__ + 1);
        h_ = again ? a - c : c - a; break; }
      case 9: { on({Cause::kInputs}, "alpha", 0);
        const Tensor k = again ? context.scalar(0.45, DType::kF32, "alpha") : context.constant(0.45, DType::kF32); h_ = h_ * k; break; }
      case 10: on({Cause::kInputShape}, "s10[0]", 0); add(tanh(side(Shape{again ? 9 : 7, 4}, "s10"))); break;
      case 11: on({Cause::kInputDtype}, "s11", 0); add(exp(convert(side(Shape{7}, "s11", again ? DType::kI32 : DType::kI64), DType::kF32))); break;
      case kDType: { on({Cause::kMode}, "", __LINE__ + 1);
        const ModeScope mode(context, {.compute_dtype = again ? DType::kBF16 : DType::kF32}); h_ = convert(tanh(to_compute_dtype(h_)), DType::kF32); break; }
      case kTraining: { const RandomKey key = *key_;
        on({Cause::kMode}, "", __LINE__ + 1);
        const ModeScope mode(context, {.training = !again, .key = key}); h_ = dropout(h_, 0.5); break; }
      case 14: on(ops, "", __LINE__); for (int l = 0; l < (again ? 4 : 2); ++l) h_ = cos(h_); break;
      case 15: on({Cause::kOutputSet}, "", __LINE__); { const Tensor t = cos(h_); if (again) held_.push_back(t); add(t); } break;
      case 16: { const Tensor a = exp(h_); on({Cause::kOpOrder}, "", 0);
        Tensor p, q; if (again) { q = tanh(a);
          p = cos(a); } else { p = cos(a);
          q = tanh(a); } h_ = p * q; break; }
      default: record_more(part, again); break;
    }
  }

  void record_more(int part, bool again) {
    const auto on = [&](std::set<Cause> causes, const std::string& needle, int line) { if (changed_.contains(part)) expect(std::move(causes), needle, line); };
    const std::set<Cause> ops{Cause::kOpAdded, Cause::kOpRemoved};
    TraceContext& context = plant_.context;
    switch (part) {
      case 17: { const Tensor a = side(Shape{4, 4}, "a17"), c = side(Shape{4, 4}, "c17"); add(exp(a) + tanh(c));
        const Tensor& p = again ? c : a; const Tensor& q = again ? a : c; on({Cause::kInputs}, "each other's places", __LINE__ + 1);
        add(softmax(p, 1) * (log_softmax(p, 1) - log_softmax(q, 1))); break; }
      case 18: { const Tensor q = side(Shape{2, 5, 2, 4}, "q18"); on({Cause::kAttribute}, "causal", __LINE__); add(attention(q, q, q, causal(again))); break; }
      case 19: { ConvSpec spec; if (again) spec.stride = {2, 2}; const Tensor x = side(Shape{1, 1, 12, 12}, "i19"), w = side(Shape{2, 1, 3, 3}, "w19"); on({Cause::kAttribute}, "stride", __LINE__); add(tanh(convolution(x, w, spec))); break; }
      case 20: on(ops, "", __LINE__); h_ = select(again ? greater(h_, 0.21) : less(h_, 0.21), h_, 0.0); break;
      case 21: on({Cause::kConstant}, "", __LINE__); add(exp(pad(side(Shape{7, 7}, "s21"), again ? -1.3 : 0.6, {1, 1}, {1, 1}))); break;
      case 22: on({Cause::kAttribute}, "high", __LINE__); add(exp(pad(side(Shape{7, 7}, "s22"), 0.0, {1, 1}, {1, again ? 3 : 1}))); break;
      case 23: on({Cause::kAttribute}, "axis", __LINE__); add(select(less(iota(context, Shape{5, 5}, again ? 1 : 0, DType::kI32), 3.0), side(Shape{5, 5}, "s23"), 0.0)); break;
      case 24: { std::vector<Tensor> all = {side(Shape{3, 4}, "p24"), side(Shape{3, 4}, "q24")}; if (again) all.push_back(all[0]); on({Cause::kInputs}, "operands of concatenate", __LINE__); add(exp(concatenate(all, 0))); break; }
      case 25: on({Cause::kConstant}, "", __LINE__); add(side(Shape{3}, "s25") * context.constant(HostTensor::of(Shape{3}, std::vector<float>{1.5F, again ? 2.7F : 2.6F, 3.1F}))); break;
      case 26: { const Tensor a = side(Shape{6, 6}, "a26"); on({Cause::kAttribute}, "", __LINE__); add(tanh(linear(exp(a), tanh(a), nullptr, again))); break; }
      case 27: { const Tensor u = tanh(h_), v = exp(h_); on({Cause::kInputs}, "each other's places", __LINE__ + 1);
        h_ = sin(again ? v : u) - cos(again ? u : v); break; }
      case 28: on({Cause::kInputs, Cause::kConstant}, "s28", 0); { const Tensor k = again ? context.constant(HostTensor::of(Shape{3}, std::vector<float>{1, 2, 4})) : side(Shape{3}, "s28"); add(exp(k) * side(Shape{3}, "t28")); } break;
      case 29: { const Tensor a = side(Shape{5, 7}, "a29"); on({Cause::kAttribute}, "", __LINE__); add(exp(reduce_max(a, {again ? 0 : 1}))); break; }
      default: record_followers(part, again); break;
    }
  }

  /// Parts that follow from the number of rows, and parts of several lines.
  void record_followers(int part, bool again) {
    const auto on = [&](std::set<Cause> causes, const std::string& needle, int line) { if (changed_.contains(part)) expect(std::move(causes), needle, line); };
    TraceContext& context = plant_.context;
    const std::int64_t rows = h_.size(0);
    const auto n = static_cast<double>(rows * 6);
    const std::set<Cause> ops{Cause::kOpAdded, Cause::kOpRemoved};
    switch (part) {
      case 30: { const Tensor m = mean(h_, {0}, true); add(mean((h_ - m) * (h_ - m), {0}) * (n / (n - 1)) * 0.13); break; }
      case 31: h_ = h_ * (1 / std::sqrt(static_cast<double>(rows))); break;
      case 32: add(exp(slice_dim(h_, 0, rows - 3, rows))); break;
      case 33: add(tanh(reshape(h_, {rows * 2, 3}))); break;
      case 34: h_ = select(less(iota(context, h_.shape(), 0, DType::kI32), 4.0), h_, 0.0); break;
      case 35: add(exp(pad(h_, 0.0, {0, 0}, {32 - rows, 0}))); break;
      case 36: add(h_ * broadcast_in_dim(context.constant(HostTensor::of(Shape{rows}, std::vector<float>(static_cast<std::size_t>(rows), 0.2F))), h_.shape(), {0})); break;
      case 37: { PoolSpec spec; if (again) spec.window = spec.stride = {3, 3}; on({Cause::kAttribute}, "window", __LINE__); add(tanh(max_pool(side(Shape{1, 1, 12, 12}, "i37"), spec))); break; }
      case 38: { const Tensor b = side(Shape{5}, "b38"), w = side(Shape{4, 5}, "w38"); on({Cause::kInputShape}, "s38: ", 0); add(tanh(linear(side(again ? Shape{6, 4} : Shape{3, 2, 4}, "s38"), w, &b, false))); break; }
      case 39: on(ops, "", __LINE__); if (again) h_ = convert(convert(h_, DType::kF16), DType::kF32); break;
      case 40: on(ops, "stop_gradient", __LINE__); if (again) h_ = stop_gradient(h_); break;
      case 41: on({Cause::kInputShape}, "s41[0]", 0); add(exp(gather(side(Shape{9, 4}, "t41"), side(Shape{again ? 7 : 5}, "s41", DType::kI32), 0))); break;
      case 42: { const RandomKey key = *key_;
        on({Cause::kConstant}, "", __LINE__); h_ = dropout(h_, again ? 0.4 : 0.15, key); break; }
      case 43: on({Cause::kConstant}, "", __LINE__); h_ = minimum(h_, again ? 3.3 : 5.7); break;
      case 44: on(ops, "", __LINE__); if (again) { const Tensor u = exp(h_ * 0.11);
          h_ = h_ + u; } break;
      case 45: { const int steps = again ? 6 : 4; const Tensor s = side(Shape{{steps, "time"}, {5}}, "s45"); Tensor state = side(Shape{1, 5}, "h45"); on({Cause::kInputShape}, "s45[time]", 0);
        for (int t = 0; t < steps; ++t) state = tanh(slice_dim(s, 0, t, t + 1) + state * 0.9);
        add(state); break; }
      case 46: { const Tensor a = exp(side(Shape{5, 5}, "a46")), c = tanh(side(Shape{5, 5}, "c46")); on({Cause::kOpOrder}, "", __LINE__); add(sin(again ? matmul(a, c) : matmul(c, a))); break; }
      case 47: on({Cause::kOpOrder}, "", __LINE__); h_ = again ? sin(tanh(h_)) : tanh(sin(h_)); break;
      case 48: { const Tensor a = side(Shape{4, 4}, "a48"), c = side(Shape{4, 4}, "c48"); add(exp(a) + tanh(c)); on({Cause::kInputs}, "a48", __LINE__); add(sin(again ? a : c)); break; }
      default: break;
    }
  }
  // clang-format on

  std::string judge(const Explanation& why) const {
    std::string wrong;
    const auto fits = [](const Difference& d, const Expected& site) {
      return site.causes.contains(d.cause) &&
             (site.line == 0 ||
              d.text().find(fmt::format("_test.cpp:{}", site.line)) != std::string::npos);
    };
    for (const Expected& site : expected_) {
      const bool told = std::ranges::any_of(why.differences, [&](const Difference& d) {
        return !d.derived && fits(d, site) && d.text().find(site.needle) != std::string::npos;
      });
      if (!told) wrong += fmt::format("{} (line {}) was not told; ", site.part, site.line);
    }
    for (const Difference& d : why.differences)
      if (!d.derived &&
          std::ranges::none_of(expected_, [&](const Expected& site) { return fits(d, site); }))
        wrong +=
            fmt::format("told, but not changed: {} {} ({}); ", name_of(d.cause), d.text(), d.line);
    if (wrong.empty()) return "";
    std::string parts;
    for (const int part : parts_) parts += fmt::format(" {}", part);
    return fmt::format("{}parts{}{}{}; report: {}", wrong, parts, trains_ ? ", trains" : "",
                       scoped_ ? ", scoped" : "", why.text(9));
  }

  std::mt19937 random_;
  Planted plant_;
  std::int64_t rows_ = 8;
  std::vector<int> parts_;
  std::set<int> changed_;
  bool trains_ = false;
  bool scoped_ = false;
  bool backwards_ = false;
  int current_ = 0;
  Tensor h_;
  std::optional<RandomKey> key_;
  std::vector<Tensor> sums_;
  std::vector<Tensor> held_;
  std::vector<Expected> expected_;
};

TEST(RandomPlants, AreReportedAndNothingElse) {
  const bool right = rc::check("exactly what changed is reported", [] {
    const auto first = *rc::gen::arbitrary<unsigned>();
    for (unsigned seed = first; seed < first + 10; ++seed) {
      const std::string wrong = Program(seed).check();
      if (!wrong.empty()) RC_FAIL(fmt::format("seed {}: {}", seed, wrong));
    }
  });
  EXPECT_TRUE(right);
}

}  // namespace
}  // namespace lockstep

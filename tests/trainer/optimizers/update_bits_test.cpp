// Replicas stay equal on different processors only if the update program gives the same bits on all
// that have the agreed instruction set: those of IEEE arithmetic in the order of the program,
// whatever else a processor has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <regex>
#include <set>

#include "core/base/log.h"
#include "core/base/rng.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"
#include "tests/trainer/optimizers/update_training.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/lamb.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::Each;
using testing::Not;

constexpr double kClip = 0.75;
constexpr double kLearningRate = 3e-3;
constexpr int kSteps = 4;

/// Numbers in [-0.5, 0.5), without a rounding: the same wherever they are drawn.
std::vector<float> draw(std::uint64_t stream, std::size_t count) {
  std::vector<std::uint32_t> bits(count);
  random_bits({.seed = 1, .stream = stream}, 0, bits);
  std::vector<float> out;
  for (const std::uint32_t word : bits) out.push_back(uniform_from_bits(word) - 0.5F);
  return out;
}

/// Lengths with tails, and more than one block of the norm.
constexpr std::array<std::size_t, 2> kSizes = {130 * 127, 29};

std::vector<float> initial(std::size_t parameter) {
  return draw(10 + parameter, kSizes[parameter]);
}

std::vector<float> gradient_of(int step, std::size_t parameter) {
  return draw(100 + 10 * static_cast<std::uint64_t>(step) + parameter, kSizes[parameter]);
}

constexpr AdamW kAdamW{.weight_decay = 0.1};
constexpr Sgd kSgd{.momentum = 0.9, .weight_decay = 0.1};

/// Two parameters, a matrix and a vector, whose gradients are drawn.
struct DrawnTraining : UpdateTraining {
  DrawnTraining(const Optimizer& rule, const Target& target, Log& log = Log::null())
      : UpdateTraining(rule, {{Shape{130, 127}, initial(0)}, {Shape{29}, initial(1)}}, target,
                       log) {}

  StepSummary step(int number) {
    return UpdateTraining::step(
        {gradient_of(number, 0), gradient_of(number, 1)},
        {.clip_norm = kClip, .step = number, .learning_rate = kLearningRate});
  }
};

/// The same in plain loops, which the compiler may not contract. The norm is given.
class Oracle {
 public:
  explicit Oracle(bool adamw) : adamw_(adamw) {
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      p.push_back(initial(i));
      m_.emplace_back(kSizes[i], 0.0F);
      v_.emplace_back(kSizes[i], 0.0F);
    }
  }

  void step(int number, float norm) {
    const float scale = std::min(static_cast<float>(kClip) / (norm + 1e-6F), 1.0F);
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      const std::vector<float> gradient = gradient_of(number, i);
      for (std::size_t j = 0; j < kSizes[i]; ++j)
        (adamw_ ? &adamw : &sgd)(*this, number, i, j, gradient[j] * scale);
    }
  }

  std::vector<std::vector<float>> p;

 private:
  static void adamw(Oracle& o, int number, std::size_t i, std::size_t j, float g) {
    const double t = number + 1;
    const auto decay = static_cast<float>(1.0 - kLearningRate * kAdamW.weight_decay);
    const auto size = static_cast<float>(kLearningRate / (1.0 - std::pow(kAdamW.betas[0], t)));
    const auto root = static_cast<float>(std::sqrt(1.0 - std::pow(kAdamW.betas[1], t)));
    float& m = o.m_[i][j];
    float& v = o.v_[i][j];
    m = m * static_cast<float>(kAdamW.betas[0]) + g * static_cast<float>(1.0 - kAdamW.betas[0]);
    v = v * static_cast<float>(kAdamW.betas[1]) + g * g * static_cast<float>(1.0 - kAdamW.betas[1]);
    const float denominator = std::sqrt(v) / root + static_cast<float>(kAdamW.eps);
    const float base = i == 0 ? o.p[i][j] * decay : o.p[i][j];
    o.p[i][j] = base - size * (m / denominator);
  }
  static void sgd(Oracle& o, int /*number*/, std::size_t i, std::size_t j, float g) {
    const float with_decay = i == 0 ? g + o.p[i][j] * static_cast<float>(kSgd.weight_decay) : g;
    o.m_[i][j] = o.m_[i][j] * static_cast<float>(kSgd.momentum) + with_decay;
    o.p[i][j] = o.p[i][j] - static_cast<float>(kLearningRate) * o.m_[i][j];
  }

  bool adamw_;
  std::vector<std::vector<float>> m_;
  std::vector<std::vector<float>> v_;
};

/// Each set that this processor has.
std::vector<Target> targets() {
  std::vector<Target> out{host_target(MaxIsa::kAvx2)};
  for (const MaxIsa max : {MaxIsa::kAvx512, MaxIsa::kAuto})
    if (const Target more = host_target(max); more.isa == Isa::kAvx512) out.push_back(more);
  return out;
}

TEST(UpdateBits, AreThoseOfPlainArithmeticForEveryInstructionSet) {
  for (const bool adamw : {true, false})
    for (const Target& target : targets()) {
      SCOPED_TRACE(fmt::format("{} {}", adamw ? "adamw" : "sgd", static_cast<int>(target.isa)));
      DrawnTraining training(adamw ? Optimizer(kAdamW) : Optimizer(kSgd), target);
      Oracle oracle(adamw);
      for (int step = 0; step < kSteps; ++step)
        oracle.step(step, static_cast<float>(training.step(step).grad_norm));
      for (std::size_t i = 0; i < kSizes.size(); ++i) EXPECT_EQ(training.values(i), oracle.p[i]);
    }
}

/// The norm is the one sum of the update: its order is the program's, not the processor's.
TEST(UpdateBits, OfTheNormAreTheSameOnEveryProcessor) {
  for (const Target& target : targets()) {
    DrawnTraining training(kAdamW, target);
    std::vector<float> norms;
    for (int step = 0; step < kSteps; ++step)
      norms.push_back(static_cast<float>(training.step(step).grad_norm));
    EXPECT_THAT(norms, testing::ElementsAre(0x1.280daap+5F, 0x1.27f2f4p+5F, 0x1.27ef42p+5F,
                                            0x1.27df4ap+5F));
  }
}

/// LAMB has more sums: two of each matrix.
TEST(UpdateBits, OfLambAreTheSameOnEveryProcessor) {
  std::vector<std::vector<float>> values;
  for (const Target& target : targets()) {
    DrawnTraining training(Lamb{.weight_decay = 0.1}, target);
    for (int step = 0; step < kSteps; ++step) training.step(step);
    values.push_back(training.values(0));
    EXPECT_NE(values.back(), initial(0));
    EXPECT_EQ(values.back(), values.front());
  }
}

TEST(UpdateBits, LeaveNothingToTheCodeGenerator) {
  const TemporaryFolder folder;
  const std::string path = folder.path("log");
  Log log({.console = false, .file = path, .debug = 4});
  DrawnTraining training(kAdamW, host_target(MaxIsa::kAvx2), log);
  training.step(0);
  const std::string text = contents_of(path);
  const std::regex call(R"(call( \w+)* <?[^@\n]*@(llvm[.\w]+))");
  std::set<std::string> intrinsics;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), call); at != std::sregex_iterator();
       ++at)
    intrinsics.insert(std::regex_replace((*at)[2].str(), std::regex(R"(\.(v\d+)?[fi]\d+.*)"), ""));
  EXPECT_THAT(text, ContainsRegex("fdiv <16 x float>")) << "the IR is there";
  EXPECT_THAT(text,
              Not(ContainsRegex(
                  "f(add|sub|mul|div|neg|cmp) (fast|reassoc|contract|arcp|afn|nsz|nnan|ninf)")));
  EXPECT_THAT(intrinsics, Each(AnyOf("llvm.sqrt", "llvm.fabs", "llvm.masked.load",
                                     "llvm.masked.store", "llvm.prefetch.p0")));
}

}  // namespace
}  // namespace lockstep

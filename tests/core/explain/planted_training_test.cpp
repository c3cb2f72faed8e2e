// Changes that users make from step to step in a model that trains: with gradients and scopes,
// where one change alters the graph in many places.
#include <algorithm>
#include <optional>

#include "core/trace/gradients.h"
#include "core/trace/host_call.h"
#include "core/trace/remat.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct PlantedTraining : PlantedTest {
  Tensor x = input({DType::kF32, Shape{2, 8}}, "x", InputKind::kParameter);
  std::vector<Tensor> weights = {weight("h.0.weight"), weight("h.1.weight"), weight("h.2.weight")};

  Tensor weight(std::string_view name) {
    return input({DType::kF32, Shape{8, 8}}, name, InputKind::kParameter);
  }
  Tensor layer(std::size_t i, const Tensor& in, bool frozen = false) {
    const ModuleScope scope(context, fmt::format("h.{}", i));
    line = __LINE__ + 1;
    const Tensor from = frozen ? stop_gradient(in) : in;
    return in + relu(linear(tanh(from), weights[i], nullptr, true));
  }
  /// The loss, and what becomes of x and the weights.
  std::vector<Tensor> train(const Tensor& y) {
    std::vector<Tensor> of = weights;
    of.push_back(x);
    std::vector<Tensor> out = gradients(sum(y * y), of);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = of[i] - out[i];
    out.push_back(sum(y));
    return out;
  }
};

TEST_F(PlantedTraining, NamesLayersThatChangedPlaces) {
  const auto body = [&](bool again) {
    Tensor y = x;
    for (std::size_t i = 0; i < 3; ++i) y = layer(again ? 2 - i : i, y);
    return train(y);
  };
  EXPECT_THAT(told(body), ElementsAre(testing::AllOf(HasSubstr("op_order "),
                                                     HasSubstr("recorded in another place"))));
  EXPECT_EQ(last.remedy(), remedy_of(Cause::kOpOrder));
}

TEST_F(PlantedTraining, NamesTheLayerThatIsGoneAndNotItsGradientsThatBecameZero) {
  const auto body = [&](bool again) {
    Tensor y = x;
    for (std::size_t i = 0; i < (again ? 2U : 3U); ++i) y = layer(i, y);
    return train(y);
  };
  EXPECT_THAT(told(body),
              ElementsAre(testing::AllOf(HasSubstr("op_removed "), HasSubstr("(h.2)"))));
}

TEST_F(PlantedTraining, NamesALayerThatWasFrozen) {
  const auto body = [&](bool again) {
    Tensor y = x;
    for (std::size_t i = 0; i < 3; ++i) y = layer(i, y, again && i == 1);
    return train(y);
  };
  const std::vector<std::string> causes = told(body);
  EXPECT_EQ(last.differences.front().cause, Cause::kOpAdded);
  EXPECT_EQ(last.differences.front().line, fmt::format("planted_training_test.cpp:{}", line));
  EXPECT_EQ(last.differences.front().scope, "h.1");
  for (const std::string& cause : causes) EXPECT_THAT(cause, Not(HasSubstr("attribute")));
}

TEST_F(PlantedTraining, NamesTheAxisOfAMeanAndNotTheNumberItDividesBy) {
  const Tensor image = input({DType::kF32, Shape{2, 4, 6}}, "batch.image");
  const auto body = [&](bool again) {
    const Tensor m = mean(image, {again ? 2 : 1});
    return train(layer(0, x) * sum(m));
  };
  EXPECT_THAT(told(body), ElementsAre(HasSubstr("dims: [1] -> [2]")));
  EXPECT_EQ(last.cause(), Cause::kAttribute);
}

TEST_F(PlantedTraining, NamesTheAxisOfASoftmaxOnce) {
  const auto body = [&](bool again) {
    return train(layer(0, softmax(layer(1, x), again ? 0 : 1)));
  };
  EXPECT_THAT(told(body), ElementsAre(HasSubstr("attribute reduce_max")));
}

TEST_F(PlantedTraining, NamesAResultThatIsTakenInsteadOfAnother) {
  const auto body = [&](bool again) {
    const Tensor a = tanh(x), b = exp(x);
    line = __LINE__ + 1;
    const Tensor y = linear(again ? a : b, weights[0], nullptr, true);
    return train(y * sum(a * b));
  };
  const std::vector<std::string> causes = told(body);
  EXPECT_THAT(causes,
              ElementsAre(HasSubstr(fmt::format(
                  "inputs operand 0 of dot_general f32[2,8] planted_training_test.cpp:{}", line))));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("select() with a scalar()"));
}

TEST_F(PlantedTraining, NumbersResultsOfOneLineOfWhichTheOtherIsTaken) {
  std::string made;
  const auto body = [&](bool again) {
    Tensor p = layer(0, x), q = layer(0, x * 0.5);
    made = fmt::format("add f32[2,8] planted_training_test.cpp:{} (h.0)", line + 1);
    line = __LINE__ + 1;
    (again ? p : q) = stop_gradient(again ? p : q);
    return train(p - q);
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format("inputs operand 0 of stop_gradient f32[2,8] "
                                              "planted_training_test.cpp:{0}: {1}, number 2 of 2 "
                                              "-> {1}, number 1 of 2",
                                              line, made)));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("select() with a scalar()"));
}

TEST_F(PlantedTraining, NamesResultsThatAreTakenInAnotherOrder) {
  const auto body = [&](bool again) {
    std::vector<Tensor> parts = {sum(tanh(x)), sum(exp(x)), sum(x * x)};
    if (again) std::rotate(parts.begin(), parts.begin() + 1, parts.end());
    Tensor y = sum(x);
    line = __LINE__ + 1;
    for (const Tensor& part : parts) y = y + part;
    return train(y);
  };
  const std::vector<std::string> causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format("op_order results are taken in another order at "
                                              "planted_training_test.cpp:{}",
                                              line)));
}

TEST_F(PlantedTraining, NamesTheModulesOfADraw) {
  const RandomKey key{context.scalar(1, DType::kI64, "seed"),
                      context.scalar(2, DType::kI64, "step"),
                      context.scalar(3, DType::kI64, "micro_batch")};
  const auto body = [&](bool again) {
    const Tensor y = layer(0, x);
    const ModuleScope scope(context, again ? "iteration.1" : "iteration.0");
    line = __LINE__ + 1;
    return train(dropout(y, 0.5, key));
  };
  const std::vector<std::string> causes = told(body);
  EXPECT_THAT(causes,
              ElementsAre(fmt::format("attribute random numbers of planted_training_test.cpp:{}"
                                      ": iteration.0 -> iteration.1",
                                      line)));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("modules of the same names"));
}

TEST_F(PlantedTraining, NamesNoOrderWhereANumberEqualsAnotherAtTimes) {
  const auto body = [&](bool again) {
    const Tensor y = x * (again ? 0.5 : 1.0);
    return train(y + 1.0);
  };
  EXPECT_THAT(told(body), testing::Each(Not(HasSubstr("op_order"))));
  EXPECT_EQ(last.cause(), Cause::kConstant);
}

TEST_F(PlantedTraining, TakesTheFlagOfAMaskForAConsequenceOfTheMask) {
  const Tensor mask = input({DType::kBool, Shape{2, 2}}, "batch.mask");
  const auto body = [&](bool again) {
    const Tensor q = reshape(x, {2, 2, 2, 2});
    AttentionSpec spec;
    if (again) spec.key_mask = logical_not(mask);
    return std::vector{attention(q, q, q, spec)};
  };
  EXPECT_THAT(told(body), ElementsAre(HasSubstr("op_added not bool[2,2]")));
}

TEST_F(PlantedTraining, TakesTheSumsOverMicroBatchesOfAMetricForAConsequence) {
  const Tensor count = input({DType::kI64, Shape{}}, "batch.count");
  const auto body = [&](bool again) {
    std::vector<Tensor> out = {all_reduce(sum(x)), count + 1.0};
    const auto metric = [&] { return sum(convert(greater(x, 0.5), DType::kF32)); };
    if (again) {
      const Tensor right = metric();
      const Tensor all = all_reduce(count);
      out.push_back(all_reduce(right) / convert(all, DType::kF32));
    }
    return out;
  };
  EXPECT_THAT(told(body), ElementsAre(HasSubstr("op_added greater")));
}

// Of what gradients() records for a line nothing is told that the line itself explains.

TEST_F(PlantedTraining, NamesOperandsThatWereSwapped) {
  const Tensor t = input({DType::kF32, Shape{2, 8}}, "batch.t");
  const auto body = [&](bool again) {
    const Tensor y = layer(0, x);
    line = __LINE__ + 1;
    return train(again ? t - y : y - t);
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "op_order subtract f32[2,8] planted_training_test.cpp:{} takes its "
                          "operands in another order",
                          line)));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("write the operands in one order"));
}

TEST_F(PlantedTraining, NamesSwappedOperandsOfOtherOps) {
  const auto swapped = [&](const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
    history = {};
    const std::vector<std::string> causes = told([&](bool again) {
      const Tensor a = layer(0, x), b = layer(1, x);
      return train(again ? f(b, a) : f(a, b));
    });
    EXPECT_THAT(causes, ElementsAre(HasSubstr("takes its operands in another order")));
  };
  swapped([](const Tensor& a, const Tensor& b) { return a / b; });
  swapped([](const Tensor& a, const Tensor& b) { return concatenate(std::vector{a, b}, 1); });
  swapped([](const Tensor& a, const Tensor& b) { return power(a, b); });
  const Tensor flag = input({DType::kBool, Shape{2, 8}}, "batch.flag");
  swapped([&](const Tensor& a, const Tensor& b) { return select(flag, a, b); });
}

TEST_F(PlantedTraining, NamesANumberOnTheOtherSide) {
  const auto body = [&](bool again) {
    const Tensor y = layer(0, x);
    line = __LINE__ + 1;
    return train(again ? 1.0 - y : y - 1.0);
  };
  EXPECT_THAT(told(body), ElementsAre(HasSubstr("takes its operands in another order")));
}

TEST_F(PlantedTraining, NamesTheCallOfRematThatIsToggled) {
  const Tensor batch = input({DType::kF32, Shape{2, 8}}, "batch.x");
  const auto body = [&](bool recomputed) {
    const auto f = [&](const Tensor& h) { return layer(1, layer(0, h)); };
    const Tensor y = tanh(batch * x);
    const int call = __LINE__ + 1;
    const Tensor out = recomputed ? remat(f, y) : f(y);
    line = call;
    return train(out);
  };
  for (const bool first : {false, true}) {
    history = {};
    const auto causes = told([&] { return body(first); }, [&] { return body(!first); });
    EXPECT_THAT(causes, ElementsAre(testing::StartsWith(
                            fmt::format("{} remat f32[2,8] planted_training_test.cpp:{}",
                                        first ? "op_removed" : "op_added", line))));
    EXPECT_EQ(last.differences.front().line, fmt::format("planted_training_test.cpp:{}", line));
    EXPECT_THAT(std::string(last.remedy()), HasSubstr("remat()"));
  }
}

TEST_F(PlantedTraining, NamesTheOrderOfParametersThatAreUpdated) {
  const auto body = [&](bool again) {
    const std::vector<Tensor> grads =
        gradients(sum(layer(2, layer(1, layer(0, x)))), std::vector(weights));
    std::vector<std::size_t> order = {0, 1, 2};
    if (again) std::swap(order[0], order[2]);
    std::vector<Tensor> next;
    line = __LINE__ + 1;
    for (const std::size_t i : order) next.push_back(weights[i] - grads[i]);
    return next;
  };
  const auto causes = told(body);
  EXPECT_THAT(causes,
              ElementsAre(fmt::format("op_order subtract f32[8,8] planted_training_test.cpp:{} and "
                                      "1 more were recorded in another place",
                                      line)));
}

TEST_F(PlantedTraining, NamesTheEndOfARematScope) {
  const Tensor batch = input({DType::kF32, Shape{2, 8}}, "batch.x");
  const auto body = [&](bool recomputed) {
    std::optional<RematScope> scope;
    if (recomputed) scope.emplace(context);
    const Tensor y = layer(0, tanh(batch * x));
    const int end = __LINE__ + 1;
    if (recomputed) scope->finish(y);
    std::vector<Tensor> next = train(layer(1, y));
    line = end;
    return next;
  };
  const auto causes = told(body);
  EXPECT_THAT(
      causes,
      ElementsAre(HasSubstr(fmt::format("remat f32[2,8] planted_training_test.cpp:{} ", line))));
}

TEST_F(PlantedTraining, NamesAStoppedGradientByThatName) {
  const auto body = [&](bool again) {
    const Tensor y = layer(0, x);
    return train(layer(1, again ? stop_gradient(y) : y));
  };
  EXPECT_THAT(told(body), ElementsAre(HasSubstr("op_added stop_gradient f32[2,8] ")));
}

TEST_F(PlantedTraining, NamesAConversionAndNotThatBack) {
  const auto body = [&](bool again) {
    Tensor y = layer(0, x);
    const int here = __LINE__ + 1;
    if (again) y = convert(y, DType::kBF16);
    y = tanh(y) * 2.0;
    y = layer(1, convert(y, DType::kF32));
    line = here;
    return train(y);
  };
  const std::vector<std::string> causes = told(body);
  EXPECT_THAT(causes, ElementsAre(HasSubstr(fmt::format(
                          "op_added convert bf16[2,8] planted_training_test.cpp:{}", line))));
}

TEST_F(PlantedTraining, NamesTheOpAndNotTheShapesOfItsGradient) {
  const Tensor image = input({DType::kF32, Shape{2, 4, 6}}, "image", InputKind::kParameter);
  const auto body = [&](bool again) {
    const Tensor y = layer(0, x);
    line = __LINE__ + 1;
    const Tensor m = mean(image * sum(y), {2}, again);
    return train(y * sum(m));
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(testing::AllOf(HasSubstr("op_added reshape"),
                                                 HasSubstr(fmt::format("test.cpp:{}", line)))));
}

TEST_F(PlantedTraining, NamesModulesThatChangedPlacesAndNothingOfTheirGradients) {
  const auto body = [&](bool again) {
    const auto norm = [&](const Tensor& in) {
      const ModuleScope scope(context, "norm");
      return layer_norm(in, reduce_sum(weights[2], {0}), reduce_sum(weights[2], {1}));
    };
    return train(again ? layer(0, norm(x)) : norm(layer(0, x)));
  };
  EXPECT_THAT(told(body), testing::Each(testing::StartsWith("op_order ")));
}

TEST_F(PlantedTraining, NamesALoopOverPartsAndNotTheirSizes) {
  const auto body = [&](bool again) {
    const Tensor y = layer(0, x);
    const std::int64_t n = again ? 4 : 2;
    std::vector<Tensor> parts;
    line = __LINE__ + 2;
    for (std::int64_t i = 0; i < n; ++i)
      parts.push_back(tanh(slice_dim(y, 1, i * 8 / n, (i + 1) * 8 / n)));
    return train(concatenate(parts, 1));
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(testing::AllOf(HasSubstr("op_added "),
                                                 HasSubstr(fmt::format("test.cpp:{}", line)))));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("instead of a loop of another length"));
}

// Remedies that the reader can follow.

TEST_F(PlantedTraining, TellsToGiveATableAsAnInput) {
  const auto body = [&](bool again) {
    const std::vector<float> table(16, again ? 2.0F : 1.0F);
    return std::vector{x * context.constant(HostTensor::of(Shape{2, 8}, table))};
  };
  EXPECT_THAT(told(body), testing::SizeIs(1));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("tensor(value, name)"));
}

TEST_F(PlantedTraining, TellsHowToSliceElsewhereAndThatSizesAreStructure) {
  const auto sized = [&](std::int64_t start, std::int64_t limit) {
    return [this, start, limit] { return std::vector{sum(slice_dim(x, 1, start, limit))}; };
  };
  (void)told(sized(0, 4), sized(1, 5));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("dynamic_slice()"));
  history = {};
  (void)told(sized(0, 4), sized(0, 5));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("slice the largest size in every step"));
}

TEST_F(PlantedTraining, TellsToKeepTheVersionOfAFunction) {
  const auto body = [&](bool again) {
    const HostFunction same(
        "same", again ? 2 : 1,
        [](std::span<const HostTensor> in, std::span<HostTensor> out) { out[0] = in[0]; });
    return std::vector{host_call(same, {x}, x.type())};
  };
  EXPECT_THAT(told(body), ElementsAre(HasSubstr("version: 1 -> 2")));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("call one function of one version"));
}

TEST_F(PlantedTraining, NamesNothingWhereADropoutsProbabilityIsAScalar) {
  const RandomKey key{context.scalar(1, DType::kI64, "seed"),
                      context.scalar(2, DType::kI64, "step"),
                      context.scalar(3, DType::kI64, "micro_batch")};
  for (const double p : {0.1, 0.2, 0.0}) {
    const Tensor y = dropout(x, context.scalar(p, DType::kF32, "rate"), key);
    (void)cut();
  }
  EXPECT_EQ(history.structures(), 1U);
}

}  // namespace
}  // namespace lockstep

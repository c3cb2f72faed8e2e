// Two changes of which neither explains the other, and changes that look like two.
#include <cmath>

#include "core/trace/gradients.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

struct PlantedPairs : PlantedTest {
  Tensor side(const Shape& shape, std::string_view name) {
    return input({DType::kF32, shape}, name, InputKind::kState);
  }
  std::string here() const { return fmt::format("planted_pairs_test.cpp:{}", line); }

  /// The causes besides the batch, which grows from 12 to 18.
  std::vector<std::string> besides_size(const std::function<Tensor(const Tensor&, bool)>& body) {
    history = {};
    std::vector<std::string> causes = told([&](bool again) {
      const std::int64_t n = again ? 18 : 12;
      return std::vector{sum(body(input({DType::kF32, Shape{n, n}}, "batch.x"), again))};
    });
    EXPECT_EQ(last.cause(), Cause::kInputShape);
    std::erase_if(causes,
                  [](const std::string& cause) { return cause.starts_with("input_shape"); });
    return causes;
  }
};

TEST_F(PlantedPairs, NamesInputsThatTookEachOthersPlaces) {
  const auto exchanged = [&](const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
    history = {};
    return told([&](bool again) {
      const Tensor a = side({8, 4}, "student"), b = side({8, 4}, "teacher");
      const Tensor fixed = sum(exp(a)) + sum(tanh(b));
      return std::vector{fixed + sum(again ? f(b, a) : f(a, b))};
    });
  };
  const std::vector<std::string> kl = exchanged([&](const Tensor& p, const Tensor& q) {
    line = __LINE__ + 1;
    return softmax(p, 1) * (log_softmax(p, 1) - log_softmax(q, 1));
  });
  EXPECT_THAT(kl,
              ElementsAre(AllOf(StartsWith("inputs "), HasSubstr("student"), HasSubstr("teacher"),
                                HasSubstr("each other's places"), HasSubstr(here()))));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("select() with a scalar()"));
  EXPECT_THAT(exchanged([](const Tensor& p, const Tensor& q) { return sin(p) + cos(q); }),
              ElementsAre(HasSubstr("each other's places")));
}

TEST_F(PlantedPairs, NamesBesideAModeWhatWasRecordedOutsideOfIt) {
  int scope = 0;
  const auto besides_mode = [&](const std::function<Tensor(bool)>& outside) {
    history = {};
    return told([&](bool again) {
      const Tensor x = side({8, 6}, "x"), w = side({6, 6}, "w");
      Tensor h;
      {
        scope = __LINE__ + 1;
        const ModeScope mode(context, {.compute_dtype = again ? DType::kBF16 : DType::kF32});
        h = convert(
            sum(linear(to_compute_dtype(x), convert(w, mode_of(x).compute_dtype), nullptr, true)),
            DType::kF32);
      }
      return std::vector{h + outside(again)};
    });
  };
  const auto mode = [&] {
    return fmt::format(
        "mode the mode set at planted_pairs_test.cpp:{}: evaluation, f32 -> evaluation, bf16",
        scope);
  };
  auto causes = besides_mode([&](bool again) { return sum(side({4}, "s")) * (again ? 0.7 : 0.3); });
  EXPECT_THAT(causes, ElementsAre(mode(), HasSubstr("0.3 -> 0.7")));
  causes =
      besides_mode([&](bool again) { return sum(again ? sin(side({4}, "s")) : side({4}, "s")); });
  EXPECT_THAT(causes, ElementsAre(mode(), StartsWith("op_added sin")));
  causes = besides_mode([&](bool again) {
    return sum(exp(slice_dim(side({12}, "s"), 0, again ? 4 : 0, again ? 8 : 4)));
  });
  EXPECT_THAT(causes, ElementsAre(mode(), HasSubstr("start: [0] -> [4]")));
  EXPECT_THAT(last.remedies(), testing::SizeIs(2));
}

TEST_F(PlantedPairs, NamesANumberBesideTheDTypeOfItsOp) {
  const std::vector<std::string> causes = told([&](bool again) {
    const DType dtype = again ? DType::kBF16 : DType::kF32;
    const Tensor x = input({dtype, Shape{8}}, "batch.x");
    return std::vector{exp(x * 0.1) * (again ? 0.75 : 0.25)};
  });
  EXPECT_THAT(causes, ElementsAre("input_dtype batch.x: f32 -> bf16", HasSubstr("0.25 -> 0.75")));
}

TEST_F(PlantedPairs, NamesBesideASizeWhatNoSizeGives) {
  EXPECT_THAT(besides_size([](const Tensor& x, bool again) { return softmax(x, again ? 0 : 1); }),
              ElementsAre(HasSubstr("dims: [1] -> [0]")));
  EXPECT_THAT(besides_size([](const Tensor& x, bool again) {
                const int from = again ? 2 : 0;
                return exp(slice_dim(exp(x), 1, from, from + 4));
              }),
              ElementsAre(HasSubstr("start: [0,0] -> [0,2]")));
  EXPECT_THAT(besides_size([](const Tensor& x, bool again) {
                PoolSpec spec;
                if (again) spec.window = spec.stride = {3, 3};
                return max_pool(reshape(x, {1, 1, x.size(0), x.size(1)}), spec);
              }),
              UnorderedElementsAre(HasSubstr("stride: [2,2] -> [3,3]"), HasSubstr("window")));
  EXPECT_THAT(besides_size([](const Tensor& x, bool again) {
                AttentionSpec spec;
                spec.causal = again;
                const Tensor q = reshape(x, {1, x.size(0), 1, x.size(1)});
                return attention(q, q, q, spec);
              }),
              testing::Contains(HasSubstr("causal: false -> true")));
  EXPECT_THAT(besides_size([](const Tensor& x, bool again) { return x * (again ? 0.7 : 0.3); }),
              ElementsAre(HasSubstr("0.3 -> 0.7")));
}

TEST_F(PlantedPairs, NamesNothingThatASizeGives) {
  const auto n = [](const Tensor& x) { return static_cast<double>(x.size(0)); };
  EXPECT_THAT(besides_size([&](const Tensor& x, bool) {  // an unbiased variance
                return reduce_sum(x * x, {0}) * (n(x) / (n(x) - 1));
              }),
              testing::IsEmpty());
  EXPECT_THAT(last.text(), Not(HasSubstr("may follow")));
  EXPECT_THAT(besides_size([&](const Tensor& x, bool) { return x * (1 / std::sqrt(n(x))); }),
              testing::IsEmpty());
  EXPECT_THAT(besides_size([](const Tensor& x, bool) {
                return exp(slice_dim(x, 0, x.size(0) - 3, x.size(0)));
              }),
              testing::IsEmpty());
  EXPECT_THAT(besides_size([](const Tensor& x, bool) {  // the row in the middle, as a pilot value
                const std::int64_t middle = x.size(0) / 2;
                return exp(slice_dim(x, 0, middle, middle + 1));
              }),
              testing::IsEmpty());
}

TEST_F(PlantedPairs, TakesTheTurnsOfARecurrentCellForAConsequenceOfTheLength) {
  const std::vector<std::string> causes = told([&](bool again) {
    const std::int64_t length = again ? 7 : 5;
    const Tensor x = input({DType::kF32, Shape{4, {length, "time"}, 3}}, "signal");
    const Tensor w = side({3, 8}, "xh"), u = side({8, 8}, "hh");
    const auto layer = [&](const char* name, const Tensor& v, const Tensor& weight) {
      const ModuleScope scope(context, name);
      return linear(v, weight, nullptr, false);
    };
    Tensor h;
    for (std::int64_t t = 0; t < length; ++t) {
      const Tensor xt = reshape(slice_dim(x, 1, t, t + 1), {4, 3});
      h = t == 0 ? tanh(layer("xh", xt, w)) : tanh(layer("xh", xt, w) + layer("hh", h, u));
    }
    return std::vector{sum(h)};
  });
  EXPECT_THAT(causes, ElementsAre("input_shape signal[time]: 5 -> 7"));
}

TEST_F(PlantedPairs, TakesWhatABiasIsRepeatedToForAConsequenceOfARank) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor x = side(again ? Shape{8, 1, 6} : Shape{8, 6}, "features");
    const Tensor w = side({6, 4}, "w"), b = side({4}, "b");
    return std::vector{sum(tanh(linear(x, w, &b, false)))};
  });
  EXPECT_THAT(causes, ElementsAre("input_shape features: [8,6] -> [8,1,6]"));
}

TEST_F(PlantedPairs, NamesTheConstantThatTookTheRoleOfAnInputAndBack) {
  for (const bool first : {false, true}) {
    history = {};
    const auto body = [&](bool constant) {
      Tensor w = side({3}, "class_weights");
      line = __LINE__ + 1;
      if (constant) w = context.constant(HostTensor::of(Shape{3}, std::vector<float>{1, 2, 4}));
      return std::vector{sum(exp(side({8, 3}, "x") * w))};
    };
    const auto causes = told([&] { return body(first); }, [&] { return body(!first); });
    EXPECT_THAT(causes,
                ElementsAre(AllOf(StartsWith("inputs class_weights f32[3]"),
                                  HasSubstr("constant f32[3] " + here()), HasSubstr("[1,2,4]"))));
    EXPECT_THAT(std::string(last.remedy()), HasSubstr("as a tensor(value, name)"));
  }
}

TEST_F(PlantedPairs, NamesNoOutputThatOtherOpsCompute) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor x = side({again ? 16 : 8, 6}, "x");
    Tensor out;
    if (again) {
      out = sum(tanh(x) * 3.0);
    } else {
      out = sum(exp(x * 0.1));
    }
    return std::vector{out};
  });
  EXPECT_THAT(causes, testing::Each(Not(StartsWith("output_set"))));
  EXPECT_THAT(causes, testing::Contains(StartsWith("op_added tanh")));
}

TEST_F(PlantedPairs, NamesOpsThatChangedPlaces) {
  const std::vector<std::string> causes = told([&](bool again) {
    Tensor x = side({8, 6}, "x");
    if (again) {
      line = __LINE__ + 1;
      x = exp(x);
      x = tanh(x);
    } else {
      x = tanh(x);
      x = exp(x);
    }
    return std::vector{sum(x)};
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("op_order ops changed places: tanh"),
                                        HasSubstr(" -> exp f32[8,6] " + here()))));
}

TEST_F(PlantedPairs, NamesAWindowBesideAnotherFunctionOfIt) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor x = tanh(side({8, 14, 6}, "x"));
    line = __LINE__ + 1;
    const Tensor some = slice(x, {0, 0, 0}, {8, again ? 10 : 14, 5}, {1, 1, 1});
    const Tensor h = linear(some, side({5, 22}, "w"), nullptr, false);
    return std::vector{sum(again ? h * sigmoid(h) : gelu(h))};
  });
  EXPECT_THAT(causes, testing::Contains(AllOf(StartsWith("attribute slice"), HasSubstr(here()),
                                              HasSubstr("limit: [8,14,5] -> [8,10,5]"))));
  EXPECT_THAT(causes, testing::SizeIs(3));
}

TEST_F(PlantedPairs, NamesParametersThatAreTrainedBesideANumber) {
  const std::vector<std::string> causes = told([&](bool again) {
    std::vector<Tensor> all{side({16, 4}, "head"), side({6, 16}, "body")};
    const Tensor loss = sum(tanh(matmul(tanh(matmul(side({8, 6}, "x"), all[1])), all[0])));
    if (!again) all.pop_back();
    const std::vector<Tensor> g = gradients(loss, all);
    line = __LINE__ + 2;
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].assign(all[i] - g[i] * (again ? 0.03 : 0.1));
    all.push_back(loss);
    return all;
  });
  EXPECT_THAT(causes,
              UnorderedElementsAre(AllOf(HasSubstr(here()), testing::EndsWith("0.1 -> 0.03")),
                                   AllOf(StartsWith("op_added"), HasSubstr(here()))));
}

TEST_F(PlantedPairs, NamesAnAxisAndNoNumberThatTwoCallsShareWithIt) {
  const auto norm = [&](const Tensor& x, int axis) {
    return x * rsqrt(reduce_sum(x * x, {axis}, true) + 1e-3);
  };
  const std::vector<std::string> causes = told([&](bool again) {
    return std::vector{sum(norm(tanh(norm(side({8, 6, 15}, "x"), 2)), again ? 2 : 1))};
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("attribute reduce_sum"),
                                        testing::EndsWith("dims: [1] -> [2]"))));
}

TEST_F(PlantedPairs, NamesWhereALoopCutsTheGradientAndNoTripOfIt) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor x = side({8, 6, 5}, "x"), w = side({5, 11}, "w"), u = side({11, 11}, "u");
    Tensor h = tanh(side({8, 11}, "start"));
    Tensor total = sum(h);
    for (int t = 0; t < 6; ++t) {
      line = __LINE__ + 1;
      if (t == (again ? 3 : 2)) h = stop_gradient(h);
      const Tensor frame = reshape(slice(x, {0, t, 0}, {8, t + 1, 5}, {1, 1, 1}), Shape{8, 5});
      h = tanh(matmul(frame, w) + matmul(h, u));
      total = total + sum(h * h);
    }
    std::vector<Tensor> out = gradients(total, std::vector{w, u});
    out.push_back(total);
    return out;
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(HasSubstr("stop_gradient"), HasSubstr(here()))));
}

TEST_F(PlantedPairs, NamesOneOrderOfTargetsOfGradients) {
  const std::vector<std::string> causes = told([&](bool again) {
    std::vector<Tensor> all{side({6, 16}, "w"), side({16, 4}, "v")};
    const Tensor loss = sum(tanh(matmul(tanh(matmul(side({8, 6}, "x"), all[0])), all[1])));
    if (again) std::swap(all[0], all[1]);
    const std::vector<Tensor> g = gradients(loss, all);
    std::vector<Tensor> out{loss};
    for (std::size_t i = 0; i < all.size(); ++i) out.push_back(all[i] - g[i] * 0.01);
    return out;
  });
  EXPECT_THAT(causes, ElementsAre(StartsWith("op_order")));
}

}  // namespace
}  // namespace lockstep

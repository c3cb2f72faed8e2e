// Programs in which ops came where others went: what both have of one kind are no pairs, unless
// what is around them is the same.
#include "core/trace/gradients.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

using testing::StartsWith;
using testing::UnorderedElementsAre;

struct PlantedFormulas : PlantedTest {
  Tensor side(const Shape& shape, std::string_view name) {
    return input({DType::kF32, shape}, name, InputKind::kState);
  }

  /// The causes where `body` is recorded between layers whose weights get gradients.
  std::vector<std::string> within_layers(const std::function<Tensor(const Tensor&, bool)>& body) {
    history = {};
    return told([&](bool again) {
      const std::vector<Tensor> weights{side({6, 5}, "w"), side({5, 4}, "v")};
      const Tensor x = tanh(sin(matmul(cos(exp(side({8, 6}, "x"))), weights[0])));
      const Tensor h = body(x, again);
      const Tensor loss = sum(exp(matmul(cos(sin(tanh(h))), weights[1])));
      std::vector<Tensor> out = gradients(loss, weights);
      out.push_back(loss);
      return out;
    });
  }
};

TEST_F(PlantedFormulas, NamesAnotherFunctionAndNoNumberOfBoth) {
  const auto on_two_lines = within_layers([](const Tensor& h, bool again) {
    if (again) return gelu(h);
    return gelu_tanh(h);
  });
  EXPECT_THAT(on_two_lines, UnorderedElementsAre(StartsWith("op_added"), StartsWith("op_removed")));
  const auto on_one =
      within_layers([](const Tensor& h, bool again) { return again ? gelu_tanh(h) : gelu(h); });
  EXPECT_THAT(on_one, UnorderedElementsAre(StartsWith("op_added"), StartsWith("op_removed")));
  const auto with_a_factor = within_layers(
      [](const Tensor& h, bool again) { return again ? h * sigmoid(h * 1.702) : gelu(h); });
  EXPECT_THAT(with_a_factor,
              UnorderedElementsAre(StartsWith("op_added"), StartsWith("op_removed")));
}

TEST_F(PlantedFormulas, NamesANumberWhoseLineHasOneOpMore) {
  const auto after_it =
      within_layers([](const Tensor& h, bool again) { return again ? tanh(h * 0.3) : h * 0.5; });
  EXPECT_THAT(after_it,
              UnorderedElementsAre(testing::EndsWith("0.5 -> 0.3"), StartsWith("op_added tanh")));
  const auto before_it =
      within_layers([](const Tensor& h, bool again) { return again ? h * 0.5 : tanh(h) * 0.3; });
  EXPECT_THAT(before_it,
              UnorderedElementsAre(testing::EndsWith("0.3 -> 0.5"), StartsWith("op_removed tanh")));
}

TEST_F(PlantedFormulas, NamesTheNumberOfAnOpAndNotThatOfOneThatIsGone) {
  const auto causes = within_layers(
      [](const Tensor& h, bool again) { return again ? h * 0.75 : h * 0.25 + exp(h) * 0.125; });
  EXPECT_THAT(causes, UnorderedElementsAre(testing::EndsWith("0.25 -> 0.75"),
                                           StartsWith("op_removed exp")));
}

TEST_F(PlantedFormulas, NamesNoAttributeOfAnotherFunction) {
  const auto causes = within_layers([](const Tensor& h, bool again) {
    if (again) return h * sigmoid(reduce_sum(h, {1}, true));
    return h + exp(reduce_sum(h, {0}, true));
  });
  EXPECT_THAT(causes, UnorderedElementsAre(StartsWith("op_added"), StartsWith("op_removed")));
}

TEST_F(PlantedFormulas, NamesNoSizesOfTwoInputsThatOtherOpsTake) {
  const auto causes = told([&](bool again) {
    const Tensor x = side({8, 6}, "x");
    Tensor loss = sum(exp(x)) + sum(tanh(x));
    if (again) {
      loss = loss + sum(sin(side({5, 3}, "")));
    } else {
      loss = loss * sum(cos(side({7, 3}, "")));
    }
    return std::vector{sum(side({4}, "") * loss)};
  });
  EXPECT_THAT(causes,
              UnorderedElementsAre(StartsWith("op_added sin"), StartsWith("op_removed cos")));
}

TEST_F(PlantedFormulas, NamesAValueThatIsKeptBesideANumber) {
  const auto causes = told([&](bool again) {
    std::vector<Tensor> out{sum(exp(side({8, 6}, "x") * (again ? 0.2 : 0.1)))};
    if (again) out.push_back(context.filled(0.0, {DType::kF32, Shape{3}}));
    return out;
  });
  EXPECT_THAT(causes, UnorderedElementsAre(testing::EndsWith("0.1 -> 0.2"),
                                           StartsWith("op_added constant f32[]")));
}

TEST_F(PlantedFormulas, NamesTheNumberOfAValueThatIsKeptBesideAnother) {
  const auto causes = told([&](bool again) {
    return std::vector{sum(exp(side({8, 6}, "x") * (again ? 0.2 : 0.1))),
                       context.filled(again ? 3.0 : 2.0, {DType::kF32, Shape{3}})};
  });
  EXPECT_THAT(causes,
              UnorderedElementsAre(testing::EndsWith("0.1 -> 0.2"), testing::EndsWith("2 -> 3")));
}

TEST_F(PlantedFormulas, NamesNoAxisOfPositionsThatOtherOpsTake) {
  const auto causes = told([&](bool again) {
    const Tensor x = exp(tanh(side({8, 8}, "x")));
    Tensor h = x * 2.0;
    if (again) {
      const Tensor column = iota(context, Shape{8, 8}, 1, DType::kF32);
      h = h + sin(column);
    } else {
      const Tensor row = iota(context, Shape{8, 8}, 0, DType::kF32);
      h = h * cos(row);
    }
    return std::vector{sum(exp(h))};
  });
  EXPECT_THAT(causes,
              UnorderedElementsAre(StartsWith("op_added sin"), StartsWith("op_removed cos")));
}

TEST_F(PlantedFormulas, NamesTheDtypeThatAProductHasOfItsOwn) {
  const auto causes = told([&](bool again) {
    const DotSpec own{.lhs_contract = {1}, .rhs_contract = {0}};
    DotSpec wide = own;
    wide.to = DType::kF32;
    const Tensor x = input({DType::kBF16, Shape{8, 6}}, "x");
    const Tensor w = input({DType::kBF16, Shape{6, 4}}, "w");
    return std::vector{convert(dot_general(x, w, again ? wide : own), DType::kF32)};
  });
  EXPECT_THAT(causes, testing::Contains(testing::EndsWith("to: bf16 -> f32")));
}

TEST_F(PlantedFormulas, NamesNoNumberOfTripsThatALoopMakesMoreOrLess) {
  for (const auto& [before, after, kind] : {std::tuple(2, 3, "op_added multiply"),
                                            {2, 4, "op_added multiply"},
                                            {3, 2, "op_removed multiply"}}) {
    history = {};
    const auto causes = told([&](bool again) {
      const Tensor x = side({8, 6}, "x") * (again ? 0.08 : 0.05);
      std::vector<Tensor> views;
      for (int view = 0; view < (again ? after : before); ++view)
        views.push_back(sin(x * (1.5 + view)));
      return std::vector{sum(tanh(concatenate(views, 0)))};
    });
    EXPECT_THAT(causes, UnorderedElementsAre(testing::EndsWith("0.05 -> 0.08"), StartsWith(kind)));
  }
}

TEST_F(PlantedFormulas, NamesNoSumOverRanksForThatOfAnotherLine) {
  const auto causes = told([&](bool again) {
    const Tensor x = side({8, 6}, "x");
    std::vector<Tensor> out{sum(exp(x))};
    if (again) {
      const Tensor norm = sum(tanh(x));
      out.push_back(norm / convert(all_reduce(context.constant(11.0, DType::kI64)), DType::kF32));
    } else {
      const Tensor count = convert(all_reduce(context.constant(1.0, DType::kI64)), DType::kF32);
      out.push_back(side({6}, "center") * 0.9 + mean(sin(x), {0}) / count);
    }
    return out;
  });
  EXPECT_THAT(causes, testing::Not(testing::Contains(StartsWith("constant"))));
  EXPECT_THAT(causes, testing::Contains(StartsWith("op_added tanh")));
}

}  // namespace
}  // namespace lockstep

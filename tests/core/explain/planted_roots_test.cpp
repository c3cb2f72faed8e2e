// Programs in which one change alters much: no consequence is called a root, and the root is named
// even where only a consequence shows it.
#include <map>

#include "core/trace/gradients.h"
#include "core/trace/remat.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

struct PlantedRoots : PlantedTest {
  Tensor parameter(const Shape& shape, std::string_view name) {
    return input({DType::kF32, shape}, name, InputKind::kParameter);
  }
  std::string here() const { return fmt::format("planted_roots_test.cpp:{}", line); }
};

TEST_F(PlantedRoots, TakesWhatAnIfOnADTypeAddsForAConsequence) {
  const std::vector<std::string> causes = told([&](bool again) {
    Tensor x = input({again ? DType::kU8 : DType::kF32, {8, 4}}, "batch.image");
    if (x.dtype() != DType::kF32) x = convert(x, DType::kF32) / 255.0;
    return std::vector{sum(tanh(x))};
  });
  EXPECT_THAT(causes, ElementsAre("input_dtype batch.image: f32 -> u8"));
}

TEST_F(PlantedRoots, NamesAParameterThatIsTiedNoMoreAndNotItsUpdate) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor wte = parameter({20, 8}, "wte"), w = parameter({8, 8}, "w");
    const Tensor x = tanh(matmul(gather(wte, input({DType::kI32, {4}}, "ids"), 0), w));
    std::vector<Tensor> all{w, wte};
    if (again) all.insert(all.begin(), parameter({20, 8}, "lm_head"));
    const Tensor loss = sum(tanh(linear(x, again ? all[0] : wte, nullptr, true)));
    const Tensor rate = context.scalar(0.1, DType::kF32, "rate");
    const std::vector<Tensor> g = gradients(loss, all);
    std::vector<Tensor> out{loss};
    for (std::size_t i = 0; i < all.size(); ++i) out.push_back(all[i] - g[i] * rate);
    return out;
  });
  EXPECT_THAT(causes,
              ElementsAre(StartsWith("inputs lm_head f32[20,8] is a new input of dot_general")));
}

TEST_F(PlantedRoots, NamesTheLineOfANumberThatBecomesEqualToAnEarlierOne) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor g = input({DType::kF32, {8}}, "g"), w = parameter({8}, "w");
    const Tensor decayed = g + w * 0.01;
    line = __LINE__ + 1;
    return std::vector{w - decayed * (again ? 0.01 : 0.1)};
  });
  EXPECT_THAT(causes, ElementsAre(fmt::format("constant constant f32[] {}: 0.1 -> 0.01", here())));
}

TEST_F(PlantedRoots, NamesTheUpdateThatIsGoneAndNotGradientsThatNothingTakes) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor w = parameter({6, 16}, "fc1.weight"), b = parameter({16}, "fc1.bias");
    const Tensor v = parameter({16, 16}, "fc2.weight"), c = parameter({16}, "fc2.bias");
    const auto dense = [&](const Tensor& x, const Tensor& m, const Tensor& bias) {
      return linear(x, m, &bias, false);
    };
    const Tensor x = input({DType::kF32, {8, 6}}, "batch.x");
    const Tensor loss = sum(dense(relu(dense(x, w, b)), v, c));
    std::vector<Tensor> all{v, c};
    if (!again) all = {w, b, v, c};
    const std::vector<Tensor> g = gradients(loss, all);
    std::vector<Tensor> out{loss};
    line = __LINE__ + 1;
    for (std::size_t i = 0; i < all.size(); ++i) out.push_back(all[i] - g[i] * 0.1);
    return out;
  });
  EXPECT_THAT(causes, ElementsAre(testing::AllOf(HasSubstr("op_removed"), HasSubstr(here()))));
}

TEST_F(PlantedRoots, NamesARematAndNotThoseOfFunctionsWithinIt) {
  for (const bool off : {false, true}) {
    struct : PlantedRoots {
      void TestBody() override {}
    } each;
    const std::vector<std::string> causes = each.told([&](bool again) {
      Tensor x = each.input({DType::kF32, {4, 6}}, "batch.x");
      const Tensor w = each.parameter({6, 6}, "w"), v = each.parameter({6}, "v");
      for (int i = 0; i < 2; ++i) {
        const ModuleScope scope(each.context, fmt::format("h.{}", i));
        const auto f = [&](const Tensor& in) { return in + gelu(matmul(layer_norm(in, v, v), w)); };
        if (i == 1 && again != off) {
          line = __LINE__ + 1;
          x = remat(f, x);
        } else {
          x = f(x);
        }
      }
      return gradients(sum(x * x), std::vector{w, v});
    });
    EXPECT_THAT(causes, ElementsAre(StartsWith(fmt::format(
                            "{} remat f32[4,6] {}", off ? "op_removed" : "op_added", here()))));
  }
}

TEST_F(PlantedRoots, NamesANumberThatNoSizeGives) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor x = input({DType::kF32, Shape{{again ? 5 : 8, "batch"}, {6}}}, "batch.x");
    return std::vector{parameter({6}, "w") - reduce_sum(x, {0}) * (again ? 0.05 : 0.1)};
  });
  EXPECT_THAT(causes, SizeIs(2)) << last.text();
  EXPECT_THAT(last.remedies(), SizeIs(2));
}

TEST_F(PlantedRoots, DoesNotNameANumberThatCountsPairsOfSamples) {
  const std::vector<std::string> causes = told([&](bool again) {
    const std::int64_t n = again ? 5 : 8;
    const Tensor x = input({DType::kF32, Shape{{n, "batch"}, {6}}}, "batch.x");
    return std::vector{sum(exp(x)) * (1.0 / static_cast<double>(n * (n - 1)))};
  });
  EXPECT_THAT(causes, SizeIs(1)) << last.text();
}

TEST_F(PlantedRoots, NamesAReadThatMoved) {
  const auto body = [&](bool again) {
    const Tensor w = parameter({6, 16}, "w"), v = parameter({16, 4}, "v");
    const Tensor h = tanh(matmul(input({DType::kF32, {8, 6}}, "batch.x"), w));
    if (!again) cut({"value read", "main.cpp:10", true});
    const Tensor out = matmul(tanh(h), v);
    if (again) cut({"value read", "main.cpp:20", true});
    const std::vector<Tensor> held{sum(out * out)};
    last = cut();
  };
  body(false);
  body(true);
  EXPECT_THAT(causes_of(last),
              ElementsAre("value_read the read at main.cpp:20 cut the step, in place of the read "
                          "at main.cpp:10; this is what came after it"));
}

TEST_F(PlantedRoots, NamesAReadOfWhatTheStepDoesWithout) {
  const auto body = [&](bool again) {
    const Tensor w = parameter({6, 16}, "w"), v = parameter({16, 4}, "v");
    const auto net = [&](const Tensor& x) { return matmul(tanh(matmul(x, w)), v); };
    const Tensor probe = sum(net(input({DType::kF32, {4, 6}}, "probe", InputKind::kState)));
    if (again) cut({"value read", "main.cpp:10", true});
    const std::vector<Tensor> held{sum(net(input({DType::kF32, {8, 6}}, "batch.x")))};
    last = cut();
  };
  body(false);
  body(true);
  EXPECT_THAT(causes_of(last), ElementsAre(HasSubstr("value_read the read at main.cpp:10")));
}

TEST_F(PlantedRoots, TakesNoReadForTheCauseInALoopThatReadsEachResult) {
  Tensor cache = input({DType::kF32, {1, 4}}, "", InputKind::kState);
  std::vector<std::string> causes;
  begin = {"step end", "main.cpp:5", false};
  for (int i = 0; i < 3; ++i) {
    cache = concatenate(std::vector{cache, input({DType::kF32, {1, 4}}, "row")}, 0);
    const Tensor read = sum(cache);
    const Explanation why = cut({"value read", "main.cpp:10", true});
    causes.insert(causes.end(), std::string(name_of(why.cause())));
  }
  EXPECT_THAT(causes, ElementsAre("first_compile", "input_shape", "input_shape"));
}

TEST_F(PlantedRoots, IsNotNeededForWhatIsRecordedAndThrownAway) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor logits =
        matmul(input({DType::kF32, {8, 6}}, "batch.x"), parameter({6, 5}, "w")) * 2.0;
    const Tensor y = input({DType::kI32, {8}}, "batch.y");
    if (again) {
      const Tensor correct = sum(convert(equal(y, 3.0), DType::kF32)) + sum(logits * 0.5);
    }
    return std::vector{sum(cross_entropy(logits * 0.5, y))};
  });
  EXPECT_EQ(structures.at(0), structures.at(1));
}

TEST_F(PlantedRoots, SaysToMakeStateBeforeTheFirstStep) {
  std::map<std::string, Tensor> state;
  told([&](bool) {
    const auto kept = [&](const std::string& name, auto make) {
      return state.contains(name) ? state[name] : state[name] = make();
    };
    Tensor w = kept("w", [&] { return parameter({6}, "w"); });
    const Tensor loss = sum(tanh(w * input({DType::kF32, {6}}, "batch.x")));
    Tensor m = kept("m", [&] { return input({DType::kF32, {6}}, "m", InputKind::kState); });
    m.assign(m * 0.9 + w);
    w.assign(w - m);
    return std::vector{loss};
  });
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("before the first step"));
}

TEST_F(PlantedRoots, NamesWhatIsMadeOfGradientsWithinALoss) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor w = parameter({6, 16}, "w"), v = parameter({16, 4}, "v");
    const Tensor x = input({DType::kF32, {8, 6}}, "batch.x");
    const Tensor h = tanh(matmul(x, w));
    Tensor loss = sum(matmul(h, v));
    if (again) {
      const Tensor g = gradients(sum(h), std::vector{x})[0];
      line = __LINE__ + 1;
      const Tensor penalty = reduce_sum(g * g, {0, 1});
      loss = loss + penalty * 0.1;
    }
    const std::vector<Tensor> all{w, v};
    const std::vector<Tensor> g = gradients(loss, all);
    return std::vector{loss, w - g[0] * 0.3, v - g[1] * 0.3};
  });
  EXPECT_THAT(causes, ElementsAre(testing::AllOf(HasSubstr("op_added"), HasSubstr(here()))));
}

TEST_F(PlantedRoots, TellsFromTheProgramWithTheFewestCauses) {
  const auto body = [&](bool swapped, std::int64_t length) {
    const Tensor x = input({DType::kF32, Shape{{length, "length"}, {6}}}, "batch.x");
    const Tensor a = tanh(x), b = exp(x);
    const std::vector<Tensor> held{sum(swapped ? b * a + sqrt(b) : a * b)};
    last = cut();
  };
  body(false, 7);
  body(false, 9);
  body(true, 7);
  EXPECT_EQ(last.relative, 1);
  for (const std::string& cause : causes_of(last))
    EXPECT_THAT(cause, Not(HasSubstr("input_shape")));
}

TEST_F(PlantedRoots, TellsNumbersFromAProgramThatHasTheOpsThatTakeThem) {
  const auto body = [&](bool on, double a) {
    const Tensor x = input({DType::kF32, {8, 6}}, "batch.x");
    Tensor y = x * x;
    for (int i = 0; i < 40; ++i) y = tanh(y) * y;
    if (on) y = y + abs(x) * a + tanh(x) * (2 * a);
    const std::vector<Tensor> held{sum(y)};
    last = cut();
  };
  body(false, 0);
  body(true, 0.25);
  EXPECT_EQ(last.cause(), Cause::kOpAdded);
  body(true, 0.375);
  EXPECT_EQ(last.relative, 2);
  EXPECT_THAT(causes_of(last), testing::UnorderedElementsAre(testing::EndsWith(": 0.25 -> 0.375"),
                                                             testing::EndsWith(": 0.5 -> 0.75")));
}

TEST_F(PlantedRoots, NamesOperandsThatWereSwappedWhereTheyAreInputs) {
  const auto swapped = [&](const Shape& other, auto f) {
    history = {};
    return told([&](bool again) {
      const Tensor x = input({DType::kF32, {8, 8}}, "batch.x");
      const Tensor y = input({DType::kF32, other}, "other", InputKind::kState);
      return std::vector{sum(tanh(again ? f(y, x) : f(x, y)))};
    });
  };
  const auto join = [&](const Tensor& a, const Tensor& b) {
    line = __LINE__ + 1;
    return concatenate(std::vector{a, b}, 1);
  };
  for (const std::int64_t width : {8, 4}) {
    const std::vector<std::string> causes = swapped({8, width}, join);
    EXPECT_THAT(causes, ElementsAre(fmt::format(
                            "op_order concatenate f32[8,{}] {} takes its operands in another order",
                            8 + width, here())));
  }
  EXPECT_THAT(swapped({8, 8}, [](const Tensor& a, const Tensor& b) { return matmul(a, b); }),
              ElementsAre(StartsWith("op_order dot_general")));
  const Tensor flag = input({DType::kBool, {8, 8}}, "batch.flag");
  EXPECT_THAT(swapped({8, 8}, [&](const Tensor& a, const Tensor& b) { return select(flag, a, b); }),
              ElementsAre(StartsWith("op_order select")));
}

TEST_F(PlantedRoots, NamesAnInputOfAnotherTypeInPlaceOfAnother) {
  const std::vector<std::string> causes = told([&](bool again) {
    const Tensor table = parameter({again ? 20 : 10, 8}, again ? "task_b" : "task_a");
    return std::vector{sum(gather(table, input({DType::kI32, {4}}, "ids"), 0))};
  });
  EXPECT_THAT(causes, testing::Each(StartsWith("inputs task_"))) << last.text();
  EXPECT_THAT(last.text(), HasSubstr("task_b f32[20,8] is a new input of gather f32[4,8]"));
}

TEST_F(PlantedRoots, NamesTwoNumbersThatTradePlacesWhereAnExpressionHasBoth) {
  using Mix = std::function<Tensor(const Tensor&, const Tensor&, double)>;
  const auto traded = [&](const Mix& mix) {
    history = {};
    return told([&](bool again) {
      const Tensor x = input({DType::kF32, {8, 4}}, "batch.x"), w = parameter({8, 4}, "w");
      const Tensor loss = sum(tanh(mix(x, w, again ? 0.75 : 0.25)));
      return std::vector{loss, gradients(loss, std::vector{w})[0]};
    });
  };
  const auto both = testing::UnorderedElementsAre(testing::EndsWith(": 0.25 -> 0.75"),
                                                  testing::EndsWith(": 0.75 -> 0.25"));
  EXPECT_THAT(
      traded([](const Tensor& x, const Tensor& w, double r) { return x * r + w * (1 - r); }), both);
  EXPECT_EQ(last.remedy(), remedy_of(Cause::kConstant));
  EXPECT_THAT(traded([](const Tensor&, const Tensor& w, double r) {
                return w * r + stop_gradient(w * (1 - r));
              }),
              both);
}

TEST_F(PlantedRoots, TakesAReshapeToTheRankThatAnInputHadForAConsequence) {
  for (const bool first : {false, true}) {
    history = {};
    const auto body = [&](bool flat) {
      const Tensor y = matmul(input({DType::kF32, {8, 6}}, "batch.x"), parameter({6, 1}, "w"));
      const Tensor goal = input({DType::kF32, flat ? Shape{8} : Shape{8, 1}}, "goal");
      return std::vector{sum(tanh(y - reshape(goal, {8, 1})))};
    };
    EXPECT_THAT(told([&] { return body(first); }, [&] { return body(!first); }),
                ElementsAre(StartsWith("input_shape goal: [8")));
  }
}

TEST_F(PlantedRoots, DoesNotTellTwoModelsFromEachOther) {
  const auto net = [&](std::int64_t width, const char* place) {
    const Tensor w = parameter({8, width}, "in.weight"), v = parameter({width, 8}, "out.weight");
    Tensor x = input({DType::kF32, {8, 8}}, "batch.x");
    for (int i = 0; i < 8; ++i) x = tanh(matmul(matmul(x, w), v));
    const std::vector<Tensor> held{sum(x)};
    last = cut({"step end", place}, "training, f32");
  };
  net(16, "main.cpp:10");
  net(48, "main.cpp:20");
  EXPECT_THAT(causes_of(last), testing::IsEmpty());
}

}  // namespace
}  // namespace lockstep

// Ops that both programs recorded, and that an output needs in one of them only; what a mode, a
// dtype or remat() of a part of a step changes.
#include <optional>

#include "core/trace/gradients.h"
#include "core/trace/remat.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

struct PlantedRecorded : PlantedTest {
  Tensor x = input({DType::kF32, Shape{6, 4}}, "batch.x");
  Tensor parameter(const Shape& shape, std::string_view name) {
    return input({DType::kF32, shape}, name, InputKind::kParameter);
  }
  std::vector<Tensor> train(const Tensor& loss, const std::vector<Tensor>& parameters) {
    std::vector<Tensor> out = gradients(loss, parameters);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = parameters[i] - out[i];
    out.push_back(loss);
    return out;
  }
  std::string here() const { return fmt::format("planted_recorded_test.cpp:{}", line); }
};

TEST_F(PlantedRecorded, NamesTheTermThatIsGoneAndNotWhatItWasMadeOf) {
  for (const bool first : {false, true}) {
    history = {};
    const auto body = [&](bool with_entropy) {
      const Tensor w = parameter({4, 3}, "w");
      const Tensor scores = matmul(x, w);
      const Tensor p = softmax(scores, 1);
      Tensor loss = sum(tanh(scores));
      // Lines of one branch that are near to each other are one cause: this is far from the
      // softmax.
      //
      //
      //
      line = __LINE__ + 1;
      if (with_entropy) loss = loss + sum(p * log(p));
      return train(loss, {w});
    };
    const auto causes = told([&] { return body(first); }, [&] { return body(!first); });
    EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith(first ? "op_removed" : "op_added"),
                                          HasSubstr(here()))));
  }
}

TEST_F(PlantedRecorded, NamesTheRuleOfABufferAndNotWhatItTakes) {
  const auto causes = told([&](bool again) {
    const Tensor w = parameter({4}, "w");
    Tensor center = input({DType::kF32, Shape{4}}, "center", InputKind::kState);
    const Tensor ok = input({DType::kBool, Shape{}}, "ok", InputKind::kState);
    const Tensor mean_of_batch = all_reduce(mean(x, {0}));
    std::vector<Tensor> out = train(sum(x * w), {w});
    const ModuleScope update(context, "optimizer_step");
    const ModuleScope scope(context, "center");
    line = __LINE__ + 1;
    const Tensor next = center * 0.9 + mean_of_batch * 0.1;
    // What lockstep itself records for the rule is on a line far from it.
    //
    //
    //
    //
    const Tensor kept = select(broadcast_to(ok, Shape{4}), next, center);
    if (again) center.assign(kept);
    if (again) out.push_back(kept);
    return out;
  });
  EXPECT_THAT(causes,
              ElementsAre(HasSubstr(fmt::format("planted_recorded_test.cpp:{}", line + 6))));
}

TEST_F(PlantedRecorded, NamesWhichOfTwoResultsIsTaken) {
  const auto body = [&](bool again) {
    const Tensor w = parameter({4}, "w");
    const Tensor a = tanh(x * w), b = exp(x * w);
    const Tensor taken = again ? b : a;
    line = __LINE__ + 1;
    return train(sum(taken * 2.0), {w});
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("inputs operand 0 of multiply"),
                                        HasSubstr(here()), HasSubstr("tanh"), HasSubstr("exp"))));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("select() with a scalar()"));
}

TEST_F(PlantedRecorded, NamesAHandleOfWhatIsRecordedEachTimeBesideANewOp) {
  int held = 0;
  const auto causes = told([&](bool again) {
    held = __LINE__ + 1;
    const Tensor accuracy = mean(abs(x), {0});
    Tensor y = x;
    // Far from the line above.
    //
    //
    //
    //
    line = __LINE__ + 1;
    if (again) y = tanh(y);
    std::vector<Tensor> out{sum(y * 2.0)};
    if (again) out.push_back(accuracy);
    return out;
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("op_added tanh"), HasSubstr(here())),
                                  AllOf(StartsWith("output_set"),
                                        HasSubstr(fmt::format("_test.cpp:{} is now an", held)))));
}

TEST_F(PlantedRecorded, NamesALayerThatBeginsAndNotItsParameters) {
  const auto causes = told([&](bool again) {
    const Tensor w = parameter({4, 3}, "w"), teacher = parameter({4, 3}, "teacher.weight"),
                 bias = parameter({3}, "teacher.bias");
    Tensor loss = sum(matmul(x, w));
    if (again) {
      const ModuleScope scope(context, "teacher");
      line = __LINE__ + 1;
      loss = loss + sum(linear(x, teacher, &bias, false) * 0.5);
    }
    return train(loss, {w});
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("op_added"), HasSubstr(here()))));
}

TEST_F(PlantedRecorded, NamesAConversionByHandAndNotTheDtypesThatItGives) {
  for (const bool with_number : {false, true}) {
    history = {};
    const auto causes = told([&](bool again) {
      const Tensor w = parameter({4, 4}, "w");
      Tensor h = tanh(matmul(x, w));
      line = __LINE__ + 1;
      if (again) h = convert(h, DType::kBF16);
      const Tensor u = with_number ? relu(h) : tanh(h);
      Tensor out;
      {
        const ModuleScope scope(context, "m");
        out = relu(matmul(u, convert(w, u.dtype())));
      }
      return train(sum(convert(out, DType::kF32)), {w});
    });
    EXPECT_THAT(causes,
                ElementsAre(AllOf(StartsWith("op_added convert bf16[6,4]"), HasSubstr(here()))));
  }
}

TEST_F(PlantedRecorded, NamesTheSizesOfImagesAndNotTheNumberOfAnUnbiasedVariance) {
  const auto causes = told([&](bool again) {
    const std::int64_t height = again ? 26 : 20, width = again ? 18 : 14;
    const Tensor image = input({DType::kF32, Shape{8, height, width, 3}}, "batch.image");
    const Tensor h = image * 0.5;
    const Tensor m = mean(h, {0, 1, 2});
    const Tensor variance = mean(h * h, {0, 1, 2}) - m * m;
    const auto n = static_cast<double>(8 * height * width);
    return std::vector{sum(h), variance * (n / (n - 1))};
  });
  EXPECT_THAT(causes, ElementsAre(HasSubstr("[1]: 20 -> 26"), HasSubstr("[2]: 14 -> 18")));
}

TEST_F(PlantedRecorded, NamesTheCropOfImagesAndNotTheNumberOfAnUnbiasedVariance) {
  const Tensor image = input({DType::kF32, Shape{8, 24, 24, 3}}, "batch.image");
  const auto causes = told([&](bool again) {
    const std::int64_t width = again ? 24 : 18;
    line = __LINE__ + 1;
    const Tensor h = slice_dim(image, 2, 0, width) * 0.5;
    const Tensor m = mean(h, {0, 1, 2});
    const Tensor variance = mean(h * h, {0, 1, 2}) - m * m;
    const auto n = static_cast<double>(8 * 24 * width);
    return std::vector{sum(exp(h)), variance * (n / (n - 1))};
  });
  EXPECT_THAT(causes, ElementsAre(StartsWith(fmt::format("attribute slice {} limit", here()))));
}

TEST_F(PlantedRecorded, NamesARematBesideANumber) {
  int number = 0;
  for (const bool first : {false, true}) {
    history = {};
    const auto body = [&](bool again, bool recomputed) {
      const Tensor w = parameter({4, 4}, "w");
      number = __LINE__ + 1;
      const Tensor in = x * (again ? 0.25 : 0.5);
      const auto block = [&](const Tensor& h) { return h + tanh(matmul(h, w)); };
      const int call = __LINE__ + 1;
      const Tensor out = recomputed ? remat(block, in) : block(in);
      line = call;
      return train(sum(out * out), {w});
    };
    const auto causes =
        told([&] { return body(false, first); }, [&] { return body(true, !first); });
    EXPECT_THAT(causes, ElementsAre(HasSubstr(fmt::format("_test.cpp:{}: 0.5 -> 0.25", number)),
                                    AllOf(StartsWith(first ? "op_removed remat" : "op_added remat"),
                                          HasSubstr(here()))));
  }
}

TEST_F(PlantedRecorded, TakesTheRematOfANewLayerForAConsequence) {
  const auto causes = told([&](bool again) {
    const Tensor w = parameter({4, 4}, "w"), v = parameter({4, 4}, "v");
    Tensor h = tanh(matmul(x, w));
    const auto block = [&](const Tensor& in) {
      line = __LINE__ + 1;
      return in + tanh(matmul(exp(in), v));
    };
    if (again) h = remat(block, h);
    return train(sum(h * h), {w});
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("op_added"), HasSubstr(here()))));
}

/// A layer that normalizes by the batch in training, and by what it keeps in an evaluation.
TEST_F(PlantedRecorded, NamesTheModeOfOneLayerAndNotWhatTheLayerKeeps) {
  const auto body = [&](bool frozen) {
    const Tensor w = parameter({4}, "w");
    Tensor running = input({DType::kF32, Shape{4}}, "bn.running_mean", InputKind::kState);
    Tensor batches = input({DType::kI64, Shape{}}, "bn.num_batches_tracked", InputKind::kState);
    const ModeScope training(context, {.training = true});
    Tensor h = x * w;
    std::optional<ModeScope> part;
    const int scope_line = __LINE__ + 1;
    if (frozen) part.emplace(context, Mode{.training = false}, std::source_location::current());
    Tensor next;
    {
      const ModuleScope scope(context, "bn");
      const Tensor m = context.mode()->training ? mean(h, {0}) : running;
      next = running * 0.9 + m * 0.1;
      h = (h - m) * 2.0;
    }
    part.reset();
    std::vector<Tensor> out = train(sum(tanh(h)), {w});
    const ModuleScope update(context, "optimizer_step");
    if (!frozen) {
      const ModuleScope of_mean(context, "bn.running_mean");
      running.assign(next);
      out.push_back(running);
    }
    if (!frozen) {
      const ModuleScope of_count(context, "bn.num_batches_tracked");
      batches.assign(batches + 1.0);
      out.push_back(batches);
    }
    line = scope_line;
    return out;
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(StartsWith(fmt::format("mode the mode set at {}", here()))));
}

TEST_F(PlantedRecorded, NamesTheModeOfAModuleThatIsCalledOnTwoLines) {
  const auto causes = told([&](bool again) {
    const Tensor w = parameter({4, 4}, "two.weight"), b = parameter({4}, "two.bias");
    const auto two = [&](const Tensor& h, Where where = Where::current()) {
      const ModuleScope scope(context, "two");
      const DType dtype = context.mode()->compute_dtype;
      return convert(convert(matmul(convert(h, dtype, where), convert(w, dtype, where), where),
                             DType::kF32, where) +
                         b,
                     DType::kF32, where);
    };
    const ModeScope training(context, {.training = true});
    Tensor h = tanh(x);
    if (again) {
      line = __LINE__ + 1;
      const ModeScope scope(context, {.training = true, .compute_dtype = DType::kBF16});
      h = relu(two(h));
    } else {
      h = relu(two(h));
    }
    return train(sum(h), {w, b});
  });
  EXPECT_THAT(causes, ElementsAre(StartsWith(fmt::format("mode the mode set at {}", here()))));
}

TEST_F(PlantedRecorded, NamesTheModeOfAModuleAndNotTheDropoutThatItEnds) {
  for (const bool last : {false, true}) {
    history = {};
    const auto causes = told([&](bool again) {
      const RandomKey key{context.scalar(1, DType::kI64, "seed"),
                          context.scalar(again, DType::kI64, "step"),
                          input({DType::kI64, Shape{}}, "micro_batch")};
      const Tensor w = parameter({4, 4}, "teacher.up.weight"), v = parameter({4, 4}, "v");
      const ModeScope training(context, {.training = true});
      const auto layer = [&](const char* name, const Tensor& h) {
        const ModuleScope scope(context, name);
        if (name == std::string_view("teacher.up")) return tanh(matmul(h, w));
        return context.mode()->training ? dropout(h, 0.25, key) : h;
      };
      Tensor target;
      {
        std::optional<ModeScope> part;
        line = __LINE__ + 1;
        if (again) part.emplace(context, Mode{.training = false}, std::source_location::current());
        target = layer("teacher.drop", layer("teacher.up", x));
        if (!last) target = layer("teacher.up", target);
      }
      return train(sum(exp(matmul(layer("student.drop", x), v)) * target), {w, v});
    });
    EXPECT_THAT(causes, ElementsAre(StartsWith(fmt::format("mode the mode set at {}", here()))));
  }
}

TEST_F(PlantedRecorded, NamesNoLineOfTheStandardLibraryForAMode) {
  const auto causes = told([&](bool again) {
    std::optional<ModeScope> scope;
    scope.emplace(context, Mode{.training = !again});
    return std::vector{sum(tanh(x))};
  });
  EXPECT_THAT(causes, ElementsAre(StartsWith("mode mode of the step cut at main.cpp:")));
}

TEST_F(PlantedRecorded, AdvisesTheLongestLoopWhereOneDrawsMoreOften) {
  const RandomKey key{context.scalar(1, DType::kI64, "seed"),
                      context.scalar(2, DType::kI64, "step"),
                      context.scalar(3, DType::kI64, "micro_batch")};
  const auto causes = told([&](bool again) {
    Tensor total = sum(x);
    line = __LINE__ + 1;
    for (int i = 0; i < (again ? 4 : 2); ++i) total = total + sum(random_uniform(key, {6, 4}) * x);
    return std::vector{total};
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("op_added random_bits"), HasSubstr(here()))));
  EXPECT_THAT(std::string(last.remedy()), HasSubstr("the longest"));
}

TEST_F(PlantedRecorded, NamesTheLengthOfAnIotaAndNotTheNumberThatItGives) {
  const auto causes = told([&](bool again) {
    const std::int64_t bins = again ? 11 : 8;
    line = __LINE__ + 1;
    const Tensor number = iota(context, Shape{6, bins}, 1, DType::kF32);
    const Tensor centre = number * (1.0 / static_cast<double>(bins));
    const Tensor far = broadcast_to(slice_dim(x, 1, 0, 1), Shape{6, bins}) - centre;
    return std::vector{sum(reduce_sum(exp(far), {1}))};
  });
  EXPECT_THAT(causes, testing::Contains(AllOf(StartsWith("attribute iota"), HasSubstr(here()),
                                              HasSubstr("[6,8] -> [6,11]"))));
  EXPECT_THAT(last.differences.front().subject, HasSubstr("iota"));
}

TEST_F(PlantedRecorded, NamesAConversionAndNotThoseBackToTheOldDtype) {
  const auto causes = told([&](bool again) {
    const Tensor w = parameter({4, 4}, "w");
    Tensor h = tanh(x * 0.5);
    line = __LINE__ + 1;
    if (again) h = convert(h, DType::kBF16);
    const auto head = [&](const Tensor& in) {
      const ModuleScope scope(context, "head");
      return convert(matmul(in, convert(w, in.dtype())), in.dtype());
    };
    // Far from the line above.
    //
    //
    //
    const Tensor logits = convert(head(convert(mean(h, {0}, true), h.dtype())), DType::kF32);
    return train(sum(logits), {w});
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("op_added convert"), HasSubstr(here()))));
}

TEST_F(PlantedRecorded, NamesInputsThatTookEachOthersPlacesInCallsOfOneFunction) {
  const Tensor better = input({DType::kF32, Shape{6, 4}}, "batch.better");
  const Tensor worse = input({DType::kF32, Shape{6, 4}}, "batch.worse");
  const auto causes = told([&](bool again) {
    const Tensor w = parameter({4, 3}, "w");
    const Tensor scale = rsqrt(mean(better * better, {1}, true) + 0.001);
    const auto score = [&](const Tensor& in) {
      line = __LINE__ + 1;
      return matmul(in * broadcast_to(scale, in.shape()), w);
    };
    const Tensor first = score(again ? worse : better);
    const Tensor second = score(again ? better : worse);
    return train(sum(relu(1.0 - (first - second))), {w});
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(HasSubstr("batch.better"), HasSubstr("batch.worse"),
                                        HasSubstr("each other's places"), HasSubstr(here()))));
}

TEST_F(PlantedRecorded, NamesOneMoreTurnOfALoopAndNoNumbersOfTheOthers) {
  const Tensor y = input({DType::kF32, Shape{6, 1}}, "batch.y");
  const auto causes = told([&](bool again) {
    const Tensor w = parameter({4, 5}, "w");
    const Tensor predicted = matmul(x, w);
    Tensor total = sum(predicted * predicted) * 0.001;
    std::vector<double> quantiles{0.1, 0.5, 0.9};
    if (again) quantiles = {0.1, 0.5, 0.75, 0.9};
    std::int64_t column = 0;
    for (const double q : quantiles) {
      const Tensor e = y - slice_dim(predicted, 1, column, column + 1);
      line = __LINE__ + 1;
      total = total + sum(maximum(e * q, e * (q - 1)));
      ++column;
    }
    return train(total, {w});
  });
  EXPECT_THAT(causes, testing::Contains(AllOf(StartsWith("op_added"), HasSubstr(here()))));
  EXPECT_THAT(causes, testing::Not(testing::Contains(StartsWith("constant"))));
}

TEST_F(PlantedRecorded, NamesANumberThatWasThatOfAFunctionOnItsLineAndNoOrder) {
  const auto causes = told([&](bool again) {
    const Tensor w = parameter({4, 4}, "w");
    Tensor h = x;
    for (int turn = 0; turn < 3; ++turn) {
      if (again) h = tanh(h);
      const Tensor gate = matmul(h, w);
      line = __LINE__ + 1;
      const Tensor f = sigmoid(gate + (again ? 0.45 : 1.0));
      h = h * f;
    }
    return train(sum(h), {w});
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("constant"), HasSubstr(here()),
                                        testing::EndsWith(": 1 -> 0.45")),
                                  StartsWith("op_added tanh")));
}

TEST_F(PlantedRecorded, NamesTheDropoutOfAttentionAndNotItsKey) {
  const Tensor q = input({DType::kF32, Shape{2, 3, 2, 4}}, "batch.q");
  const auto causes = told([&](bool again) {
    AttentionSpec spec;
    if (again) {
      spec.dropout = 0.15;
      spec.key =
          RandomKey{context.scalar(1, DType::kI64, "seed"), context.scalar(2, DType::kI64, "step"),
                    context.scalar(3, DType::kI64, "micro_batch")};
    }
    line = __LINE__ + 1;
    return std::vector{sum(attention(q, q, q, spec))};
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("attribute attention"), HasSubstr(here()),
                                        HasSubstr("dropout: 0 -> 0.15"))));
}

TEST_F(PlantedRecorded, TakesTheRoundingOfAMeanToItsDtypeForAConsequence) {
  const auto causes = told([&](bool again) {
    Tensor h = tanh(x);
    line = __LINE__ + 1;
    if (again) h = convert(h, DType::kBF16);
    const Tensor y = relu(h * 3.0);
    // Far from the line above.
    //
    //
    //
    return std::vector{
        sum(convert(convert(sum(convert(y, DType::kF32)) * 0.5, y.dtype()), DType::kF32))};
  });
  EXPECT_THAT(causes, ElementsAre(AllOf(StartsWith("op_added convert bf16"), HasSubstr(here()))));
}

TEST_F(PlantedRecorded, NamesTheModeOfALayerBesideANewOp) {
  int scope_line = 0;
  const auto causes = told([&](bool again) {
    const Tensor w = parameter({4}, "w");
    const Tensor running = input({DType::kF32, Shape{4}}, "bn.running_mean", InputKind::kState);
    const ModeScope training(context, {.training = true});
    Tensor h = x * w;
    std::optional<ModeScope> part;
    scope_line = __LINE__ + 1;
    if (again) part.emplace(context, Mode{.training = false}, std::source_location::current());
    {
      const ModuleScope scope(context, "bn");
      const Tensor shift = context.mode()->training ? mean(h, {0}) : running;
      h = h - reshape(shift, Shape{1, 4}) * 2.0;
    }
    part.reset();
    // Far from the line above.
    //
    //
    //
    line = __LINE__ + 1;
    if (again) h = stop_gradient(h);
    return train(sum(tanh(h * w)), {w});
  });
  EXPECT_THAT(causes,
              ElementsAre(StartsWith(fmt::format(
                              "mode the mode set at planted_recorded_test.cpp:{}", scope_line)),
                          AllOf(StartsWith("op_added stop_gradient"), HasSubstr(here()))));
}

}  // namespace
}  // namespace lockstep

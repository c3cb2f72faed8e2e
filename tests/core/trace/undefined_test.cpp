// An undefined tensor is not a valid operand: every function over tensors reports it, with the
// user's line and the operand. The headers are read to check that the table has all functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "core/trace/gradients.h"
#include "core/trace/host_call.h"
#include "core/trace/losses.h"
#include "core/trace/mode.h"
#include "core/trace/remat.h"
#include "tests/core/trace/inputs.h"
#include "tests/fixtures/host_functions.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::StartsWith;
using Tensors = std::vector<Tensor>;

/// A function, the types of its operands, and a call.
struct Call {
  std::string name;
  int line;  ///< on which the call is, or a few lines above it
  std::vector<Type> types;
  std::function<void(const Tensors&)> call;
};

const Type kMatrix{DType::kF32, Shape{2, 2}};
const Type kVector{DType::kF32, Shape{2}};
const Type kBools{DType::kBool, Shape{2, 2}};
const Type kIndices{DType::kI32, Shape{2}};
const Type kNumber{DType::kI64, Shape{}};
const Type kScalar{DType::kF32, Shape{}};
const Type kImage{DType::kF32, Shape{1, 1, 4, 4}};
const Type kHeads{DType::kF32, Shape{1, 2, 1, 2}};
const Type kPacked{DType::kF32, Shape{1, 2, 3, 1, 2}};

std::shared_ptr<const Graph> sum_of_two() {
  return std::make_shared<const Graph>(parse(
      "%a = f32[2,2] input() %b = f32[2,2] input() %c = f32[2,2] add(%a, %b) return %c", "two.ir"));
}

RandomKey key_of(const Tensors& t, std::size_t first) {
  return {t[first], t[first + 1], t[first + 2]};
}

std::vector<Call> calls() {
  std::vector<Call> out;
  const auto add = [&](const char* name, int line, std::vector<Type> types,
                       std::function<void(const Tensors&)> call) {
    out.push_back({name, line, std::move(types), std::move(call)});
  };
  using Unary = Tensor (*)(const Tensor&, Where);
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, Unary>>{
           {"abs", abs},
           {"sign", sign},
           {"floor", floor},
           {"ceil", ceil},
           {"round_even", round_even},
           {"exp", exp},
           {"log", log},
           {"tanh", tanh},
           {"erf", erf},
           {"sqrt", sqrt},
           {"rsqrt", rsqrt},
           {"sin", sin},
           {"cos", cos},
           {"is_finite", is_finite},
           {"relu", relu},
           {"sigmoid", sigmoid},
           {"softplus", softplus},
           {"gelu_tanh", gelu_tanh},
           {"gelu", gelu},
           {"silu", silu},
           {"sum", sum},
           {"optimization_barrier", optimization_barrier},
           {"all_reduce", all_reduce},
           {"to_compute_dtype", to_compute_dtype},
           {"stop_gradient", stop_gradient}})
    add(name, __LINE__, {kMatrix}, [f](const Tensors& t) { f(t[0], Where::current()); });
  using Binary = Tensor (*)(const Operand&, const Operand&);
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, Binary>>{
           {"operator+", operator+}, {"operator-", operator-}, {"operator*", operator*},
           {"operator/", operator/}, {"maximum", maximum}, {"minimum", minimum}, {"power", power},
           {"remainder", remainder}, {"equal", equal}, {"not_equal", not_equal}, {"less", less},
           {"less_equal", less_equal}, {"greater", greater}, {"greater_equal", greater_equal}}) {
    add(name, __LINE__, {kMatrix, kMatrix}, [f](const Tensors& t) { f(t[0], t[1]); });
    add(name, __LINE__, {kMatrix}, [f](const Tensors& t) { f(t[0], 2.0); });
    add(name, __LINE__, {kMatrix}, [f](const Tensors& t) { f(2.0, t[0]); });
  }
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, Binary>>{
           {"logical_and", logical_and}, {"logical_or", logical_or}, {"logical_xor", logical_xor}})
    add(name, __LINE__, {kBools, kBools}, [f](const Tensors& t) { f(t[0], t[1]); });
  add("operator-", __LINE__, {kMatrix}, [](const Tensors& t) { -t[0]; });
  add("unary", __LINE__, {kMatrix}, [](const Tensors& t) { unary(Op::kExp, t[0]); });
  add("binary", __LINE__, {kMatrix, kMatrix},
      [](const Tensors& t) { binary(Op::kAdd, t[0], t[1]); });
  add("logical_not", __LINE__, {kBools}, [](const Tensors& t) { logical_not(t[0]); });
  add("select", __LINE__, {kBools, kMatrix, kMatrix},
      [](const Tensors& t) { select(t[0], t[1], t[2]); });
  add("convert", __LINE__, {kMatrix}, [](const Tensors& t) { convert(t[0], DType::kF32); });
  add("broadcast_to", __LINE__, {kMatrix}, [](const Tensors& t) {
    broadcast_to(t[0], Shape{2, 2});
  });
  add("broadcast_in_dim", __LINE__, {kVector}, [](const Tensors& t) {
    broadcast_in_dim(t[0], Shape{2, 2}, {0});
  });
  add("reshape", __LINE__, {kMatrix}, [](const Tensors& t) { reshape(t[0], Shape{2, 2}); });
  add("reshape", __LINE__, {kMatrix}, [](const Tensors& t) { reshape(t[0], {4, -1}); });
  add("reshape", __LINE__, {kMatrix}, [](const Tensors& t) { reshape(t[0], Ints{4, -1}); });
  add("transpose", __LINE__, {kMatrix}, [](const Tensors& t) { transpose(t[0], {1, 0}); });
  add("slice", __LINE__, {kVector}, [](const Tensors& t) { slice(t[0], {0}, {1}, {1}); });
  add("slice_dim", __LINE__, {kVector}, [](const Tensors& t) { slice_dim(t[0], 0, 0, 1); });
  add("dynamic_slice", __LINE__, {kVector, kNumber},
      [](const Tensors& t) { dynamic_slice(t[0], Tensors{t[1]}, Shape{1}); });
  add("dynamic_update_slice", __LINE__, {kVector, kVector, kNumber},
      [](const Tensors& t) { dynamic_update_slice(t[0], t[1], Tensors{t[2]}); });
  add("pad", __LINE__, {kVector}, [](const Tensors& t) { pad(t[0], 0.0, {1}, {1}); });
  add("concatenate", __LINE__, {kVector, kVector, kVector},
      [](const Tensors& t) { concatenate(t, 0); });
  add("gather", __LINE__, {kMatrix, kIndices}, [](const Tensors& t) { gather(t[0], t[1], 0); });
  add("scatter_add", __LINE__, {kMatrix, kIndices, kMatrix},
      [](const Tensors& t) { scatter_add(t[0], t[1], t[2], 0); });
  add("reduce", __LINE__, {kMatrix}, [](const Tensors& t) { reduce(Op::kReduceMin, t[0], {0}); });
  add("reduce_sum", __LINE__, {kMatrix}, [](const Tensors& t) { reduce_sum(t[0], {0}); });
  add("reduce_max", __LINE__, {kMatrix}, [](const Tensors& t) { reduce_max(t[0], {0}); });
  add("arg_max", __LINE__, {kMatrix}, [](const Tensors& t) { arg_max(t[0], 1); });
  add("dot_general", __LINE__, {kMatrix, kMatrix}, [](const Tensors& t) {
    dot_general(t[0], t[1], {{}, {}, {1}, {0}});
  });
  add("matmul", __LINE__, {kMatrix, kMatrix}, [](const Tensors& t) { matmul(t[0], t[1]); });
  add("convolution", __LINE__, {kImage, kImage},
      [](const Tensors& t) { convolution(t[0], t[1], {}); });
  add("max_pool", __LINE__, {kImage}, [](const Tensors& t) { max_pool(t[0], {}); });
  add("avg_pool", __LINE__, {kImage}, [](const Tensors& t) { avg_pool(t[0], {}); });
  add("random_bits", __LINE__, {kNumber, kNumber, kNumber},
      [](const Tensors& t) { random_bits(key_of(t, 0), Shape{2}); });
  add("attention", __LINE__, {kHeads, kHeads, kHeads},
      [](const Tensors& t) { attention(t[0], t[1], t[2], {}); });
  add("attention", __LINE__, {kPacked}, [](const Tensors& t) { attention(t[0], {}); });
  add("call", __LINE__, {kMatrix, kMatrix}, [](const Tensors& t) { call(sum_of_two(), t); });
  add("reduce_scatter", __LINE__, {kMatrix}, [](const Tensors& t) { reduce_scatter(t[0], 2); });
  add("all_gather", __LINE__, {kMatrix}, [](const Tensors& t) { all_gather(t[0], 2); });
  add("collective_broadcast", __LINE__, {kMatrix},
      [](const Tensors& t) { collective_broadcast(t[0], 0); });
  add("swiglu", __LINE__, {kMatrix, kMatrix}, [](const Tensors& t) { swiglu(t[0], t[1]); });
  add("mean", __LINE__, {kMatrix}, [](const Tensors& t) { mean(t[0], {0}); });
  add("softmax", __LINE__, {kMatrix}, [](const Tensors& t) { softmax(t[0], 1); });
  add("log_softmax", __LINE__, {kMatrix}, [](const Tensors& t) { log_softmax(t[0], 1); });
  add("layer_norm", __LINE__, {kMatrix, kVector, kVector},
      [](const Tensors& t) { layer_norm(t[0], t[1], t[2]); });
  add("rms_norm", __LINE__, {kMatrix, kVector}, [](const Tensors& t) { rms_norm(t[0], t[1]); });
  add("cross_entropy", __LINE__, {kMatrix, kIndices},
      [](const Tensors& t) { cross_entropy(t[0], t[1]); });
  add("correct_predictions", __LINE__, {kMatrix, kIndices},
      [](const Tensors& t) { correct_predictions(t[0], t[1]); });
  add("dropout", __LINE__, {kMatrix}, [](const Tensors& t) { dropout(t[0], 0.5); });
  add("dropout", __LINE__, {kMatrix, kScalar}, [](const Tensors& t) { dropout(t[0], t[1]); });
  add("dropout", __LINE__, {kMatrix, kNumber, kNumber, kNumber},
      [](const Tensors& t) { dropout(t[0], 0.0, key_of(t, 1)); });
  add("dropout", __LINE__, {kMatrix, kScalar, kNumber, kNumber, kNumber},
      [](const Tensors& t) { dropout(t[0], t[1], key_of(t, 2)); });
  add("binary_cross_entropy_with_logits", __LINE__, {kMatrix, kMatrix},
      [](const Tensors& t) { binary_cross_entropy_with_logits(t[0], t[1]); });
  add("huber", __LINE__, {kMatrix, kMatrix}, [](const Tensors& t) { huber(t[0], t[1]); });
  add("kl_divergence", __LINE__, {kMatrix, kMatrix},
      [](const Tensors& t) { kl_divergence(t[0], t[1]); });
  add("cosine_similarity", __LINE__, {kMatrix, kMatrix},
      [](const Tensors& t) { cosine_similarity(t[0], t[1]); });
  add("random_normal", __LINE__, {kNumber, kNumber, kNumber},
      [](const Tensors& t) { random_normal(key_of(t, 0), Shape{2}); });
  add("random_uniform", __LINE__, {kNumber, kNumber, kNumber},
      [](const Tensors& t) { random_uniform(key_of(t, 0), Shape{2}); });
  add("linear", __LINE__, {kMatrix, kMatrix, kVector},
      [](const Tensors& t) { linear(t[0], t[1], &t[2], true); });
  add("conv2d", __LINE__, {kImage, kImage, {DType::kF32, Shape{1}}},
      [](const Tensors& t) { conv2d(t[0], t[1], &t[2], {}); });
  add("gradients", __LINE__, {kScalar}, [](const Tensors& t) { gradients(t[0], {}); });
  add("gradients", __LINE__, {kScalar, kMatrix},
      [](const Tensors& t) { gradients(t[0], std::span(t).subspan(1)); });
  add("stand_in", __LINE__, {kMatrix, kMatrix}, [](const Tensors& t) { stand_in(t[0], t[1]); });
  add("host_call", __LINE__, {kMatrix, kMatrix},
      [](const Tensors& t) { host_call(reverse_function(), t, kMatrix); });
  add("remat", __LINE__, {kMatrix},
      [](const Tensors& t) { remat([](const Tensor&) { return Tensor(); }, t[0]); });
  add("mode_of", __LINE__, {kMatrix}, [](const Tensors& t) { (void)mode_of(t[0]); });
  add("to_host", __LINE__, {kMatrix}, [](const Tensors& t) { (void)t[0].to_host(); });
  add("item", __LINE__, {kScalar}, [](const Tensors& t) { (void)t[0].item(); });
  add("assign", __LINE__, {kMatrix, kMatrix}, [](const Tensors& t) { Tensor(t[0]).assign(t[1]); });
  add("shape", __LINE__, {kMatrix}, [](const Tensors& t) { (void)t[0].shape(); });
  add("size", __LINE__, {kMatrix}, [](const Tensors& t) { (void)t[0].size(0); });
  add("dtype", __LINE__, {kMatrix}, [](const Tensors& t) { (void)t[0].dtype(); });
  add("type", __LINE__, {kMatrix}, [](const Tensors& t) { (void)t[0].type(); });
  add("context", __LINE__, {kMatrix}, [](const Tensors& t) { (void)t[0].context(); });
  return out;
}

Tensors inputs_of(TraceContext& context, const Call& call) {
  Tensors out;
  for (const Type& type : call.types) out.push_back(input(context, type.dtype, type.shape));
  return out;
}

/// That of "2: FILE:LINE: ...".
int line_in(const std::string& error) {
  const std::size_t at = error.find(".cpp:");
  return at == std::string::npos ? 0 : std::atoi(error.c_str() + at + 5);
}

void expect_refused(const Call& call, const Tensors& operands, std::size_t undefined) {
  SCOPED_TRACE(fmt::format("{} on line {}, operand {}", call.name, call.line, undefined + 1));
  const std::string error = error_of([&] { call.call(operands); });
  EXPECT_THAT(error, HasSubstr("undefined tensor"));
  EXPECT_THAT(error, testing::MatchesRegex("2: undefined_test.cpp:[0-9]+: .*"));
  EXPECT_THAT(line_in(error), AllOf(Ge(call.line), Le(call.line + 3))) << error;
  if (operands.size() < 2 || call.name == "gradients") return;
  EXPECT_THAT(error,
              HasSubstr(fmt::format(": operand {} of the {} of ", undefined + 1, operands.size())));
}

TEST(UndefinedTensor, IsRefusedAsAnyOperandOfEveryFunction) {
  for (const Call& call : calls())
    for (std::size_t i = 0; i < call.types.size(); ++i) {
      TraceContext context;
      Tensors operands = inputs_of(context, call);
      const Tensor taken = std::move(operands[i]);  // one that was moved from is undefined, too
      expect_refused(call, operands, i);
      operands.assign(operands.size(), Tensor());
      expect_refused(call, operands, 0);
    }
}

TEST(UndefinedTensor, IsNoNumber) {
  TraceContext context;
  const Tensor x = input(context, Shape{2}), bias;
  const int line = __LINE__ + 1;
  EXPECT_EQ(error_of([&] { (void)(x * bias); }),
            fmt::format("2: undefined_test.cpp:{}: operand 2 of the 2 of multiply is an undefined "
                        "tensor: it was default-constructed or moved from, and nothing was "
                        "assigned to it since",
                        line));
}

Tensor twice(const Tensor& x, Where where = Where::current()) {
  const LocationScope line("twice", {&x}, where);
  return x + x;
}

TEST(UndefinedTensor, ShowsTheLineOfWhoCallsAFunctionOfTheUsers) {
  EXPECT_THAT(
      error_of([&] { twice(Tensor()); }),
      StartsWith(fmt::format("2: undefined_test.cpp:{}: the operand of twice is", __LINE__ - 2)));
}

TEST(UndefinedTensor, IsRefusedAsTheResultOfWhatIsComputedAgain) {
  TraceContext context;
  const Tensor x = input(context, Shape{2});
  EXPECT_THAT(error_of([&] { remat([](const Tensor&) { return Tensor(); }, x); }),
              StartsWith(fmt::format("2: undefined_test.cpp:{}: what remat() is to keep is",
                                     __LINE__ - 2)));
}

/// The names of the functions that a header declares with tensors among their parameters.
std::set<std::string> functions_of(const std::string& header) {
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/" + header);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = std::regex_replace(text.str(), std::regex("//[^\n]*"), "");
  const std::regex declared(
      R"((?:Tensor|std::vector<Tensor>|Mode&|auto) (operator.|\w+)\(([^;{]*?)\)\s*[;{])");
  std::set<std::string> out;
  for (std::sregex_iterator at(all.begin(), all.end(), declared), end; at != end; ++at)
    if (std::regex_search((*at)[2].str(), std::regex("Tensor|Operand|RandomKey")))
      out.insert((*at)[1]);
  return out;
}

TEST(UndefinedTensor, IsTriedWithEveryFunctionThatTheHeadersDeclare) {
  std::set<std::string> tried;
  for (const Call& call : calls()) tried.insert(call.name);
  std::size_t found = 0;
  for (const char* header :
       {"core/trace/elementwise.h", "core/trace/ops.h", "core/trace/functions.h",
        "core/trace/gradients.h", "core/trace/host_call.h", "core/trace/losses.h",
        "core/trace/mode.h", "core/trace/remat.h"})
    for (const std::string& function : functions_of(header)) {
      EXPECT_TRUE(tried.contains(function)) << header << ": " << function;
      ++found;
    }
  EXPECT_GT(found, 70U);
}

}  // namespace
}  // namespace lockstep

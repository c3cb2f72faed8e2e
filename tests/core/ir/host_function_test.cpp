// Functions on the host alone: their identity, their required results, and how they are found.
#include "core/ir/host_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "core/base/thread_pool.h"
#include "core/ir/text.h"
#include "core/ir/type_list.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/host_functions.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

using In = std::span<const HostTensor>;
using Out = std::span<HostTensor>;

/// A call of `function` that states one result.
Node call_of(const HostFunction& function, const Type& result) {
  Node node;
  node.op = Op::kHostCall;
  node.type = result;
  node.attrs.set_text(Attr::kFunction, function.name());
  node.attrs.set_int(Attr::kVersion, function.version());
  node.attrs.set(Attr::kResults, write_type_list({result}));
  node.origin = {"model.cpp", 41, "head"};
  return node;
}

const Type kPair{DType::kF32, Shape{2}};

std::string error_of_call(const HostFunction& function, const Type& result = kPair) {
  return error_of([&] { (void)function.call(call_of(function, result), {}); });
}

void nothing(In, Out) {}
void nothing_else(In, Out) {}

TEST(HostFunction, IsTheSameIfItCapturesNothingAndStandsInOneLine) {
  const auto make = [] { return HostFunction("f", 1, [](In, Out) {}); };
  EXPECT_EQ(make(), make());
  EXPECT_EQ(HostFunction("f", 1, nothing), HostFunction("f", 1, nothing));
  EXPECT_FALSE(HostFunction("f", 1, nothing) == HostFunction("f", 1, nothing_else));
  EXPECT_FALSE(HostFunction("f", 1, nothing) == HostFunction("f", 2, nothing));
  EXPECT_FALSE(HostFunction("f", 1, nothing) == HostFunction("g", 1, nothing));
  EXPECT_FALSE(make() == HostFunction("f", 1, [](In, Out) {}));
}

TEST(HostFunction, IsAnotherEachTimeItCaptures) {
  const auto make = [](float threshold) {
    return HostFunction("f", 1, [threshold](In, Out out) { out[0].as<float>()[0] = threshold; });
  };
  const HostFunction first = make(0.5F);
  const HostFunction copy = first;
  EXPECT_EQ(first, copy);
  EXPECT_FALSE(first == make(0.5F));
  HostFunctions functions;
  functions.add(first);
  functions.add(copy);
  EXPECT_EQ(error_of([&] { functions.add(make(0.7F)); }),
            "2: there is another host function f version 1 already: raise the version if the "
            "code changed; make a function that captures variables once, and keep it");
}

TEST(HostFunction, RefusesNamesAndVersionsThatNoTextCanHold) {
  EXPECT_EQ(error_of([] { HostFunction("", 1, nothing); }),
            "2: a host function needs a name of 1 to 200 bytes, not ''");
  EXPECT_EQ(error_of([] { HostFunction("f", 0, nothing); }),
            "2: the version of host function f must be 1 to 1048576, not 0");
}

TEST(HostFunction, StartsFromZerosAndMayPutOtherTensorsInTheirPlace) {
  const HostFunction keeps("keeps", 1, [](In, Out out) { out[0].as<float>()[1] = 7; });
  EXPECT_THAT(to_doubles(keeps.call(call_of(keeps, kPair), {})[0]), ElementsAre(0, 7));
  const HostFunction puts("puts", 1, [](In, Out out) {
    out[0] = HostTensor::of(Shape{2}, std::vector<float>{1, 2});
  });
  EXPECT_THAT(to_doubles(puts.call(call_of(puts, kPair), {})[0]), ElementsAre(1, 2));
}

TEST(HostFunction, MustGiveWhatWasStated) {
  const HostFunction other("other", 3, [](In, Out out) { out[0] = HostTensor::scalar(1.0F); });
  EXPECT_EQ(error_of_call(other),
            "2: model.cpp:41 (head): host_call other version 3: result 0 is f32[], but f32[2] "
            "was stated");
  const HostFunction none("none", 1, [](In, Out out) { out[0] = {}; });
  EXPECT_EQ(error_of_call(none),
            "2: model.cpp:41 (head): host_call none version 1: result 0 is not a tensor, but "
            "f32[2] was stated");
  const HostFunction two("two", 1, [](In, Out out) { out[0].bytes()[1] = std::byte{2}; });
  EXPECT_EQ(error_of_call(two, {DType::kBool, Shape{2}}),
            "2: model.cpp:41 (head): host_call two version 1: result 0 holds a bool that is "
            "neither 0 nor 1");
}

TEST(HostFunction, ThrowsWithItsNameAndLine) {
  const HostFunction plain("f", 1, [](In, Out) { throw std::runtime_error("no match"); });
  EXPECT_EQ(error_of_call(plain), "2: model.cpp:41 (head): host_call f version 1: no match");
  const HostFunction data("f", 1, [](In, Out) { raise(ErrorKind::kData, "box {} is empty", 3); });
  EXPECT_EQ(error_of_call(data), "3: model.cpp:41 (head): host_call f version 1: box 3 is empty");
  const HostFunction odd("f", 1, [](In, Out) { throw 42; });
  EXPECT_EQ(error_of_call(odd),
            "2: model.cpp:41 (head): host_call f version 1: it threw an object that is not a "
            "std::exception");
  const HostFunction misread("f", 1, [](In, Out out) { (void)out[0].as<double>(); });
  EXPECT_EQ(error_of_call(misread),
            "2: model.cpp:41 (head): host_call f version 1: a f32 tensor was read as f64");
  const HostFunction greedy("f", 1, [](In, Out) { throw std::bad_alloc(); });
  EXPECT_THAT(error_of_call(greedy),
              StartsWith("6: model.cpp:41 (head): host_call f version 1: the host has no memory"));
}

/// As on a device's thread, which takes denormals for zero.
TEST(HostFunction, ComputesWithDenormals) {
  static volatile float tiny;
  tiny = std::numeric_limits<float>::denorm_min();
  const HostFunction doubles("doubles", 1,
                             [](In, Out out) { out[0].as<float>()[0] = tiny + tiny; });
  float on_device = -1;
  float flushed = -1;
  std::jthread([&] {
    flush_denormals();
    on_device = doubles.call(call_of(doubles, kPair), {})[0].as<float>()[0];
    flushed = tiny + tiny;
  }).join();
  EXPECT_EQ(on_device, 2 * std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(flushed, 0);
}

TEST(HostFunctions, NameWhatIsNotRegistered) {
  HostFunctions functions;
  const HostFunction wanted("match_boxes", 2, nothing);
  const auto look = [&] { (void)functions.find(call_of(wanted, kPair)); };
  EXPECT_EQ(error_of(look),
            "2: model.cpp:41 (head): the host function match_boxes version 2 is not registered "
            "here (none is): it is code of the program that recorded the call");
  functions.add(HostFunction("match_boxes", 1, nothing));
  functions.add(HostFunction("suppress", 1, nothing));
  EXPECT_EQ(error_of(look),
            "2: model.cpp:41 (head): the host function match_boxes version 2 is not registered "
            "here (match_boxes version 1, suppress version 1 are): it is code of the program that "
            "recorded the call");
  functions.add(wanted);
  EXPECT_EQ(error_of(look), "no error");
}

TEST(HostFunctions, AreRequiredInBodiesToo) {
  const Graph graph = parse(
      "%x = f32[2] input()\n"
      "%c = f32[2] call(%x) body { %a = f32[2] input()\n"
      "  %b = f32[2] host_call(%a) {function=\"f\", version=1, results=[f32[2]]} return %b }\n"
      "return %c\n",
      "t.ir");
  EXPECT_EQ(error_of([&] { require_host_functions(graph, {}); }),
            "2: the host function f version 1 is not registered here (none is): it is code of the "
            "program that recorded the call");
}

TEST(HostCallText, KeepsNamesVersionsAndTypes) {
  const std::string text =
      "%0 = f32[8] input() {kind=batch}\n"
      "%1 = i32[8,4] host_call(%0, %0) {function=\"a \\\"b\\\\\", version=12, "
      "results=[i32[8,4],f32[],bool[0]], line=\"m.cpp:3\"}\n"
      "%2 = f32[] group_result(%1) {index=1}\n"
      "%3 = bool[0] group_result(%1) {index=2}\n"
      "return %1, %3\n";
  const Graph graph = parse(text, "t.ir");
  EXPECT_EQ(print(graph), text);
  EXPECT_EQ(graph[1].attrs.text(Attr::kFunction), "a \"b\\");
}

std::string error_of_text(const std::string& settings, const std::string& rest = "return %1\n") {
  return error_of([&] {
    (void)parse("%0 = f32[8] input()\n%1 = i32[4] host_call(%0) {" + settings + "}\n" + rest,
                "t.ir");
  });
}

TEST(HostCallText, NamesWhatIsWrong) {
  EXPECT_EQ(error_of_text("version=1, results=[i32[4]]"),
            "2: t.ir:2:13: host_call needs the attribute 'function'");
  EXPECT_EQ(error_of_text("function=\"f\", version=1, results=[]"),
            "2: t.ir:2:13: the attribute 'results' is not a list of types");
  EXPECT_EQ(error_of_text("function=\"\", version=1, results=[i32[4]]"),
            "2: t.ir:2:13: the attribute 'function' is not a text");
  EXPECT_EQ(error_of_text("function=\"f\", version=1, results=[f32[4]]"),
            "2: t.ir:2:6: the type is written as i32[4], but host_call gives f32[4]");
  const std::string two = "function=\"f\", version=1, results=[i32[4],f32[2]]";
  EXPECT_EQ(error_of_text(two), "2: t.ir:3:1: %1: result 1 does not follow its group");
  EXPECT_EQ(error_of_text(two, "%2 = i32[2] group_result(%1) {index=1}\nreturn %1\n"),
            "2: t.ir:4:1: %2: the group returns f32[2]");
}

}  // namespace
}  // namespace lockstep

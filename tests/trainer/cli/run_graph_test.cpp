#include "trainer/cli/run_graph.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/ir/text.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/host_functions.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep {
namespace {

std::vector<double> both(const char* text, const std::vector<HostTensor>& inputs) {
  const Graph graph = parse(text, "test.ir");
  const std::vector<double> compiled =
      to_doubles(run_compiled(graph, inputs, /*threads=*/2, tested_target(), Log::null()).at(0));
  EXPECT_EQ(compiled, to_doubles(run_reference(graph, inputs).at(0)));
  return compiled;
}

HostTensor f32(const std::vector<float>& values) {
  return HostTensor::of(Shape{static_cast<std::int64_t>(values.size())}, values);
}

TEST(RunGraph, AllReduceOfOneMicroBatchIsItsOperand) {
  EXPECT_EQ(both(R"(
    %0 = f32[2] input() {kind=batch, name="x"}
    %1 = f32[2] all_reduce(%0)
    %2 = f32[2] add(%1, %1)
    %3 = f32[2] all_reduce(%2)
    return %3)",
                 {f32({1, 2})}),
            (std::vector<double>{2, 4}));
}

TEST(RunGraph, AllReducesInBodiesGoToo) {
  EXPECT_EQ(both(R"(
    %0 = f32[2] input() {kind=batch, name="x"}
    %1 = f32[2] call(%0) body {
      %0 = f32[2] input() {kind=batch}
      %1 = f32[2] all_reduce(%0)
      return %1
    }
    return %1)",
                 {f32({3, 4})}),
            (std::vector<double>{3, 4}));
}

TEST(RunGraph, InputsSurviveAnUpdateInPlace) {
  const std::vector<HostTensor> inputs{f32({1, 2})};
  EXPECT_EQ(both(R"(
    %0 = f32[2] input() {kind=state, name="x"}
    %1 = f32[2] add(%0, %0)
    return %1
    update 0 -> %0)",
                 inputs),
            (std::vector<double>{2, 4}));
  EXPECT_EQ(to_doubles(inputs[0]), (std::vector<double>{1, 2}));
}

TEST(RunGraph, EmptyTensorsRun) {
  EXPECT_EQ(both(R"(
    %0 = f32[0] input() {kind=batch, name="x"}
    %1 = f32[] reduce_sum(%0) {dims=[0]}
    return %1)",
                 {f32({})}),
            (std::vector<double>{0}));
}

TEST(RunGraph, AGraphWithoutOutputsGivesNone) {
  EXPECT_TRUE(run_compiled(Graph{}, {}, 1, tested_target(), Log::null()).empty());
}

TEST(RunGraph, RefusesWhatTheMachineCannotHold) {
  const Graph graph = parse(R"(
    %0 = f32[] constant() {value=1}
    %1 = f32[1000000,1000000] broadcast(%0) {shape=[1000000,1000000], dims=[]}
    %2 = f32[1000000,1000000] exp(%1)
    return %2)",
                            "test.ir");
  for (const auto& run :
       {+[](const Graph& g) { return run_compiled(g, {}, 1, tested_target(), Log::null()); },
        +[](const Graph& g) { return run_reference(g, {}); }})
    EXPECT_NE(error_of(ErrorKind::kOutOfMemory, [&] { run(graph); }), "no error");
}

TEST(RunGraph, CallsOnTheHostWhatIsRegisteredAndNamesWhatIsNot) {
  const Graph graph = parse(
      "%0 = f32[3] input()\n"
      "%1 = f32[3] host_call(%0) {function=\"reverse\", version=1, results=[f32[3]], "
      "line=\"detr.cpp:41\", scope=\"head\"}\n"
      "return %1\n",
      "t.ir");
  const std::vector<HostTensor> inputs = {f32({1, 2, 3})};
  const HostFunctions functions = only_reverse();
  const std::vector<double> turned = {3, 2, 1};
  EXPECT_EQ(to_doubles(run_compiled(graph, inputs, 1, tested_target(), Log::null(), functions)[0]),
            turned);
  EXPECT_EQ(to_doubles(run_reference(graph, inputs, functions)[0]), turned);
  const std::string missing =
      "2: detr.cpp:41 (head): the host function reverse version 1 is not registered here (none "
      "is): it is code of the program that recorded the call";
  EXPECT_EQ(error_of([&] { (void)run_compiled(graph, inputs, 1, tested_target(), Log::null()); }),
            missing);
  EXPECT_EQ(error_of([&] { (void)run_reference(graph, inputs); }), missing);
}

}  // namespace
}  // namespace lockstep

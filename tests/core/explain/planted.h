// Programs that are recorded twice, the second time with a change, and the reported reasons.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/explain/history.h"
#include "core/trace/context.h"
#include "core/trace/cut_trace.h"
#include "core/trace/functions.h"
#include "core/trace/mode.h"

namespace lockstep {

/// A value that is never read.
class PlantedValue final : public TensorValue {
 public:
  using TensorValue::TensorValue;
  HostTensor to_host() override { return {}; }
};

/// A trace whose cuts are explained one after the other.
struct Planted {
  Tensor input(const Type& type, std::string_view name, InputKind kind = InputKind::kBatch) {
    return context.tensor(std::make_shared<PlantedValue>(type), kind, name);
  }
  /// Explains the cut of a recorded program, whose handles are alive now.
  Explanation cut(CutSite end = {"step end", "main.cpp:50"}, const std::string& mode = "") {
    CutTrace trace = context.cut();
    CutContext around{begin,          end, mode.empty() ? describe_modes(trace.modes) : mode,
                      trace.recorded, {},  padded};
    for (const ModePlace& place : trace.mode_places)
      around.mode_lines.emplace(describe_modes(mode_bit(place.number)),
                                origin_of(place.where).to_string());
    for (const TensorState* output : trace.outputs)
      around.held.push_back(
          fmt::format("{} handle{}", output->handles, output->handles == 1 ? "" : "s"));
    begin = std::move(end);
    std::vector<TensorValuePtr> values;
    for (const TensorState* output : trace.outputs)
      values.push_back(std::make_shared<PlantedValue>(output->type));
    trace.bind(values);
    auto graph = std::make_shared<GraphDescriptor>(trace.graph, std::move(around), trace.dropped);
    Explanation out = history.explain(*graph);
    structures.push_back(graph->structure());
    history.add(std::move(graph), ++programs);
    return out;
  }

  TraceContext context;
  ProgramHistory history;
  CutSite begin;
  std::set<std::string> padded;  ///< dimensions of batches, by data loaders
  std::vector<Hash128> structures;
  std::int64_t programs = 0;
};

/// Causes and texts without consequences: "input_shape batch.x[length]: 57 -> 61".
inline std::vector<std::string> causes_of(const Explanation& explanation) {
  std::vector<std::string> out;
  for (const Difference& difference : explanation.differences)
    if (!difference.derived)
      out.push_back(fmt::format("{} {}", name_of(difference.cause), difference.text()));
  return out;
}

struct PlantedTest : testing::Test, Planted {
  using Body = std::function<std::vector<Tensor>()>;

  /// The causes of the second program; each function records one program.
  std::vector<std::string> told(const Body& first, const Body& second) {
    {
      const std::vector<Tensor> held = first();
      EXPECT_THAT(causes_of(cut()), testing::IsEmpty());
    }
    const std::vector<Tensor> held = second();
    last = cut();
    return causes_of(last);
  }
  /// The same for one function, whose argument is true in the second recording.
  std::vector<std::string> told(const std::function<std::vector<Tensor>(bool)>& body) {
    return told([&] { return body(false); }, [&] { return body(true); });
  }

  Explanation last;
  int line = 0;  ///< the line to be named
};

}  // namespace lockstep

// The text form of graphs: printing is deterministic, parsing is exact, and people can write it.
//
//   %0 = f32[8,64] input() {kind=batch, name="batch.x", line="model.cpp:40", scope="h.0"}
//   %1 = f32[] constant() {value=0.5}
//   %2 = f32[8,64] broadcast(%1) {shape=[8,64], dims=[]}
//   %3 = f32[8,64] multiply(%0, %2) {line="model.cpp:41"}
//   %4 = f32[8] reduce_sum(%3) {dims=[1]}
//   return %4, %3
//   update 1 -> %0
//
// Grammar (white space and // comments are free; every statement may stand anywhere on a line):
//
//   graph     = {node} ["inputs" values] "return" [values] {update}
//   node      = value "=" type op "(" [values] ")" ["{" [setting {"," setting}] "}"] [body]
//   body      = "body" "{" graph "}"                       of call and fusion
//   update    = "update" integer "->" value      output number -> the input it is the next value of
//   value     = "%" (letters, digits, "_", ".")            printed as the node's position
//   values    = value {"," value}
//   type      = dtype "[" [integer {"," integer}] "]"
//   setting   = attribute "=" (integers | integer | float | "true" | "false" | dtype | string
//                              | "[" [type {"," type}] "]")
//             | "value" "=" (number | numbers)             the literal of a constant, row-major
//             | "kind" "=" ("parameter" | "state" | "batch" | "scalar")
//             | ("name" | "line" | "scope") "=" string     labels; line is "file:number"
//   numbers   = "[" [number {"," number}] "]"
//
// "inputs" is printed only if the parameter order is not the order of the input nodes. Numbers are
// the shortest decimals that read back to the same bits; nan, inf and -inf are written so, and a
// NaN other than the canonical one as nan(0xffc00000). Names of dimensions are not printed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/ir/graph.h"

namespace lockstep {

std::string print(const Graph& graph);

/// The line of one node, without its body: for messages.
std::string print_node(const Graph& graph, ValueId id);

/// The value of an attribute: "[1,2]", "0.5", "true".
std::string print_values(const Attrs::Entry& entry);

/// The graph of a text. Types are inferred again and compared with those written. Error kUsage
/// "file.ir:3:14: ..." (line and column from 1) that names what was expected. Bodies nest at most
/// kMaxBodyDepth deep; a value has at most 2^40 elements. With `ranks` given, collectives must be
/// for that number of ranks.
Graph parse(std::string_view text, std::string_view file_name,
            std::optional<int> ranks = std::nullopt);
inline constexpr int kMaxBodyDepth = 32;

}  // namespace lockstep

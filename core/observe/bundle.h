// A bundle of a plan, for reports: what it computes, and its place in the model's source.
#pragma once

#include <cstddef>
#include <string>

#include "core/runtime/plan.h"

namespace lockstep {

/// Commands [begin, end) of a plan, which run at once and are measured together. All are of one
/// class of work.
struct CommandBundle {
  const Plan& plan;
  std::size_t begin;
  std::size_t end;
  bool is_update;

  const Command& first() const { return plan.commands[begin]; }
  const Node& node() const { return plan.graph[first().value]; }
};

/// Op and types, "dot_general f32[64,512] (f32[64,256], f32[256,512])": equal for the same
/// computation in different layers.
std::string signature_of(const CommandBundle& bundle);

/// "gpt.cpp:41", without the module.
std::string source_line(const Node& node);

}  // namespace lockstep

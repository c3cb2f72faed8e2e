// One difference between a recorded graph and its relative, in words.
#pragma once

#include <string>
#include <string_view>

#include "core/explain/cause.h"

namespace lockstep {

struct Difference {
  Cause cause = Cause::kFirstCompile;
  /// What differs: "batch.tokens[length]", "constant f32[] model.cpp:41 (h.3)", "2 ops at ...".
  std::string subject = {};
  std::string from = {};  ///< "57"; empty where `to` says all
  std::string to = {};    ///< "61"; "is a new input, used by ..."
  std::string line = {};  ///< "model.cpp:41"; empty where there is none
  std::string scope = {};
  /// It follows from the others: no cause of its own.
  bool derived = false;
  /// Derived, as far as one can tell: it may be a cause of its own.
  bool perhaps = false;
  /// Of what gradients() recorded: it follows from any that was recorded by a line itself.
  bool gradient = false;
  /// What ends it; empty where nothing does. Of static storage.
  std::string_view remedy = remedy_of(cause);

  /// "batch.tokens[length]: 57 -> 61".
  std::string text() const;
};

inline std::string Difference::text() const {
  std::string out = subject;
  if (!from.empty()) return out + ": " + from + " -> " + to;
  return to.empty() ? out : out + " " + to;
}

}  // namespace lockstep

// One difference between a recorded graph and its relative (the nearest older one), in words.
#pragma once

#include <string>
#include <string_view>

#include "core/explain/cause.h"

namespace lockstep {

struct Difference {
  Cause cause = Cause::kFirstCompile;
  /// What differs: "batch.tokens[length]", "constant f32[] model.cpp:41 (h.3)", "2 ops at ...".
  std::string subject = {};
  std::string from = {};  ///< "57"; empty if `to` says all
  std::string to = {};    ///< "61"; "is a new input, used by ..."
  std::string note = {};  ///< on the change: "10 of 10 differ"
  std::string line = {};  ///< "model.cpp:41"; empty if there is none
  std::string scope = {};
  /// It follows from the others, and is not a cause itself.
  bool derived = false;
  /// Probably derived, but it may be a cause itself.
  bool perhaps = false;
  /// It is in nodes that gradients() recorded: it follows from any difference in nodes that a line
  /// recorded itself.
  bool gradient = false;
  /// It is of an input without a name: a value that another program made.
  bool made_input = false;
  /// The remedy; empty if there is none. Of static storage.
  std::string_view remedy = remedy_of(cause);

  /// "57 -> 61", with its note: "0 -> 1 (10 of 10 differ)". Empty if `to` says all.
  std::string change() const;
  /// "batch.tokens[length]: 57 -> 61".
  std::string text() const;
};

inline std::string Difference::change() const {
  if (from.empty()) return "";
  return from + " -> " + to + (note.empty() ? "" : " (" + note + ")");
}

inline std::string Difference::text() const {
  std::string out = subject;
  if (!from.empty()) return out + ": " + change();
  return to.empty() ? out : out + " " + to;
}

}  // namespace lockstep

// Passes are tested in the text form, before and after.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/ir/text.h"
#include "core/ir/verify.h"

namespace lockstep::testing {

using PlainPass = Graph (*)(Graph, const Target&);

/// The result of the pass on a text, printed. Labels are not compared.
inline std::string after(PlainPass pass, std::string_view text) {
  Graph graph = pass(parse(text, "before.ir"), Target{});
  verify(graph, "the pass under test");
  return print(graph);
}

/// The text in printed form: numbered, one node per line.
inline std::string normal(std::string_view text) {
  return print(parse(text, "after.ir"));
}

}  // namespace lockstep::testing

/// Statements with values, so that a failure shows both texts.
#define EXPECT_BECOMES(pass, before_text, after_text)          \
  EXPECT_EQ(::lockstep::testing::after((pass), (before_text)), \
            ::lockstep::testing::normal(after_text))
#define EXPECT_STAYS(pass, text) EXPECT_BECOMES(pass, text, text)

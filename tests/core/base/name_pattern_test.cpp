#include "core/base/name_pattern.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace lockstep {
namespace {

TEST(NamePattern, MatchesWholeNames) {
  EXPECT_TRUE(matches("h.0.attn.bias", "h.*.attn.bias"));
  EXPECT_FALSE(matches("h.0.attn.c_attn.bias", "h.*.attn.bias"));
  EXPECT_FALSE(matches("aba", "ab*ba")) << "begin and end must not overlap";
  EXPECT_TRUE(matches("bert.layer.5.bias", "*.layer.[0-5].*"));
  EXPECT_FALSE(matches("bert.layer.6.bias", "*.layer.[0-5].*"));
  EXPECT_FALSE(matches("bert.layer.15.bias", "*.layer.[0-5].*"));
  EXPECT_TRUE(matches("a.6", "a.[!0-5]"));
  EXPECT_TRUE(matches("a.b", "a?b"));
}

TEST(NamePattern, IsAsFarAsTheEditsThatWouldMakeItMatch) {
  EXPECT_EQ(pattern_distance("h.0.ln_1.bias", "*.bias"), 0);
  EXPECT_EQ(pattern_distance("h.0.ln_1.bias", "*.biass"), 1);
  EXPECT_EQ(pattern_distance("h.6.w", "h.[0-5].w"), 1);
  EXPECT_EQ(pattern_distance("h.10.w", "h.?.w"), 1);
  EXPECT_EQ(pattern_distance("", "abc"), 3);
  EXPECT_EQ(pattern_distance("abc", ""), 3);
  EXPECT_EQ(pattern_distance("a[b", "a[b"), 0) << "a set that does not end is text";
}

/// A few characters, so that names often match.
rc::Gen<std::string> texts(const std::string& alphabet) {
  return rc::gen::container<std::string>(rc::gen::elementOf(alphabet));
}

RC_GTEST_PROP(NamePattern, IsZeroFarIfItMatches, ()) {
  const std::string name = *texts("ab.");
  const std::string pattern = *texts("ab.*?");
  RC_ASSERT((pattern_distance(name, pattern) == 0) == matches(name, pattern));
}

TEST(NamePattern, NamesWhatIsNearest) {
  constexpr std::array<std::string_view, 5> kNames{"wte.weight", "h.0.ln.weight", "h.0.ln.bias",
                                                   "h.1.ln.bias", "lm_head.bias"};
  EXPECT_EQ(nearest_names("*.bais", kNames),
            "; the nearest are 'h.0.ln.bias', 'h.1.ln.bias' and 'lm_head.bias'");
  EXPECT_EQ(nearest_names("x", std::span(kNames).first(1)), "; the nearest is 'wte.weight'");
  EXPECT_EQ(nearest_names("x", {}), "");
}

}  // namespace
}  // namespace lockstep

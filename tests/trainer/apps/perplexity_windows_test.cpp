#include "trainer/apps/perplexity_windows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep {
namespace {

using Windows = std::vector<ScoredWindow>;

TEST(PerplexityWindows, OfAShortTextAreOne) {
  EXPECT_EQ(scored_windows(0, 8, 4), Windows{});
  EXPECT_EQ(scored_windows(1, 8, 4), Windows{}) << "nothing precedes its token";
  EXPECT_EQ(scored_windows(5, 8, 4), (Windows{{0, 5, 1}}));
  EXPECT_EQ(scored_windows(8, 8, 4), (Windows{{0, 8, 1}}));
}

TEST(PerplexityWindows, OfALongTextOverlap) {
  EXPECT_EQ(scored_windows(13, 8, 4), (Windows{{0, 8, 1}, {4, 12, 8}, {8, 13, 12}}));
  EXPECT_EQ(scored_windows(13, 8, 8), (Windows{{0, 8, 1}, {8, 13, 9}})) << "or begin anew";
}

// Against the loop of Hugging Face's documentation: for begin_loc in range(0, seq_len, stride).
RC_GTEST_PROP(PerplexityWindows, AreThoseOfTheLoop, ()) {
  const auto tokens = *rc::gen::inRange<std::int64_t>(2, 60);
  const auto context = *rc::gen::inRange<std::int64_t>(2, 20);
  const auto stride = *rc::gen::inRange<std::int64_t>(1, context + 1);
  const Windows windows = scored_windows(tokens, context, stride);
  std::int64_t previous_end = 0;
  std::size_t at = 0;
  for (std::int64_t begin = 0; begin < tokens; begin += stride, ++at) {
    const std::int64_t end = std::min(begin + context, tokens);
    const std::int64_t targets = end - previous_end;  // the last ones, the first of which may be
    RC_ASSERT(at < windows.size());                   // the window's first token: not predicted
    RC_ASSERT(windows[at].begin == begin && windows[at].end == end);
    RC_ASSERT(end - windows[at].scored == std::min(targets, end - begin - 1));
    previous_end = end;
    if (end == tokens) break;
  }
  RC_ASSERT(at + 1 == windows.size());
}

}  // namespace
}  // namespace lockstep

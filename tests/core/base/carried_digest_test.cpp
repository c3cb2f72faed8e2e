// Two digests in one header: which owner explains a difference.
#include "core/base/carried_digest.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

CarriedDigestPtr digest_of(const std::string& name, std::uint64_t digest, std::string details) {
  return std::make_shared<CarriedDigest>(
      CarriedDigest{{digest, 0},
                    [details = std::move(details)] { return details; },
                    [name](const std::vector<std::string>& all) {
                      std::string text = name + ":";
                      for (const std::string& each : all) text += " [" + each + "]";
                      return Error(ErrorKind::kData, text);
                    }});
}

TEST(CarriedDigest, AloneIsItself) {
  const CarriedDigestPtr one = digest_of("one", 1, "x");
  EXPECT_EQ(join(one, nullptr), one);
  EXPECT_EQ(join(nullptr, one), one);
  EXPECT_EQ(join(nullptr, nullptr), nullptr);
}

TEST(CarriedDigest, JoinedDiffersIfEitherDoes) {
  const auto joined = [](std::uint64_t a, std::uint64_t b) {
    return join(digest_of("a", a, ""), digest_of("b", b, ""))->digest;
  };
  EXPECT_EQ(joined(1, 2), joined(1, 2));
  EXPECT_NE(joined(1, 2), joined(3, 2));
  EXPECT_NE(joined(1, 2), joined(1, 3));
  EXPECT_NE(joined(1, 2), joined(2, 1));
}

TEST(CarriedDigest, IsExplainedByTheOneWhoseDetailsDiffer) {
  const CarriedDigestPtr first = join(digest_of("a", 1, "1 2"), digest_of("b", 2, ""));
  const std::string other_a = join(digest_of("a", 1, "3"), digest_of("b", 2, ""))->details();
  const std::string other_b = join(digest_of("a", 1, "1 2"), digest_of("b", 2, "4"))->details();
  EXPECT_STREQ(first->explain({first->details(), other_a}).what(), "a: [1 2] [3]");
  EXPECT_STREQ(first->explain({first->details(), other_b}).what(), "b: [] [4]");
}

}  // namespace
}  // namespace lockstep

#include "data/tokens/token_dataset.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/samples/subset.h"
#include "tests/data/tokens/token_fields.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

TokenStreamPtr counting(std::int64_t n) {
  Ids ids(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
  return std::make_shared<MemoryTokens>("corpus.txt", ids, std::max<std::int64_t>(n, 1));
}

TEST(TokenDataset, SamplesFollowEachOtherAndTargetsAreShiftedByOne) {
  const TokenDataset dataset(counting(10), 3);
  EXPECT_EQ(dataset.size(), 3);
  EXPECT_EQ(field(dataset.get(1), "tokens"), (Ids{3, 4, 5}));
  EXPECT_EQ(field(dataset.get(1), "targets"), (Ids{4, 5, 6}));
  EXPECT_EQ(field(dataset.get(2), "targets"), (Ids{7, 8, 9}));
}

TEST(TokenDataset, WithStrideOneEveryOffsetIsASample) {
  const TokenDataset dataset(counting(10), 3, 1);
  EXPECT_EQ(dataset.size(), 7);
  EXPECT_EQ(field(dataset.get(6), "tokens"), (Ids{6, 7, 8}));
  EXPECT_EQ(field(dataset.get(6), "targets"), (Ids{7, 8, 9}));
}

RC_GTEST_PROP(TokenDataset, HasAsManySamplesAsFit, ()) {
  const auto block = *rc::gen::inRange<std::int64_t>(1, 20);
  const auto stride = *rc::gen::inRange<std::int64_t>(1, 25);
  const auto n = *rc::gen::inRange<std::int64_t>(block + 1, 200);
  const TokenDataset dataset(counting(n), block, stride);
  std::int64_t fitting = 0;
  while (fitting * stride + block + 1 <= n) ++fitting;
  RC_ASSERT(dataset.size() == fitting);
  RC_ASSERT(field(dataset.get(fitting - 1), "targets").back() == (fitting - 1) * stride + block);
}

TEST(TokenDataset, OneBlockAndOneTokenIsEnough) {
  EXPECT_EQ(TokenDataset(counting(5), 4).size(), 1);
  EXPECT_EQ(
      data_error([] { TokenDataset(counting(4), 4); }),
      "corpus.txt: too short: it has 4 tokens, but one block of 4 tokens and its targets need "
      "at least 5");
}

TEST(TokenDataset, DescribesItsFieldsWithoutFetching) {
  const TokenDataset dataset(counting(100), 8);
  const auto fields = dataset.fields();
  ASSERT_EQ(fields.size(), 2U);
  for (const FieldSpec& spec : fields) {
    const HostTensor tensor = dataset.get(0).at(spec.name);
    EXPECT_EQ(tensor.dtype(), spec.dtype);
    EXPECT_EQ(tensor.shape(), spec.shape);
  }
  EXPECT_EQ(dataset.describe(), "corpus.txt: 100 tokens, 12 samples of 8");
  EXPECT_EQ(dataset.source(3), "corpus.txt");
}

TEST(SubsetDataset, IsARangeOfAnother) {
  const auto whole = std::make_shared<TokenDataset>(counting(100), 8);
  const SubsetDataset subset(whole, 4, 6);
  EXPECT_EQ(subset.size(), 2);
  EXPECT_EQ(field(subset.get(1), "tokens"), field(whole->get(5), "tokens"));
  EXPECT_NE(subset.digest(), SubsetDataset(whole, 4, 7).digest());
  EXPECT_EQ(subset.describe(), "samples [4, 6) of corpus.txt: 100 tokens, 12 samples of 8");
  EXPECT_EQ(usage_error([&] { SubsetDataset(whole, 4, 13); }),
            "the range [4, 13) is not a part of the 12 samples of corpus.txt: 100 tokens, 12 "
            "samples of 8");
}

}  // namespace
}  // namespace lockstep

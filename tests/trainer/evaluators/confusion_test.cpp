#include "trainer/evaluators/confusion.h"

#include <gtest/gtest.h>

#include <array>

namespace lockstep {
namespace {

std::string counted(Confusion& to, const std::vector<std::int32_t>& labels,
                    const std::vector<std::int32_t>& predictions, const std::vector<float>& mask) {
  const Shape rows{static_cast<std::int64_t>(mask.size())};
  return ConfusionCounter(to).partial({{"label", HostTensor::of(rows, labels)},
                                       {"prediction", HostTensor::of(rows, predictions)},
                                       {"mask", HostTensor::of(rows, mask)}});
}

TEST(Confusion, CountsWhatTheMaskLetsThrough) {
  Confusion confusion;
  const std::array partials = {counted(confusion, {0, 1, 1}, {0, 1, 2}, {1, 1, 1}),
                               counted(confusion, {1, 1, 9}, {1, 2, 9}, {1, 1, 0}), std::string()};
  EXPECT_TRUE(confusion.empty());
  EXPECT_TRUE(ConfusionCounter(confusion).combine(partials, {}).empty());
  using Cell = Confusion::Cell;
  EXPECT_EQ(confusion.counts(),
            (std::map<Cell, std::int64_t>{{Cell{0, 0}, 1}, {Cell{1, 1}, 2}, {Cell{1, 2}, 2}}));
  EXPECT_EQ(confusion.csv({"cat", "a \"dog\", brown"}),
            "label,prediction,count\r\ncat,cat,1\r\n"
            "\"a \"\"dog\"\", brown\",\"a \"\"dog\"\", brown\",2\r\n"
            "\"a \"\"dog\"\", brown\",2,2\r\n");
  EXPECT_EQ(confusion.table({"cat", "dog"}),
            "class  samples  accuracy  most often predicted as\n"
            "cat          1    1.0000\n"
            "dog          4    0.5000  2 (2)\n");
}

TEST(Confusion, PrintsNamesOnOneLineAndKeepsThemInFiles) {
  Confusion confusion;
  confusion.add({0, 1});
  confusion.add({1, 0});
  const std::vector<std::string> names = {"k\xc3\xa4se-rot", "\x1b[31m\n"};
  EXPECT_EQ(confusion.table(names),
            "class       samples  accuracy  most often predicted as\n"
            "k\xc3\xa4se-rot          1    0.0000  \\x1b[31m\\n (1)\n"
            "\\x1b[31m\\n        1    0.0000  k\xc3\xa4se-rot (1)\n");
  EXPECT_EQ(confusion.csv(names),
            "label,prediction,count\r\nk\xc3\xa4se-rot,\"\x1b[31m\n\",1\r\n"
            "\"\x1b[31m\n\",k\xc3\xa4se-rot,1\r\n");
}

TEST(Confusion, OfAModelThatGivesNoPredictionsIsEmpty) {
  Confusion confusion;
  const HostTensor mask = HostTensor::of(Shape{1}, std::vector<float>{1});
  const std::array partials = {ConfusionCounter(confusion).partial({{"mask", mask}})};
  ConfusionCounter(confusion).combine(partials, {});
  EXPECT_TRUE(confusion.empty());
}

TEST(Confusion, OfManyClassesShowsTheWorst) {
  Confusion confusion;
  for (std::int32_t i = 0; i < 100; ++i) {
    confusion.add({i, i}, 100 - i);
    confusion.add({i, (i + 1) % 100}, i);
  }
  const std::string table = confusion.table({});
  EXPECT_EQ(table.substr(0, table.find("\n98")),
            "class  samples  accuracy  most often predicted as\n"
            "99         100    0.0100  0 (99)");
  EXPECT_EQ(table.find("\n79 "), std::string::npos);
  EXPECT_NE(table.find("(the worst 20 of 100 classes)\n"
                       "most frequent confusions:\n"
                       "  99 predicted as 0: 99\n"
                       "  98 predicted as 99: 98\n"),
            std::string::npos);
  EXPECT_EQ(table.find("  89 predicted as"), std::string::npos);
}

}  // namespace
}  // namespace lockstep

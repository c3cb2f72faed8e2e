#include "data/tokens/labels.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

TextDocuments labelled(const std::vector<DocumentLabel>& labels) {
  TextDocuments out{.files = {"x.jsonl"}, .all = {}};
  for (const DocumentLabel& label : labels)
    out.all.push_back({"text", {0, std::ssize(out.all) + 1}, label});
  return out;
}

DocumentLabel integer(std::int64_t value) {
  return {.name = std::to_string(value), .integer = value};
}

TEST(Labels, AreSorted) {
  EXPECT_EQ(label_names(labelled({{"no"}, {"yes"}, {"maybe"}, {"no"}})),
            (Names{"maybe", "no", "yes"}));
  EXPECT_EQ(label_names(labelled({integer(10), integer(9), integer(-3), integer(9)})),
            (Names{"-3", "9", "10"}))
      << "integers by their value";
  EXPECT_EQ(label_names(labelled({integer(10), integer(9), {"all"}})), (Names{"10", "9", "all"}))
      << "as texts beside a text";
  EXPECT_EQ(label_names(labelled({{"9"}, integer(9)})), (Names{"9"})) << "the same label";
}

RC_GTEST_PROP(Labels, DoNotDependOnTheOrderOfDocuments, ()) {
  std::vector<DocumentLabel> labels;
  for (const int value :
       *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-20, 20))))
    labels.push_back(value % 3 == 0 ? DocumentLabel{.name = std::to_string(value)}
                                    : integer(value));
  TextDocuments documents = labelled(labels);
  const Names names = label_names(documents);
  std::ranges::reverse(labels);
  RC_ASSERT(label_names(labelled(labels)) == names);
  number_labels(documents, names, "the file");
  for (const TextDocument& document : documents.all)
    RC_ASSERT(names.at(static_cast<std::size_t>(document.label.number)) == document.label.name);
}

TEST(Labels, ThatAreUnknownAreNamed) {
  TextDocuments documents = labelled({{"a"}, {"\x1b"}});
  EXPECT_EQ(data_error([&] {
              number_labels(documents, Names{"a", "b"}, "the run");
            }),
            "x.jsonl:2: the label '\\x1b' is none of the 2 labels of the run: 'a', 'b'");
  Names many;
  for (char c = 'a'; c <= 'z'; ++c) many.emplace_back(1, c);
  EXPECT_EQ(list_labels(many), "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j' and 16 more");
}

}  // namespace
}  // namespace lockstep

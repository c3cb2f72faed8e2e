#include "data/tokens/documents.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/tokenizers/tokenizer_files.h"
#include "data/tokens/document_dataset.h"
#include "data/tokens/jsonl.h"
#include "data/tokens/packed_dataset.h"
#include "data/tokens/text_documents.h"
#include "tests/data/tokens/marking_tokenizer.h"
#include "tests/data/tokens/token_fields.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

std::vector<std::string> texts(const TextDocuments& documents) {
  std::vector<std::string> out;
  for (const TextDocument& document : documents.all) out.push_back(document.text);
  return out;
}

/// Documents of these tokens, one a line of docs.txt.
Documents documents_of(const std::vector<Ids>& all) {
  Documents out{.files = {"docs.txt"}, .all = {}};
  for (const Ids& ids : all) out.all.push_back({ids, {0, std::ssize(out.all) + 1}});
  return out;
}

class DocumentFiles : public testing::Test {
 protected:
  /// What is wrong with this line, the second of a file, after "FILE:2:".
  std::string fault(const std::string& line, const JsonlOptions& options = {}) {
    const std::string path = folder_.write("x.jsonl", "{\"text\": \"a\", \"label\": 0}\n" + line);
    const std::string message = data_error([&] { read_jsonl({path}, options); });
    EXPECT_EQ(message.substr(0, path.size() + 3), path + ":2:");
    return message.substr(std::min(message.size(), path.size() + 3));
  }
  TemporaryFolder folder_;
};

TEST_F(DocumentFiles, JsonlHasADocumentALine) {
  const std::string a = folder_.write(
      "a.jsonl", "{\"text\": \"ab\", \"id\": 1}\r\n\n{\"text\": \"\"}\n{\"text\": \"c\"}");
  const std::string b = folder_.write("b.jsonl", "{\"text\": \"d\"}");
  const TextDocuments documents = read_jsonl({a, b}, {});
  EXPECT_EQ(texts(documents), (std::vector<std::string>{"ab", "", "c", "d"}));
  EXPECT_EQ(documents.place(documents.all[2].place), a + ":4");
  EXPECT_EQ(documents.place(documents.all[3].place), b + ":1");
  EXPECT_EQ(documents.name(), a + " ... " + b + " (2 files)");
}

TEST_F(DocumentFiles, JsonlHasLabels) {
  const std::string path =
      folder_.write("a.jsonl", "{\"body\": \"ab\", \"y\": 1}\n{\"body\": \"c\", \"y\": \"no\"}");
  const JsonlOptions options{.text_field = "body", .label_field = "y"};
  const TextDocuments documents = read_jsonl({path}, options);
  EXPECT_EQ(documents.all[0].label.name, "1");
  EXPECT_EQ(documents.all[0].label.integer, 1);
  EXPECT_EQ(documents.all[1].label.name, "no");
  EXPECT_EQ(documents.all[1].label.integer, std::nullopt);
}

TEST_F(DocumentFiles, JsonlHasPairs) {
  const JsonlOptions pairs{.pair_field = "other"};
  const std::string path =
      folder_.write("a.jsonl", "{\"text\": \"ab\", \"other\": \"\"}\n{\"text\": \"c\"}");
  EXPECT_EQ(data_error([&] { read_jsonl({path}, pairs); }),
            path + ":2:1: no field 'other' (data.text_pair_field); the object has: \"text\"");
  const std::string good = folder_.write("b.jsonl", "{\"other\": \"cd\", \"text\": \"ab\"}");
  const TextDocuments documents = read_jsonl({good}, pairs);
  EXPECT_EQ(documents.all[0].text, "ab");
  EXPECT_EQ(documents.all[0].second, "cd");
}

TEST_F(DocumentFiles, JsonlNamesFileAndLineOfABadLine) {
  EXPECT_EQ(fault("{\"text\": }"),
            "10: not valid JSON: in value - unexpected '}'; expected '[', '{', or a literal");
  EXPECT_EQ(fault("[1]"), "1: a line must be an object, not a list");
  EXPECT_EQ(fault("{\"id\": 1, \"body\": \"a\"}"),
            "1: no field 'text' (data.text_field); the object has: \"id\", \"body\"");
  EXPECT_EQ(fault("{\"text\": 5}"), "10: text: must be a string, not 5");
  EXPECT_EQ(fault("{\"text\": null}"), "10: text: must be a string, not null");
  const JsonlOptions labelled{.label_field = "label"};
  EXPECT_EQ(fault("{\"text\": \"a\"}", labelled),
            "1: no field 'label' (data.label_field); the object has: \"text\"");
  EXPECT_EQ(fault("{\"text\": \"a\", \"label\": \"\"}", labelled),
            "24: label: a label must not be an empty text");
  for (const char* label : {"1.5", "true", "null"})
    EXPECT_EQ(fault(fmt::format("{{\"text\": \"a\", \"label\": {}}}", label), labelled),
              fmt::format("24: label: must be a text or an integer, not {}", label));
  EXPECT_EQ(fault("{\"text\": \"a\", \"label\": 18446744073709551615}", labelled),
            "24: label: 18446744073709551615 has more than 64 bits");
  const std::string blank = folder_.write("blank.jsonl", "\n \n");
  EXPECT_EQ(data_error([&] { read_jsonl({blank}, {}); }), blank + ": no documents in 2 lines");
}

TEST_F(DocumentFiles, JsonlDropsNothingSilently) {
  EXPECT_EQ(fault(std::string("{\"text\": \"a\"}\0, \"b\": 1}", 23)),
            "14: not valid JSON: a NUL byte (0x00); the file is damaged, or no text");
  EXPECT_EQ(fault("{\"text\": \"a\", \"text\": \"b\"}"),
            "15: the key \"text\" is there twice, first at 2:2");
  EXPECT_EQ(fault("{\"text\": \"a\", \"score\": 1e999}"),
            "24: the number 1e999 is too large: no number is beyond 1.8e308");
  EXPECT_EQ(fault("{\"text\": \"a\", \"score\": NaN}").substr(0, 46),
            "24: not valid JSON: NaN is not a JSON number, ");
  const JsonlOptions labelled{.label_field = "label"};
  EXPECT_EQ(fault("{\"text\": \"a\", \"label\": " + std::string(100'000, '[') + "}", labelled),
            "87: nested more than 64 deep");
  const std::string marked = folder_.write("mark.jsonl", "\xef\xbb\xbf{\"text\": \"a\"}\r\n");
  EXPECT_EQ(texts(read_jsonl({marked}, {})), std::vector<std::string>{"a"});
}

TEST_F(DocumentFiles, TextHasLinesParagraphsOrIsOneDocument) {
  const std::string path = folder_.write("x.txt", "\n one\ntwo\r\n\t\nthree\n");
  const auto read = [&](DocumentUnit unit) { return read_text_documents({path}, unit); };
  EXPECT_EQ(texts(read(DocumentUnit::kLine)), (std::vector<std::string>{" one", "two", "three"}));
  const TextDocuments paragraphs = read(DocumentUnit::kParagraph);
  EXPECT_EQ(texts(paragraphs), (std::vector<std::string>{" one\ntwo", "three"}));
  EXPECT_EQ(paragraphs.all[0].place.line, 2);
  EXPECT_EQ(paragraphs.all[1].place.line, 5);
  EXPECT_EQ(texts(read(DocumentUnit::kFile)).size(), 1U);
  const std::string blank = folder_.write("blank.txt", " \n");
  EXPECT_EQ(data_error([&] { read_text_documents({blank}, DocumentUnit::kLine); }),
            blank + ": no documents: every line is blank");
}

TEST(Documents, AreSplitInOrder) {
  TextDocuments all{.files = {"a"}, .all = {}};
  for (const char* text : {"1", "2", "3", "4", "5"}) all.all.push_back({text, {0, 1}});
  const DocumentSplit split = split_documents(all, 0.7);
  EXPECT_EQ(texts(split.train), (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(texts(split.validation), (std::vector<std::string>{"4", "5"}));
}

/// The tokens of the document "abc" under a limit; a = 0, ..., begin = 5, end = 6.
Ids tokenized(DocumentFrame frame, const DocumentLimit& limit) {
  const TextDocuments text{.files = {"x.txt"}, .all = {{"abc", {0, 7}}}};
  return tokenize_documents(text, MarkingTokenizer(), frame, limit).all[0].tokens;
}

TEST(Documents, AreFramedAndCut) {
  EXPECT_EQ(tokenized(DocumentFrame::kEndOfText, {}), (Ids{0, 1, 2, 6}));
  EXPECT_EQ(tokenized(DocumentFrame::kSpecialTokens, {}), (Ids{5, 0, 1, 2, 6}));
  const auto cut = [](DocumentFrame frame, std::int64_t tokens) {
    return tokenized(frame, {tokens, OnTooLong::kTruncate});
  };
  EXPECT_EQ(cut(DocumentFrame::kEndOfText, 4), (Ids{0, 1, 2, 6}));
  EXPECT_EQ(cut(DocumentFrame::kEndOfText, 3), (Ids{0, 1, 2})) << "it goes on";
  EXPECT_EQ(cut(DocumentFrame::kEndOfText, 2), (Ids{0, 1}));
  EXPECT_EQ(cut(DocumentFrame::kSpecialTokens, 4), (Ids{5, 0, 1, 6}));
  EXPECT_EQ(usage_error([&] { cut(DocumentFrame::kSpecialTokens, 2); }),
            "x.txt:7: data.sequence_length 2 leaves no room between 2 special tokens");
}

TEST(Documents, ThatAreTooLongOrCannotBeEncodedAreNamed) {
  EXPECT_EQ(
      data_error([] { tokenized(DocumentFrame::kSpecialTokens, {.tokens = 4}); }),
      "x.txt:7: a document of 5 tokens, 2 of them special, but a sample takes at most 4: give "
      "a longer data.sequence_length, or data.on_too_long: truncate, which cuts off the end");
  const TextDocuments text{.files = {"x.txt"}, .all = {{"az", {0, 2}}}};
  EXPECT_EQ(data_error([&] {
              tokenize_documents(text, *character_tokenizer("chars", "abc"),
                                 DocumentFrame::kEndOfText);
            }),
            "x.txt:2: the character 'z' (U+007A) at position 1 is not in the vocabulary of 3");
}

TEST(DocumentDataset, PredictsTheNextTokenAndLeavesOutWhatHasNone) {
  const DocumentDataset dataset(documents_of({{1, 2, 3, 9}, {9}, {5, 9}}),
                                DocumentFields::kNextToken, 7);
  EXPECT_EQ(dataset.size(), 2);
  EXPECT_EQ(field(dataset.get(0), "tokens"), (Ids{1, 2, 3}));
  EXPECT_EQ(field(dataset.get(0), "targets"), (Ids{2, 3, 9}));
  EXPECT_EQ(field(dataset.get(1), "tokens"), (Ids{5}));
  EXPECT_EQ(field(dataset.get(1), "targets"), (Ids{9}));
  EXPECT_EQ(dataset.source(1), "docs.txt:3");
  const auto fields = dataset.fields();
  for (const FieldSpec& spec : fields) {
    EXPECT_TRUE(spec.variable_length);
    EXPECT_EQ(spec.shape, Shape{3}) << "the longest of the data";
  }
  EXPECT_EQ(fields[0].pad_value, 7);
  EXPECT_EQ(fields[1].pad_value, -100);
  EXPECT_EQ(dataset.lengths(0),
            (std::map<std::string, std::int64_t>{{"tokens", 3}, {"targets", 3}}));
  EXPECT_EQ(dataset.mean_length(), 2);
  EXPECT_EQ(data_error([] { DocumentDataset(documents_of({{9}}), DocumentFields::kNextToken, 0); }),
            "docs.txt: none of 1 documents has the two tokens that a sample needs");
}

TEST(DocumentDataset, HasLabels) {
  Documents documents = documents_of({{1, 2}, {}});
  documents.all[0].label = 4;
  const DocumentDataset dataset(documents, DocumentFields::kLabel, 0);
  EXPECT_EQ(dataset.size(), 2) << "an empty text has a label, too";
  EXPECT_EQ(field(dataset.get(0), "tokens"), (Ids{1, 2}));
  EXPECT_EQ(to_doubles(dataset.get(0).at("label"))[0], 4);
  EXPECT_EQ(dataset.get(1).at("tokens").shape(), Shape{0});
  documents.all[0].label = 3;
  EXPECT_NE(dataset.digest(), DocumentDataset(documents, DocumentFields::kLabel, 0).digest());
}

TEST(PackedDataset, TokensSeeTheirOwnDocumentOnly) {
  const PackedDataset dataset(documents_of({{10, 11, 12}, {}, {20, 21, 22, 23, 24}, {30}, {40}}),
                              4);
  ASSERT_EQ(dataset.size(), 2) << "what does not fill a sample is left out";
  const Sample first = dataset.get(0);
  EXPECT_EQ(field(first, "tokens"), (Ids{10, 11, 12, 20}));
  EXPECT_EQ(field(first, "targets"), (Ids{11, 12, -100, 21}));
  EXPECT_EQ(field(first, "segments"), (Ids{1, 1, 1, 2}));
  EXPECT_EQ(field(first, "positions"), (Ids{0, 1, 2, 0}));
  const Sample second = dataset.get(1);
  EXPECT_EQ(field(second, "tokens"), (Ids{21, 22, 23, 24}));
  EXPECT_EQ(field(second, "targets"), (Ids{22, 23, 24, -100}));
  EXPECT_EQ(field(second, "segments"), (Ids{1, 1, 1, 1}));
  EXPECT_EQ(field(second, "positions"), (Ids{0, 1, 2, 3})) << "the document was cut";
  EXPECT_EQ(dataset.source(1), "docs.txt:3");
  EXPECT_EQ(data_error([] {
              PackedDataset(documents_of({{1}, {2}}), 4);
            }),
            "docs.txt: too short: its 2 documents have 2 tokens, but a sample needs 4");
}

RC_GTEST_PROP(PackedDataset, HasEveryTokenOnceWithItsOwnDocumentsNext, ()) {
  const auto all = *rc::gen::container<std::vector<Ids>>(
      rc::gen::container<Ids>(rc::gen::inRange<std::int32_t>(0, 50)));
  const auto length = *rc::gen::inRange<std::int64_t>(1, 12);
  Ids tokens, targets;
  for (const Ids& ids : all)
    for (std::size_t i = 0; i < ids.size(); ++i) {
      tokens.push_back(ids[i]);
      targets.push_back(i + 1 < ids.size() ? ids[i + 1] : kNoTarget);
    }
  RC_PRE(std::ssize(tokens) >= length);
  const PackedDataset dataset(documents_of(all), length);
  RC_ASSERT(dataset.size() == std::ssize(tokens) / length);
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const Sample sample = dataset.get(i);
    const Ids segments = field(sample, "segments"), positions = field(sample, "positions");
    RC_ASSERT(segments[0] == 1 && positions[0] == 0);
    for (std::int64_t j = 0; j < length; ++j) {
      const auto at = static_cast<std::size_t>(i * length + j), k = static_cast<std::size_t>(j);
      RC_ASSERT(field(sample, "tokens")[k] == tokens[at]);
      RC_ASSERT(field(sample, "targets")[k] == targets[at]);
      if (j == 0) continue;
      const bool same = targets[at - 1] != kNoTarget;
      RC_ASSERT((segments[k] == segments[k - 1]) == same);
      const std::int32_t next = same ? positions[k - 1] + 1 : 0;
      RC_ASSERT(positions[k] == next);
    }
  }
}

}  // namespace
}  // namespace lockstep

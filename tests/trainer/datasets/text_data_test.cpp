// Datasets of text as opened by the registry's rows for each kind of model.
#include <gtest/gtest.h>

#include "tests/data/tokens/token_fields.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/datasets/document_files.h"
#include "trainer/datasets/token_files.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

class TextRows : public testing::Test {
 protected:
  OpenContext context(const std::string& inputs, std::int64_t length = 8) {
    return {.needs = {.inputs = inputs, .sequence_length = length, .n_classes = 2},
            .sequence_length = length,
            .tokenizer = {.type = TokenizerType::kFile, .path = vocabulary_}};
  }

  /// A text for each label, which is JSON.
  std::string labelled(const std::string& name, const std::vector<std::string>& labels) {
    std::string out;
    for (const std::string& label : labels)
      out += fmt::format("{{\"text\": \"one\", \"label\": {}}}\n", label);
    return folder_.write(name, out);
  }

  TemporaryFolder folder_;
  // Tokens 0 to 8.
  std::string vocabulary_ =
      folder_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\none\ntwo\n##s\nthree\n");
  std::string jsonl_ = folder_.write("x.jsonl",
                                     "{\"text\": \"one twos\", \"label\": 1}\n"
                                     "{\"text\": \"three\", \"label\": 0}\n");
};

/// All of a sample that was not masked, by what it became or was.
Ids unmasked(const Sample& sample) {
  Ids tokens = field(sample, "tokens");
  const Ids targets = field(sample, "targets");
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (targets[i] != -100) tokens[i] = targets[i];
  return tokens;
}

TEST_F(TextRows, AMaskedModelReadsDocumentsOneByOne) {
  JsonlData data{.path = {jsonl_}, .val_fraction = 0};
  const DataSource out = data.open(context("masked_tokens"));
  ASSERT_EQ(out.train->size(), 2);
  EXPECT_EQ(unmasked(out.train->get(0)), (Ids{2, 5, 6, 7, 3}));
  EXPECT_EQ(unmasked(out.train->get(1)), (Ids{2, 8, 3}));
  EXPECT_EQ(out.tokens_per_sample, 4);
  EXPECT_EQ(data_error([&] { data.open(context("masked_tokens", 4)); }),
            jsonl_ +
                ":1: a document of 5 tokens, 2 of them special, but a sample takes at most 4: give "
                "a longer data.sequence_length, or data.on_too_long: truncate, which cuts off the "
                "end");
  data.on_too_long = OnTooLong::kTruncate;
  EXPECT_EQ(unmasked(data.open(context("masked_tokens", 4)).train->get(0)), (Ids{2, 5, 6, 3}));
}

TEST_F(TextRows, AMaskedModelReadsPackedDocuments) {
  JsonlData data{.path = {jsonl_}, .val_fraction = 0, .packing = Packing::kAcross};
  const DataSource across = data.open(context("masked_tokens", 6));
  ASSERT_EQ(across.train->size(), 1);
  EXPECT_EQ(unmasked(across.train->get(0)), (Ids{2, 5, 6, 7, 3, 3})) << "separated by [SEP]";
  data.packing = Packing::kWithin;
  const Sample within = data.open(context("masked_tokens")).train->get(0);
  EXPECT_EQ(unmasked(within), (Ids{2, 5, 6, 7, 3, 2, 8, 3}));
  EXPECT_EQ(field(within, "segments"), (Ids{1, 1, 1, 1, 1, 2, 2, 2}));
}

TEST_F(TextRows, AMaskedModelReadsText) {
  TextData data{.path = {folder_.write("x.txt", "one two three one two three")}, .val_fraction = 0};
  const DataSource out = data.open(context("masked_tokens", 5));
  ASSERT_EQ(out.train->size(), 2);
  EXPECT_EQ(unmasked(out.train->get(1)), (Ids{2, 5, 6, 8, 3}));
  TokensData shards{.path = {"none.bin"}};
  OpenContext without = context("masked_tokens");
  without.tokenizer = {};
  without.needs.vocab_size = 9;
  EXPECT_NE(error_of([&] { shards.open(without); }), "no error");
}

TEST_F(TextRows, AMaskedModelNeedsATokenizerWithAMask) {
  OpenContext characters = context("masked_tokens");
  characters.tokenizer = {.type = TokenizerType::kChar, .vocab = {}, .merges = {}, .path = {}};
  const JsonlData data{.path = {jsonl_}, .val_fraction = 0};
  EXPECT_EQ(usage_error([&] { data.open(characters); }),
            "the tokenizer has no mask token, which a masked language model needs");
}

TEST_F(TextRows, AClassifierReadsLabels) {
  const JsonlData data{.path = {jsonl_}, .val_path = {jsonl_}};
  const DataSource out = data.open(context("labelled_tokens"));
  EXPECT_EQ(field(out.train->get(0), "tokens"), (Ids{2, 5, 6, 7, 3}));
  EXPECT_EQ(field(out.train->get(0), "label"), (Ids{1}));
  EXPECT_EQ(field(out.validation->get(1), "label"), (Ids{0}));
  EXPECT_EQ(out.classes, (std::vector<std::string>{"0", "1"}));
}

TEST_F(TextRows, AClassifierHasTheLabelsOfItsTrainingData) {
  const std::string train = labelled("train.jsonl", {"\"good\"", "\"bad\"", "\"good\""});
  JsonlData data{.path = {train}, .val_path = {labelled("val.jsonl", {"\"good\""})}};
  OpenContext any = context("labelled_tokens");
  any.needs.n_classes = 0;
  const DataSource out = data.open(any);
  EXPECT_EQ(out.classes, (std::vector<std::string>{"bad", "good"}));
  EXPECT_EQ(field(out.train->get(0), "label"), (Ids{1}));
  EXPECT_EQ(field(out.train->get(1), "label"), (Ids{0}));
  EXPECT_EQ(field(out.validation->get(0), "label"), (Ids{1}));
  const std::string other = labelled("other.jsonl", {"\"good\"", "\"fair\\n\""});
  data.val_path = {other};
  EXPECT_EQ(data_error([&] { data.open(any); }),
            other +
                ":2: the label 'fair\\n' is none of the 2 labels of the training data: 'bad', "
                "'good'");
  // The last document validates: nobody is trained on its label.
  data = {.path = {labelled("split.jsonl", {"1", "2", "3"})}, .val_fraction = 0.3};
  EXPECT_EQ(data_error([&] { data.open(any); }),
            data.path[0] +
                ":3: the label '3' is none of the 2 labels of the training data: '1', "
                "'2'");
}

TEST_F(TextRows, AClassifierKeepsTheLabelsThatItHas) {
  const std::string train = labelled("train.jsonl", {"\"good\""});
  OpenContext known = context("labelled_tokens");
  known.classes = {"worst", "bad", "good"};
  known.needs.n_classes = 3;
  const JsonlData data{.path = {train}, .val_fraction = 0};
  const DataSource out = data.open(known);
  EXPECT_EQ(out.classes, known.classes);
  EXPECT_EQ(field(out.train->get(0), "label"), (Ids{2}));
  known.classes = {"bad", "fine"};
  EXPECT_EQ(data_error([&] { data.open(known); }),
            train + ":1: the label 'good' is none of the 2 labels of the model: 'bad', 'fine'");
}

TEST_F(TextRows, AClassifierRefusesAnotherNumberOfLabels) {
  const JsonlData data{.path = {labelled("train.jsonl", {"7", "-1", "12"})}, .val_fraction = 0};
  OpenContext two = context("labelled_tokens");
  const std::string begin = data.path[0] + ": 3 labels ('-1', '7', '12'), but the model is for 2";
  EXPECT_EQ(data_error([&] { data.open(two); }), begin);
  two.needs.classes_key = "model.num_labels";
  EXPECT_EQ(data_error([&] { data.open(two); }),
            begin + "; 'model.num_labels: auto' takes the number from the data");
  two.needs.n_classes = 0;
  const JsonlData one{.path = {labelled("one.jsonl", {"5", "5"})}, .val_fraction = 0};
  EXPECT_EQ(
      data_error([&] { one.open(two); }),
      one.path[0] + ": every document has the label '5': a classifier needs two or more labels");
}

TEST_F(TextRows, AClassifierReadsPairs) {
  JsonlData data{.path = {folder_.write("pairs.jsonl",
                                        "{\"text\": \"one\", \"b\": \"two\", \"label\": \"x\"}\n"
                                        "{\"text\": \"one\", \"b\": \"\", \"label\": \"y\"}\n")},
                 .val_fraction = 0};
  EXPECT_EQ(field(data.open(context("labelled_tokens")).train->get(0), "tokens"), (Ids{2, 5, 3}));
  data.text_pair_field = "b";
  const DataSource out = data.open(context("labelled_tokens"));
  EXPECT_EQ(field(out.train->get(0), "tokens"), (Ids{2, 5, 3, 6, 3}));
  EXPECT_EQ(field(out.train->get(0), "token_types"), (Ids{0, 0, 0, 1, 1}));
  EXPECT_EQ(field(out.train->get(1), "tokens"), (Ids{2, 5, 3, 3})) << "an empty second text";
  EXPECT_EQ(usage_error([&] { data.open(context("masked_tokens")); }),
            "data.text_pair_field: only models that classify texts take pairs of them");
}

TEST_F(TextRows, ADecoderReadsTheNextToken) {
  DocumentsData data{.path = {folder_.write("x.txt", "one two\n\nthree one\ntwo\n")},
                     .val_fraction = 0};
  const DataSource out = data.open(context("tokens"));
  ASSERT_EQ(out.train->size(), 2);
  EXPECT_EQ(field(out.train->get(1), "tokens"), (Ids{8, 5}));
  EXPECT_EQ(field(out.train->get(1), "targets"), (Ids{5, 6}));
  EXPECT_EQ(out.train->fields()[0].pad_value, 0) << "[PAD]";
}

}  // namespace
}  // namespace lockstep

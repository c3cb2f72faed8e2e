#include "data/tokens/text.h"

#include <gtest/gtest.h>

#include <set>

#include "data/files/read_text.h"
#include "data/tokenizers/tokenizer_files.h"
#include "data/tokens/token_dataset.h"
#include "tests/data/tokens/all_of.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(ReadText, RefusesMissingAndEmptyFiles) {
  const TemporaryFolder folder;
  const std::string missing = folder.path("missing.txt");
  EXPECT_EQ(data_error([&] { read_text(missing); }),
            missing + ": cannot be opened: No such file or directory");
  const std::string empty = folder.write("empty.txt", "");
  EXPECT_EQ(data_error([&] { read_text(empty); }),
            empty + ": the file is empty (0 bytes), but text is needed");
  EXPECT_EQ(data_error([&] { read_text(folder.path("")); }),
            folder.path("") + ": not a regular file");
}

TEST(Text, AFileShorterThanOneBlockIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.write("short.txt", "hello");
  const std::string text = read_text(path);
  const auto tokens = tokenize_text(path, text, *character_tokenizer(path, text));
  EXPECT_EQ(data_error([&] { TokenDataset(tokens, 64); }),
            path +
                ": too short: it has 5 tokens, but one block of 64 tokens and its targets need at "
                "least 65");
}

TEST(Text, SplitsBetweenCharacters) {
  const auto [train, validation] = split_text("aäbö", 0.5);
  EXPECT_EQ(train, "aä");
  EXPECT_EQ(validation, "bö");
  EXPECT_EQ(split_text("abc", 1).validation, "");
  EXPECT_EQ(usage_error([] { split_text("abc", 1.5); }),
            "the training fraction must be in (0, 1], but is 1.5");
}

TEST(Text, NamesTheFileOfACharacterThatIsNotInTheVocabulary) {
  const auto tokenizer = character_tokenizer("train.txt", "abc");
  EXPECT_EQ(data_error([&] { tokenize_text("val.txt", "abx", *tokenizer); }),
            "val.txt: the character 'x' (U+0078) at position 2 is not in the vocabulary of 3");
}

TEST(Text, AWholeTextIsSplitAndComesBack) {
  std::string text;
  for (int verse = 1; verse <= 1000; ++verse) {
    text += std::to_string(verse) +
            ": The quick brown fox jumps over Mirabel's lazy dog, doesn't it?\n";
  }
  const auto tokenizer = character_tokenizer("verses.txt", text);
  EXPECT_EQ(tokenizer->vocab_size(), std::ssize(std::set<char>(text.begin(), text.end())));
  const auto [train, validation] = split_text(text, 0.9);
  EXPECT_EQ(train.size(), text.size() * 9 / 10);
  const auto train_tokens = tokenize_text("train", train, *tokenizer);
  const auto validation_tokens = tokenize_text("validation", validation, *tokenizer);
  EXPECT_EQ(train_tokens->size(), std::ssize(train));
  EXPECT_EQ(
      tokenizer->decode(all_of(*train_tokens)) + tokenizer->decode(all_of(*validation_tokens)),
      text);
}

}  // namespace
}  // namespace lockstep

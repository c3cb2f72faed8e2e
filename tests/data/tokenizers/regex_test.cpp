#include "data/tokenizers/regex.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using Texts = std::vector<std::string>;

Texts matches(const Regex& regex, std::string_view text) {
  Texts out;
  regex.for_each_match(text, [&](std::size_t begin, std::size_t end) {
    out.emplace_back(text.substr(begin, end - begin));
  });
  return out;
}

Texts matches(const std::string& pattern, std::string_view text) {
  return matches(Regex(pattern, "t.json: here"), text);
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// Runs of one kind of character each: a letter, a digit, a space, a line's end.
struct Run {
  char kind;
  std::string text;
};

/// Neighbours differ in kind; many are longer than what the matcher looks at in one go.
std::vector<Run> random_runs() {
  std::vector<Run> out;
  for (const auto& [kind, size] : *rc::gen::resize(
           8, rc::gen::container<std::vector<std::pair<int, int>>>(rc::gen::resize(
                  rc::kNominalSize,
                  rc::gen::pair(rc::gen::inRange(0, 4),
                                rc::gen::oneOf(rc::gen::inRange(1, 5), rc::gen::inRange(500, 530),
                                               rc::gen::inRange(1, 700))))))) {
    constexpr std::array<const char*, 4> kCharacters = {"鿕", "7", "\u3000", "\n"};
    const char name = "ld n"[kind];
    if (!out.empty() && out.back().kind == name) continue;
    out.push_back({name, repeated(kCharacters[static_cast<std::size_t>(kind)],
                                  static_cast<std::size_t>(size))});
  }
  return out;
}

std::string joined(const std::vector<Run>& runs) {
  std::string out;
  for (const Run& run : runs) out += run.text;
  return out;
}

RC_GTEST_PROP(Regex, MatchesAsIfItSawTheWholeText, ()) {
  static const Regex kRuns(R"(\p{L}+|\d+|[^\S\n]+|\n+)", "t.json");
  static const Regex kLines(R"([\p{L}\d]+$|\n)", "t.json");
  static const Regex kLetters(R"((?<!\p{L})\p{L}+(?!\n))", "t.json");
  const std::vector<Run> runs = random_runs();
  Texts all;
  Texts lines;    // letters and digits in front of a line's end, and that
  Texts letters;  // all of them, but not the last in front of a line's end
  std::string line;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [kind, text] = runs[i];
    all.push_back(text);
    const bool ends = i + 1 == runs.size() || runs[i + 1].kind == 'n';
    line = kind == 'l' || kind == 'd' ? line + text : "";
    if (ends && !line.empty()) lines.push_back(line);
    if (kind == 'n') lines.insert(lines.end(), text.size(), "\n");
    const bool before_line_end = i + 1 < runs.size() && runs[i + 1].kind == 'n';
    const std::string told = before_line_end ? text.substr(0, text.size() - 3) : text;
    if (kind == 'l' && !told.empty()) letters.push_back(told);
  }
  RC_ASSERT(matches(kRuns, joined(runs)) == all);
  RC_ASSERT(matches(kLines, joined(runs)) == lines);
  RC_ASSERT(matches(kLetters, joined(runs)) == letters);
}

TEST(Regex, AScriptIsThatOfACharacterNotOneItIsUsedIn) {
  EXPECT_EQ(matches(R"(\p{Han}+)", "漢、字"), (Texts{"漢", "字"})) << "U+3001 is in any script";
  EXPECT_EQ(matches(R"([\p{Han}a]+|\p{^Han}|\P{Latin})", "漢a、"), (Texts{"漢a", "、"}));
}

TEST(Regex, FindsLiterals) {
  EXPECT_EQ(matches(Regex::of_literal("aa"), "aaaaba"), (Texts{"aa", "aa"}));
  EXPECT_EQ(matches(Regex::of_literal(""), "é€"), (Texts{"", "", ""}));
  EXPECT_EQ(matches(Regex::of_literal("▁"), repeated("▁", 1000)).size(), 1000);
}

TEST(Regex, TextsOfUsualTokenizersMayRepeatOneCharacter) {
  // Source: meta-llama/Meta-Llama-3-8B, tokenizer.json.
  const Regex llama3(
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      "t.json");
  constexpr std::size_t kSize = 300'000;
  for (const char* one : {" ", "a", "鿕", "=", "\n", " \t"})
    EXPECT_EQ(matches(llama3, repeated(one, kSize)).size(), 1) << '"' << one << '"';
  EXPECT_EQ(matches(llama3, repeated(" ", kSize) + "a"), (Texts{repeated(" ", kSize - 1), " a"}));
  EXPECT_EQ(matches(llama3, repeated("1", kSize)).size(), kSize / 3);
}

/// What PCRE2 alone would need hours for: its limit is for each match.
TEST(Regex, BoundsTheWorkOnAText) {
  const auto refusal = [](const std::string& pattern, std::string_view text) {
    return data_error([&] { matches(pattern, text); });
  };
  const std::string text = repeated("a", 1'500);
  EXPECT_EQ(refusal("(?:a|a){20}b|.", text),
            "t.json: here: the regular expression \"(?:a|a){20}b|.\" takes more steps than allowed "
            "in a text of 1500 bytes: remove alternatives that match the same and nested "
            "repetitions from it, or use another tokenizer");
  const std::string steps = "takes more steps than allowed";
  for (const char* pattern : {"(?>a*)b|.", "(?:a*+b|a)*c|.", "a*a*a*b|.", "(?=a*b)c|.",
                              "(?:(?>a*)b|a)*c", "(?<!b)(?:a|aa)+$(?!a)b|a"})
    EXPECT_NE(refusal(pattern, text).find(steps), std::string::npos) << pattern;
  EXPECT_EQ(matches("(?:a|a){7}b|.", text).size(), 1500) << "more than most, but not too much";
}

}  // namespace
}  // namespace lockstep

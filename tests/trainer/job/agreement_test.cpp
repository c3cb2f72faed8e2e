// Ranks with different tasks are refused, alike on all of them, and told apart.
#include "trainer/job/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ranks/on_ranks.h"
#include "trainer/config/load.h"
#include "trainer/config/schema.h"
#include "trainer/config/values.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

Config small_config() {
  return load_config(LOCKSTEP_SOURCE_DIR "/configs/bench/mlp.yaml", built_in()).config;
}

/// What each of `terms.size()` ranks gets to hear.
std::vector<std::string> answers(const std::vector<std::vector<Term>>& terms,
                                 ErrorKind kind = ErrorKind::kUsage) {
  return errors_on_ranks(static_cast<int>(terms.size()), kind, [&](Communicator& communicator) {
    require_agreement(communicator, terms[static_cast<std::size_t>(communicator.rank())], kind);
  });
}

/// The message that all ranks get.
std::string message(const std::vector<std::vector<Term>>& terms) {
  const std::vector<std::string> all = answers(terms);
  EXPECT_THAT(all, Each(all[0]));
  return all[0];
}

TEST(Agreement, OfEqualRanksIsSilent) {
  EXPECT_THAT(answers({{{"a", "1"}}, {{"a", "1"}}, {{"a", "1"}}}), Each("no error"));
  EXPECT_THAT(answers({{{"a", "1"}}}), Each("no error"));
}

TEST(Agreement, NamesEachKeyThatDiffersWithValuesAndRanks) {
  EXPECT_EQ(message({{{"a", "1"}, {"b", "2"}, {"c", "3"}}, {{"a", "1"}, {"b", "5"}, {"c", ""}}}),
            "the ranks were given different things to do:\n"
            "  b: 2 on rank 0; 5 on rank 1\n"
            "  c: 3 on rank 0; '' on rank 1");
}

TEST(Agreement, JoinsRanksThatHaveTheSameValue) {
  EXPECT_EQ(message({{{"a", "1"}, {"b", "x"}},
                     {{"a", "2"}, {"b", "x"}},
                     {{"a", "1"}, {"b", "x"}},
                     {{"a", "1"}, {"b", "y"}},
                     {{"a", "1"}, {"b", "x"}}}),
            "the ranks were given different things to do:\n"
            "  a: 1 on ranks 0 2-4; 2 on rank 1\n"
            "  b: x on ranks 0-2 4; y on rank 3");
}

TEST(Agreement, ShowsAKeyThatOnlySomeHave) {
  EXPECT_EQ(message({{{"a", "1"}, {"z", "1"}}, {{"a", "1"}, {"b", "2"}, {"z", "1"}}}),
            "the ranks were given different things to do:\n"
            "  b: (none) on rank 0; 2 on rank 1");
}

TEST(Agreement, TellsValuesApartBeyondWhatIsShown) {
  const std::string common(1000, 'x');
  EXPECT_THAT(message({{{"a", common + "1"}}, {{"a", common + "2"}}}), HasSubstr("  a: xxxx"));
}

TEST(Agreement, ShowsEightGroupsOfRanksAndTwentyKeys) {
  std::vector<std::vector<Term>> terms;
  for (int rank = 0; rank < 10; ++rank) {
    terms.emplace_back();
    for (int key = 0; key < 30; ++key)
      terms.back().push_back({std::to_string(key), std::to_string(rank)});
  }
  const std::string text = message(terms);
  EXPECT_THAT(text, HasSubstr("7 on rank 7\n"));
  EXPECT_THAT(text, Not(HasSubstr("8 on rank 8")));
  EXPECT_THAT(text, HasSubstr("  19: "));
  EXPECT_THAT(text, Not(HasSubstr("  20: ")));
  EXPECT_THAT(text, HasSubstr("\n  and 10 more\n"));
  EXPECT_THAT(text,
              HasSubstr("and 2 more groups of ranks with other differences, the first is rank 8"));
}

TEST(Agreement, CoversEveryKeyThatIsNotPerRank) {
  const Config config = small_config();
  const Registry registry = built_in();
  const std::vector<Term> before = terms_of(config, registry, {.command = "train"}, {});
  const Schema schema(registry);
  for (const ConfigKey& key : schema.keys()) {
    if (schema.unmet(key, config) != nullptr) continue;
    const bool listed = std::any_of(before.begin(), before.end(),
                                    [&](const Term& term) { return term.key == key.path; });
    EXPECT_EQ(listed, !key.per_rank) << key.path;
  }
}

TEST(Agreement, CoversBuildCommandAndEnvironment) {
  const auto keys = [](const std::vector<Term>& terms) {
    std::vector<std::string> out;
    for (const Term& term : terms) out.push_back(term.key);
    return out;
  };
  const std::vector<std::string> found =
      keys(terms_of(small_config(), built_in(), {.command = "train"}, settings_from_environment()));
  for (const char* key : {"command", "--dry-run", "checkpoint.resume", "build of lockstep",
                          "build of libdnnl.so.2", "environment variable LOCKSTEP_MAX_ISA"})
    EXPECT_THAT(found, testing::Contains(key));
}

TEST(Agreement, ComparesOfAResumeOnlyWhetherThereIsOne) {
  const auto resume = [](const std::string& text) {
    for (const Term& term :
         terms_of(small_config(), built_in(), {.command = "train", .resume = text}, {}))
      if (term.key == "checkpoint.resume") return term.value;
    return std::string("missing");
  };
  EXPECT_EQ(resume("none"), "none");
  EXPECT_EQ(resume("auto"), "auto");
  EXPECT_EQ(resume("/a/step-1.h5"), resume("/b/step-1.h5"));
}

}  // namespace
}  // namespace lockstep

// Scores of texts for a test in another language. Standard input is JSON: a list of corpora, each a
// list of [text, [reference, ...]]. Prints a list of [BLEU-4, exact match], one for each corpus.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/evaluators/text_scores.h"

int main() {
  nlohmann::json out = nlohmann::json::array();
  for (const nlohmann::json& corpus : nlohmann::json::parse(std::cin)) {
    lockstep::TextScores scores;
    for (const nlohmann::json& pair : corpus)
      scores.add(pair[0].get<std::string>(), pair[1].get<std::vector<std::string>>());
    out.push_back({scores.bleu(), scores.exact_match()});
  }
  std::cout << out << "\n";
}

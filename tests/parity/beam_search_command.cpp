// Beam search by a run's model for a test in another language, over tokens instead of texts.
//
//   beam_search_command RUN QUERIES
//
// QUERIES is a JSON file, a list of {"prompts": [[token, ...], ...] of one length, "num_beams",
// "length_penalty", "early_stopping", "max_new_tokens", "vocab_size", "end": token or null}. Prints
// a list with the hypotheses of each query's prompts: [[{"tokens", "score", "ended"}, ...], ...].
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "collectives/single.h"
#include "trainer/apps/restored_model.h"
#include "trainer/generation/search_beams.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_facts.h"
#include "trainer/run/saved_run.h"

using namespace lockstep;

namespace {

using Json = nlohmann::json;

Json answer(const Json& query, Engine& engine, const RestoredModel& restored,
            std::int64_t sequence_length) {
  const BeamOptions options{query["num_beams"], query["length_penalty"], query["early_stopping"]};
  std::vector<std::vector<std::int32_t>> rows;
  for (const Json& prompt : query["prompts"])
    rows.insert(rows.end(), static_cast<std::size_t>(options.num_beams),
                prompt.get<std::vector<std::int32_t>>());
  std::optional<std::int32_t> end;
  if (!query["end"].is_null()) end = query["end"].get<std::int32_t>();
  Continuation continuation(engine, *restored.model, restored.state.compute_dtype, sequence_length,
                            std::move(rows));
  Json out = Json::array();
  for (const std::vector<Hypothesis>& found :
       search_beams(continuation, options, query["max_new_tokens"], query["vocab_size"], end)) {
    Json list = Json::array();
    for (const Hypothesis& one : found)
      list.push_back({{"tokens", one.tokens}, {"score", one.score}, {"ended", one.ended}});
    out.push_back(list);
  }
  return out;
}

}  // namespace

int main(int /*argc*/, char** argv) {
  const Registry registry = built_in();
  Watch watch;
  std::unique_ptr<Communicator> alone = make_single_communicator();
  const SharedCheckpoint saved = SavedRun(argv[1]).share_checkpoint(*alone, watch.activity());
  const SavedFacts facts = facts_of(saved, registry);
  RankRuntime runtime(facts.config, Settings{}, std::move(alone), watch);
  const RestoredModel restored(facts.config, registry, facts.tokenizer->vocab_size(), runtime,
                               saved);
  std::ifstream file(argv[2]);
  Json out = Json::array();
  for (const Json& query : Json::parse(file))
    out.push_back(answer(query, runtime.engine(), restored,
                         registry.needs(facts.config.model).sequence_length));
  std::cout << out << "\n";
}

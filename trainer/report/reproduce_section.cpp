#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "trainer/report/sections.h"
#include "trainer/runs/flat_config.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string command_of(const RunFacts& facts) {
  if (!facts.config) return "";  // a program, whose name nobody kept, or not readable
  const int ranks = facts.lives.empty() ? 1 : facts.lives.back().ranks;
  // Under a name of its own: a new run of the same name moves this one aside.
  const std::string train =
      fmt::format("lockstep train {} {}", shell_word(facts.file("config.yaml")),
                  shell_word(fmt::format("run.name={}-again", facts.name)));
  return ranks == 1 ? train : fmt::format("mpirun -n {} {}", ranks, train);
}

OrderedJson facts_of_run(const RunFacts& facts) {
  OrderedJson out = OrderedJson::array();
  const auto add = [&](const char* name, const std::string& value, const std::string& source) {
    if (!value.empty()) out.push_back({{"name", name}, {"value", value}, {"source", source}});
  };
  if (facts.saved) {
    add("hash of the state", facts.saved->hash,
        "lockstep ckpt hash " + shell_word(facts.saved->path));
    add("of step", std::to_string(facts.saved->step), facts.saved->path);
    add("digest of the training data", facts.saved->dataset_digest, facts.saved->path);
  }
  if (facts.config) add("seed", std::to_string(facts.config->run.seed), facts.file("config.yaml"));
  if (facts.lives.empty()) return out;
  const RunLife& life = facts.lives.back();
  const std::string source = facts.file("history.json");
  add("lockstep", life.version, source);
  add("build", life.build, source);
  add("instruction set", life.instruction_set, source);
  add("processors", fmt::format("{}", fmt::join(life.processors, "; ")), source);
  add("hosts", fmt::format("{}", fmt::join(life.hosts, ", ")), source);
  add("ranks", std::to_string(life.ranks), source);
  add("threads of a rank", std::to_string(life.threads), source);
  add("began", life.began, source);
  add("ended", life.ended, source);
  return out;
}

std::string reproduce_finding(const RunFacts& facts) {
  if (!facts.saved) return "The run left no checkpoint whose hash could be compared.";
  if (facts.config && !facts.config->batch.deterministic)
    return "training.deterministic is false: another number of ranks gives other bits.";
  std::string out = fmt::format(
      "The same config, data and build give the state of hash {}... at step {} again, on any "
      "number "
      "of ranks",
      facts.saved->hash.substr(0, 12), facts.saved->step);
  if (!facts.lives.empty())
    out += fmt::format(" of processors with {}", facts.lives.back().instruction_set);
  if (facts.lives.size() != 1) out += ", if no setting was changed at a resume";
  return out + ".";
}

}  // namespace

std::string reproduce_section(const RunFacts& facts) {
  OrderedJson out{{"sources", {facts.file("config.yaml"), facts.file("history.json")}},
                  {"command", command_of(facts)},
                  {"config", facts.config_text},
                  {"facts", facts_of_run(facts)}};
  out["finding"] = reproduce_finding(facts);
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string config_differences(const std::vector<RunFacts>& runs) {
  std::vector<FlatConfig> configs;
  configs.reserve(runs.size());
  for (const RunFacts& run : runs) configs.push_back(flat_config(run.config_text));
  std::vector<const FlatConfig*> places;
  places.reserve(configs.size());
  for (const FlatConfig& config : configs) places.push_back(&config);
  OrderedJson out = OrderedJson::array();
  for (const DifferingKey& row : differing_keys(places)) {
    OrderedJson values = OrderedJson::array();
    for (const auto& value : row.values)
      values.push_back(value ? OrderedJson(*value) : OrderedJson(nullptr));
    out.push_back({{"key", row.key}, {"values", std::move(values)}});
  }
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep

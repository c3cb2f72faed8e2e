#include "trainer/job/agreement.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/build_id.h"
#include "trainer/config/schema.h"
#include "trainer/config/values.h"

namespace lockstep {
namespace {

constexpr std::size_t kShownGroups = 8;
constexpr std::size_t kShownKeys = 20;
constexpr std::size_t kShownBytes = 160;    ///< of a value
constexpr const char* kElsewhere = " ...";  ///< after a group's host if the group has others

using Json = nlohmann::json;
using Values = std::map<std::string, Term>;  ///< by key

/// Any bytes may come from a config, but JSON is UTF-8.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A shortened text keeps the hash of its value, so that values that differ only in the hidden part
/// differ.
std::string shown(const std::string& value) {
  if (value.size() <= kShownBytes) return value;
  return fmt::format("{}... ({} bytes, hash {})", value.substr(0, kShownBytes), value.size(),
                     hash128(value.data(), value.size()).hex().substr(0, 8));
}

Hash128 hash_of(std::span<const Term> terms) {
  Hasher hasher;
  for (const Term& term : terms)
    for (const std::string* text : {&term.key, &term.value}) {
      hasher.value(std::uint64_t{text->size()});
      hasher.bytes(text->data(), text->size());
    }
  return hasher.finish();
}

/// The keys in the order in which ranks have them: a key that only later groups have is placed
/// after its predecessor there.
std::vector<std::string> merge_keys(const std::vector<std::vector<Term>>& groups) {
  std::vector<std::string> out;
  for (const std::vector<Term>& terms : groups) {
    auto at = out.begin();
    for (const Term& term : terms) {
      const auto found = std::find(out.begin(), out.end(), term.key);
      at = 1 + (found == out.end() ? out.insert(at, term.key) : found);
    }
  }
  return out;
}

struct Entry {
  Term term;
  RankGroup group;
};

/// "0.001 on rank 0 (a), 0.0005 on ranks 1 2 (b)": groups with one value share an entry. Empty if
/// all have the same.
std::string describe_key(const std::string& key, const std::vector<Values>& values,
                         const std::vector<RankGroup>& groups) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto found = values[i].find(key);
    const Term term = found == values[i].end() ? Term{key, "(none)"} : found->second;
    auto entry = std::find_if(entries.begin(), entries.end(),
                              [&](const Entry& e) { return e.term.value == term.value; });
    if (entry == entries.end()) {
      entries.push_back({term, groups[i]});
      continue;
    }
    RankGroup& to = entry->group;
    to.ranks.insert(to.ranks.end(), groups[i].ranks.begin(), groups[i].ranks.end());
    std::sort(to.ranks.begin(), to.ranks.end());
    if (to.host != groups[i].host && !to.host.ends_with(kElsewhere)) to.host += kElsewhere;
  }
  if (entries.size() == 1) return "";
  std::vector<std::string> texts;
  for (const Entry& entry : entries) {
    const Term& term = entry.term;
    texts.push_back(fmt::format("{}{} on {}", term.value.empty() ? "''" : term.value,
                                term.note.empty() ? "" : fmt::format(", {},", term.note),
                                entry.group.to_string()));
  }
  return fmt::format("  {}: {}", key, fmt::join(texts, "; "));
}

std::string describe_differences(const std::vector<std::vector<Term>>& terms,
                                 const std::vector<RankGroup>& groups) {
  std::vector<Values> values;
  for (const std::vector<Term>& list : terms) {
    values.emplace_back();
    for (const Term& term : list) values.back()[term.key] = term;
  }
  std::vector<std::string> lines;
  for (const std::string& key : merge_keys(terms))
    if (std::string line = describe_key(key, values, groups); !line.empty())
      lines.push_back(std::move(line));
  const std::size_t keys = lines.size();
  if (keys > kShownKeys) {
    lines.resize(kShownKeys);
    lines.push_back(fmt::format("  and {} more", keys - kShownKeys));
  }
  if (groups.size() > terms.size())
    lines.push_back(
        fmt::format("  and {} more groups of ranks with other differences, the first is {}",
                    groups.size() - terms.size(), groups[terms.size()].to_string()));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::vector<Term> parse_terms(const std::string& text) {
  std::vector<Term> out;
  for (const Json& term : Json::parse(text)) out.push_back({term.at(0), term.at(1), term.at(2)});
  return out;
}

std::string terms_text(std::span<const Term> terms) {
  Json out = Json::array();
  for (const Term& term : terms) out.push_back({term.key, shown(term.value), term.note});
  return dump(out);
}

std::string_view what_differs(ErrorKind kind) {
  if (kind == ErrorKind::kData) return "data";
  return kind == ErrorKind::kCheckpoint ? "checkpoints" : "things to do";
}

/// The path of a checkpoint has no effect on ranks that do not read it.
std::string resume_kind(const std::string& resume) {
  return resume == "none" || resume == "auto" ? resume : "a checkpoint";
}

}  // namespace

std::string list_ranks(std::span<const int> ranks) {
  std::string out = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i > 2) {
      out += fmt::format(" {}-{}", ranks[i], ranks[end - 1]);
    } else {
      end = i + 1;
      out += fmt::format(" {}", ranks[i]);
    }
    i = end;
  }
  return out;
}

std::string RankGroup::to_string() const {
  return host.empty() ? list_ranks(ranks) : fmt::format("{} ({})", list_ranks(ranks), host);
}

std::optional<Term> term_of(const ConfigKey& key, const Config& config) {
  if (key.per_rank) return std::nullopt;
  if (key.path == "checkpoint.resume") return Term{key.path, resume_kind(config.checkpoint.resume)};
  return Term{key.path, value_text(key, config)};
}

std::vector<Term> terms_of(const Config& config, const Registry& registry, const Task& task,
                           const Settings& settings) {
  std::vector<Term> out{{"command", task.command},
                        {"--dry-run", task.dry_run ? "given" : "not given"}};
  Config asked = config;
  asked.checkpoint.resume = task.resume;
  const Schema schema(registry);
  for (const ConfigKey& key : schema.keys()) {
    if (schema.unmet(key, asked) != nullptr) continue;
    if (auto term = term_of(key, asked)) out.push_back(std::move(*term));
  }
  out.push_back({"environment variable LOCKSTEP_MAX_ISA", std::string(name_of(settings.max_isa))});
  for (const auto& [name, value] : settings.numerics)
    out.push_back({"environment variable " + name, value});
  for (const BuildPart& part : build_parts())
    out.push_back({"build of " + part.name, part.id.hex()});
  return out;
}

void agree_on_task(Communicator& communicator, const Config& config, const Registry& registry,
                   const Task& task, const Settings& settings) {
  if (communicator.size() == 1) return;
  require_agreement(communicator, terms_of(config, registry, task, settings), ErrorKind::kUsage);
}

std::vector<RankGroup> group_ranks(Communicator& communicator, const std::string& mine) {
  return group_equal(communicator.topology(), communicator.exchange("groups of ranks", mine));
}

std::vector<RankGroup> group_equal(const Topology& topology, std::span<const std::string> texts) {
  std::map<std::string, std::vector<int>> ranks_of;
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    ranks_of[texts[rank]].push_back(static_cast<int>(rank));
  std::vector<RankGroup> out;
  for (auto& [text, ranks] : ranks_of) {
    const std::string& host = topology.host_of(ranks[0]);
    const bool elsewhere = std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
      return topology.host_of(rank) != topology.host_of(ranks[0]);
    });
    out.push_back({std::move(ranks), host + (elsewhere ? kElsewhere : "")});
  }
  std::sort(out.begin(), out.end(),
            [](const RankGroup& a, const RankGroup& b) { return a.ranks[0] < b.ranks[0]; });
  return out;
}

std::optional<std::string> find_differences(Communicator& communicator,
                                            std::span<const Term> terms) {
  const Hash128 hash = hash_of(terms);
  if (communicator.agree("agreement of ranks", hash)) return std::nullopt;
  const std::vector<RankGroup> groups = group_ranks(communicator, hash.hex());
  const std::size_t count = std::min(groups.size(), kShownGroups);
  bool speaks = false;
  for (std::size_t i = 0; i < count; ++i) speaks |= groups[i].ranks[0] == communicator.rank();
  const std::vector<std::string> texts =
      communicator.exchange("what ranks were given", speaks ? terms_text(terms) : "");
  std::vector<std::vector<Term>> by_group;
  by_group.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    by_group.push_back(parse_terms(texts[static_cast<std::size_t>(groups[i].ranks[0])]));
  return describe_differences(by_group, groups);
}

void require_agreement(Communicator& communicator, std::span<const Term> terms, ErrorKind kind) {
  if (const auto differences = find_differences(communicator, terms))
    raise(kind, "the ranks were given different {}:\n{}", what_differs(kind), *differences);
}

}  // namespace lockstep

// Ranks of one job must be given the same task: one config, one build, one data set. All ranks
// compare one hash of everything that must be equal. Only if the hashes differ, the ranks exchange
// the texts, and the job ends on every rank with the same message:
//
//   the ranks were given different things to do:
//     optimizer.learning_rate: 0.001 on rank 0 (node-a); 0.0005 on rank 1 (node-b)
//
// What is compared: the resolved config but for the keys that the schema marks `per_rank`; the
// command and its options; the build and its libraries; the environment's numerics
// (core/base/settings.h); and, with code 3, the data (trainer/job/data_agreement.h). The
// instruction set is not compared but agreed on, see trainer/job/instruction_set.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/settings.h"
#include "core/runtime/communicator.h"
#include "trainer/settings/config.h"

namespace lockstep {

class Registry;
struct ConfigKey;

/// One value that must be equal on all ranks. The keys within a list are unique.
struct Term {
  std::string key;
  std::string value;
  std::string note = {};  ///< printed after the value, not compared: a file's path
};

/// The settings of the command line that are not in the config.
struct Task {
  std::string command;  ///< "train", "eval"
  bool dry_run = false;
  std::string resume = "none";  ///< none, auto or a path; overrides checkpoint.resume
};

/// The value of a key as ranks compare it; nothing for a key that may differ between them. Of
/// checkpoint.resume they compare whether there is one: only rank 0 reads the file.
std::optional<Term> term_of(const ConfigKey& key, const Config& config);

/// All values that must be equal before any rank starts to work, in the order of the message.
std::vector<Term> terms_of(const Config& config, const Registry& registry, const Task& task,
                           const Settings& settings);

/// Calls require_agreement() on terms_of() with kUsage; does nothing for a single rank.
void agree_on_task(Communicator& communicator, const Config& config, const Registry& registry,
                   const Task& task, const Settings& settings);

/// Collective. Returns nothing if all ranks have the same terms; otherwise, the same on every rank,
/// a line for each key that differs: its values and the ranks and hosts that have them. Prints at
/// most 8 groups of equal ranks, and 20 keys.
std::optional<std::string> find_differences(Communicator& communicator,
                                            std::span<const Term> terms);

/// Like find_differences(), but throws one Error of `kind` on every rank if there are differences.
void require_agreement(Communicator& communicator, std::span<const Term> terms, ErrorKind kind);

/// Ranks that have the same value in a comparison that failed.
struct RankGroup {
  std::vector<int> ranks;  ///< ranks with equal values, ascending
  std::string host;        ///< of the first rank, followed by "..." if others run on other hosts
  std::string to_string() const;  ///< "rank 1 (node-b)", "ranks 0 2-5 (node-a ...)"
};

/// Groups the ranks by equal texts; `texts` has one text per rank. Groups are ordered by first
/// rank.
std::vector<RankGroup> group_equal(const Topology& topology, std::span<const std::string> texts);

/// The same as a collective: each rank passes its own text, usually a hash.
std::vector<RankGroup> group_ranks(Communicator& communicator, const std::string& mine);

/// "rank 1", "ranks 0 2-5"
std::string list_ranks(std::span<const int> ranks);

}  // namespace lockstep

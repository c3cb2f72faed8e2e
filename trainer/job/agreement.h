// Ranks of one job must be given the same task: one config, one build, one data set. All ranks
// compare one hash of what must be equal; only where it differs do texts travel, and the job ends
// on every rank with the same message:
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

/// One thing that ranks have in common. Keys of a list are different.
struct Term {
  std::string key;
  std::string value;
  std::string note = {};  ///< shown behind the value, not compared: a file's path
};

/// What the command line asks for, beyond the config.
struct Task {
  std::string command;  ///< "train", "eval"
  bool dry_run = false;
  std::string resume = "none";  ///< none, auto or a path; overrides checkpoint.resume
};

/// All that must be equal before any rank does anything, in the order of the message.
std::vector<Term> terms_of(const Config& config, const Registry& registry, const Task& task,
                           const Settings& settings);

/// require_agreement() on terms_of() with kUsage; nothing for a single rank.
void agree_on_task(Communicator& communicator, const Config& config, const Registry& registry,
                   const Task& task, const Settings& settings);

/// All ranks call it at the same place. Nothing if all have the same terms, else, the same on every
/// rank, a line for each key that differs: its values and the ranks and hosts that have them. At
/// most 8 groups of equal ranks are shown, and 20 keys.
std::optional<std::string> find_differences(Communicator& communicator,
                                            std::span<const Term> terms);

/// The same, with one Error of `kind` on every rank if there are differences.
void require_agreement(Communicator& communicator, std::span<const Term> terms, ErrorKind kind);

/// Ranks that have the same in a comparison that failed.
struct RankGroup {
  std::vector<int> ranks;         ///< which are equal, ascending
  std::string host;               ///< of the first, "..." behind it if others are elsewhere
  std::string to_string() const;  ///< "rank 1 (node-b)", "ranks 0 2-5 (node-a ...)"
};

/// Which ranks have the same text, given one of each. The groups are in order of their first ranks.
std::vector<RankGroup> group_equal(const Topology& topology, std::span<const std::string> texts);

/// The same, called by all ranks, with one text each, most often of hashes.
std::vector<RankGroup> group_ranks(Communicator& communicator, const std::string& mine);

/// "rank 1", "ranks 0 2-5"
std::string list_ranks(std::span<const int> ranks);

}  // namespace lockstep

// The folder of a run: <path>/config.yaml, checkpoints/, metrics.jsonl, logs/. Only rank 0 accesses
// it.
#pragma once

#include <string>

namespace lockstep {

struct RunFolder {
  std::string path;
  std::string checkpoints;
};

/// A symbolic link is resolved: the folder that it points to is locked and moved aside.
RunFolder run_folder(const std::string& path);

/// Where the run that is replaced as number `number`, from 1 on, is moved.
std::string place_aside(const RunFolder& folder, int number);

/// The last run of that name that was moved aside for a new run and has checkpoints, or "".
std::string find_moved_run(const RunFolder& folder);

}  // namespace lockstep

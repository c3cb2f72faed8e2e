// Folders as runs leave them, made by hand.
#pragma once

#include <filesystem>
#include <string>

#include "tests/fixtures/temporary_folder.h"

namespace lockstep {

/// A run of five logged steps that has ended, whose files can be replaced. `change`: more lines of
/// its config.
inline std::string make_run(const TemporaryFolder& folder, const std::string& name,
                            const std::string& learning_rate = "0.1") {
  std::filesystem::create_directories(folder / (name + "/checkpoints"));
  folder.write(name + "/config.yaml",
               "run:\n  dir: " + folder.path() + "\n  name: " + name +
                   "\nmodel:\n  name: mlp\noptimizer:\n  learning_rate: " + learning_rate + "\n");
  std::string lines;
  for (int step = 1; step <= 5; ++step) {
    const std::string eval = step == 3 ? R"(,"eval/loss":7.5)" : "";
    lines += R"({"step":)" + std::to_string(step) + R"(,"epoch":0.5,"wall_time":)" +
             std::to_string(100 + step) + R"(.5,"train/loss":)" +
             (step == 4 ? "1.5" : std::to_string(step + 1) + ".0") + eval + "}\n";
  }
  folder.write(name + "/metrics.jsonl", lines);
  folder.write(name + "/history.json", R"({"format": "lockstep history", "version": 1, "lives": [
    {"began": "2026-11-23T05:40:00Z", "step": 0, "ranks": 1, "hosts": ["a"], "threads": 1,
     "instruction_set": "AVX2", "processors": [], "lockstep": "1", "build": "0",
     "ended": "2026-11-23T05:41:40Z", "how": "finished", "last_step": 6}]})");
  return folder / name;
}

}  // namespace lockstep

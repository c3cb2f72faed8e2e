// <run>/compilations.jsonl: a line for each program that a rank compiled, or loaded from the
// compile cache, with the reason. A resumed run appends to the same file.
//   {"rank": 0, "step": 3, "program": 5, "event": "compiled", "seconds": 1.31,
//    "cause": "input_shape", "causes": ["input_shape"], "misses": 5, "alike": 4,
//    "text": "batch.tokens[length]: 57 -> 61", "remedy": "pad it to a few sizes: ...",
//    "relative": 4, "cut": "step end", "line": "main.cpp:41", "mode": "training, f32",
//    "passes": {"canonicalize": 1.2, ..., "kernels": 801.5},
//    "structure": "9f2c...", "nodes": 2210, "inputs": 41, "outputs": 76, "consequences": 311,
//    "differences": [{"cause": "input_shape", "subject": "batch.tokens[length]", "from": "57",
//                     "to": "61", "line": "gpt.cpp:120", "scope": "wte", "derived": false,
//                     "remedy": "pad it ..."}, ...]}
// "passes" are ms of both programs by pass, of what was compiled; lines of older runs lack them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/explain/tally.h"
#include "core/observe/compilation.h"

namespace lockstep {

/// One line, without its newline. Contains the first kMaxDifferences differences.
std::string to_json(const CompilationRecord& record, int rank);
inline constexpr std::size_t kMaxDifferences = 64;

/// <run>/compilations.jsonl, which the ranks of rank 0's node share.
std::string compilations_path(const std::string& run_folder);
/// For a rank on another node: <run>/logs/compilations-rank-N.jsonl. It may have another file
/// system, or a shared one that does not order the appends of several nodes.
std::string compilations_path(const std::string& run_folder, int rank);

/// Reads the lines of this rank in a run's folder; an empty tally if there are none. Ignores a
/// truncated last line. Error kUsage, naming file and line, for any other line that to_json did not
/// write.
CauseTally read_compilations(const std::string& run_folder, int rank);

/// [{"cause": "input_shape", "subject": "batch.tokens[length]", "compiled": 2, "loaded": 0,
/// "seconds": 3.9, "what": ..., "line": "gpt.cpp:120", "remedy": ..., "with": [{"cause": ...,
/// "what": ..., "remedy": ...}]}, ...]: a row for each cause.
std::string causes_json(const CauseTally& tally);

/// A line, without what the tally is for.
struct CompilationEvent {
  std::int64_t step = 0;
  bool loaded = false;  ///< from the disk, instead of compiled
  double seconds = 0;
  std::string cause = {};   ///< the name of the main one
  std::string text = {};    ///< "batch.tokens[length]: 57 -> 61"; empty for the first of its kind
  std::string remedy = {};  ///< empty: nothing needs one
  PassMs passes = {};
};

/// The same lines, one by one.
std::vector<CompilationEvent> read_compilation_events(const std::string& run_folder, int rank);

class CompilationsFile {
 public:
  explicit CompilationsFile(int rank) : rank_(rank) {}
  ~CompilationsFile();
  CompilationsFile(const CompilationsFile&) = delete;
  CompilationsFile& operator=(const CompilationsFile&) = delete;

  /// Writes a line, or keeps it until a file is open.
  void add(const CompilationRecord& record);
  /// Appends to this file from now on. Each line is one write, so that ranks of a node can share
  /// the file. Logs one warning if the disk fails.
  void open(const std::string& path, Log& log);

 private:
  void write(const std::string& line);

  int rank_;
  int fd_ = -1;
  Log* log_ = nullptr;
  std::string path_;
  std::vector<std::string> kept_;
};

}  // namespace lockstep

// <run>/compilations.jsonl: a line for each program that a rank compiled, or loaded from the
// compile cache, with the reason. A resumed run goes on in the same file.
//   {"rank": 0, "step": 3, "program": 5, "event": "compiled", "seconds": 1.31,
//    "cause": "input_shape", "causes": ["input_shape"], "misses": 5, "alike": 4,
//    "text": "batch.tokens[length]: 57 -> 61", "remedy": "pad it to a few sizes: ...",
//    "relative": 4, "cut": "step end", "line": "main.cpp:41", "mode": "training, f32",
//    "structure": "9f2c...", "nodes": 2210, "inputs": 41, "outputs": 76, "consequences": 311,
//    "differences": [{"cause": "input_shape", "subject": "batch.tokens[length]", "from": "57",
//                     "to": "61", "line": "gpt.cpp:120", "scope": "wte", "derived": false}, ...]}
#pragma once

#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/engine/compilation.h"

namespace lockstep {

/// One line, without its end. Of the differences the first kMaxDifferences.
std::string to_json(const CompilationRecord& record, int rank);
inline constexpr std::size_t kMaxDifferences = 64;

class CompilationsFile {
 public:
  explicit CompilationsFile(int rank) : rank_(rank) {}
  ~CompilationsFile();
  CompilationsFile(const CompilationsFile&) = delete;
  CompilationsFile& operator=(const CompilationsFile&) = delete;

  /// Kept, if there is no file yet, until there is one.
  void add(const CompilationRecord& record);
  /// Appends to it from now on. Lines are written whole, so that ranks of a node can share the
  /// file. A failing disk is warned of, once.
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

// A parser of foreign bytes as a fuzz target: its inputs, and the allowed outcomes.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace lockstep::fuzz {

struct Target {
  std::string name;
  ErrorKind refusal;  ///< the kind that every refusal must have
  /// Valid inputs, which are mutated. Made when the target is first used.
  std::vector<std::string> (*seeds)();
  std::vector<std::string_view> words;  ///< words with a meaning to the parser
  /// Passes the input to the parser. Both accepting it and refusing it with an Error of `refusal`
  /// are right.
  void (*run)(const std::string& input);
  /// Repairs a check that would stop a mutated input at once, such as a checksum; may be null.
  void (*seal)(std::string& input, std::mt19937_64& random) = nullptr;
  /// Text that every refusal must contain: the input's name. Empty if the caller names it.
  std::string place = "";
};

/// All targets, in the order in which they run.
std::vector<Target> text_targets();
std::vector<Target> data_targets();
std::vector<Target> hdf5_targets();
std::vector<Target> binary_targets();
std::vector<Target> hub_targets();
std::vector<Target> all_targets();

/// A description of the finding; empty if the outcome of the input is right.
std::string judge(const Target& target, const std::string& input);

/// Input number `number` of a seed: a valid one after a few changes. A function of its arguments.
std::string draw_input(const Target& target, const std::vector<std::string>& good,
                       std::uint64_t seed, std::uint64_t number);

/// A regular file that exists only in memory. Its path is valid as long as the object lives.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace lockstep::fuzz

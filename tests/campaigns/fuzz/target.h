// A parser of foreign bytes as something to fuzz: what it is given, and what may come of it.
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
  /// Good inputs: what is mutated. Made when the target is first used.
  std::vector<std::string> (*seeds)();
  std::vector<std::string_view> words;  ///< that mean something to the parser
  /// Gives the input to the parser. Accepting it and refusing it with an Error of `refusal` are
  /// both right.
  void (*run)(const std::string& input);
  /// Makes a mutated input pass what would stop it at once, such as a checksum; may be null.
  void (*seal)(std::string& input, std::mt19937_64& random) = nullptr;
  /// What every refusal must contain: the input's name. Empty where the caller names it.
  std::string place = "";
};

/// All of them, in the order they are run.
std::vector<Target> text_targets();
std::vector<Target> data_targets();
std::vector<Target> hdf5_targets();
std::vector<Target> binary_targets();
std::vector<Target> hub_targets();
std::vector<Target> all_targets();

/// A finding, in words; empty if what came of the input is right.
std::string judge(const Target& target, const std::string& input);

/// Input number `number` of a seed: a good one after a few changes. A function of its arguments.
std::string draw_input(const Target& target, const std::vector<std::string>& good,
                       std::uint64_t seed, std::uint64_t number);

/// A regular file that exists in memory only. Its path lives as long as it does.
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

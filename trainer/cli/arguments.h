// The arguments of one command, parsed by its own list of options. Options are long ("--seed 1" or
// "--seed=1"; one with a letter also "-n 1"), are never abbreviated, and may stand anywhere; after
// "--" everything is positional.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

struct Key;

struct Option {
  std::string name;   ///< "resume" for --resume
  std::string value;  ///< the name of its value in the help: "PATH"; empty: a flag without a value
  std::string help;   ///< one line
  std::string bare = "";  ///< the value of "--resume" alone; empty: a value must be given
  char letter = '\0';     ///< 'n' for "-n N" beside "--ranks N"; 0: none
  bool many = false;      ///< takes all values up to the next option, and may be repeated
};

class Arguments {
 public:
  /// "--help" and "-h" are options of every command. Error kUsage, with a suggestion, for an
  /// unknown or repeated option, a missing value, or a value given to a flag.
  Arguments(std::span<const std::string> words, std::span<const Option> options);

  const std::vector<std::string>& positionals() const { return positionals_; }
  bool has(std::string_view option) const { return values_.contains(option); }
  bool wants_help() const { return has("help"); }
  std::optional<std::string> value(std::string_view option) const;
  /// Those of an option that takes many; empty if it was not given.
  std::vector<std::string> values(std::string_view option) const;

  /// The value as a number in the range of the config key `like`. Error kUsage otherwise: "--top-k
  /// must be an integer >= 0, not 'many'".
  std::optional<std::int64_t> integer(std::string_view option, const Key& like) const;
  std::optional<double> number(std::string_view option, const Key& like) const;

  /// An integer in [min, max]; error kUsage as above.
  std::optional<std::int64_t> integer(std::string_view option, std::int64_t min,
                                      std::int64_t max) const;

 private:
  std::vector<std::string> positionals_;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;  ///< none for flags
};

/// The options as lines of a help text.
std::string options_help(std::span<const Option> options);

}  // namespace lockstep

// Reads a config: takes YAML text and command-line overrides, returns a validated Config, or throws
// one Error that lists all problems, each with its location:
//   gpt.yaml:14:3: unknown key 'optimizer.learning_rat'; did you mean 'learning_rate'?
//   command line: training.max_steps=many: 'training.max_steps' must be an integer >= -1, not
//   'many'
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/settings/config.h"

namespace lockstep {

class Registry;

/// The beginning of the text that a program without a config saves in place of a config.
inline constexpr std::string_view kOfAProgram = "program:\n";

/// The location where a value was given.
struct ConfigOrigin {
  enum class Source { kFile, kCommandLine };
  Source source = Source::kFile;
  int line = 0;
  int column = 0;
  std::string text;  ///< "gpt.yaml:14:3" or "command line: key.path=value"
};

struct LoadedConfig {
  Config config;
  std::string file;  ///< the path as given
  std::map<std::string, ConfigOrigin, std::less<>>
      origins;  ///< of keys and sections that were given
  /// The keys for which the config overrides a folder of weights, as texts.
  std::vector<std::string> overruled = {};
  /// Why such a folder could not be read, and where it is named; only a resumed run does not need
  /// it.
  std::string missing_folder = {};

  /// The location to name in messages about a key: where it was given, else its section, else the
  /// file.
  std::string where(std::string_view path) const;
};

/// Reads `path` and applies overrides "section.key=value" in order; the last one of a key wins. The
/// config may choose the models, datasets and optimizers of `registry`. run.name defaults to the
/// file's name without extension. What model.init_from names sets the keys of the model
/// that are not given. Error kUsage with one line per problem: those of the file by line,
/// then those of the command line. `may_go_on`: the run may already exist, and then no longer needs
/// that folder.
LoadedConfig load_config(const std::string& path, const Registry& registry,
                         std::span<const std::string> overrides = {}, bool may_go_on = false);

/// The same for a text in memory; messages call it `file`. Reads no folder: a config that was saved
/// with a run has all keys.
LoadedConfig parse_config(std::string_view text, const std::string& file, const Registry& registry,
                          std::span<const std::string> overrides = {});
/// The same, but takes the keys that a folder with weights gives, as load_config() does.
LoadedConfig parse_new_config(std::string_view text, const std::string& file,
                              const Registry& registry, std::span<const std::string> overrides);

/// A model, dataset or optimizer that a config's text chooses and that is not in the registry.
struct MissingRow {
  std::string_view what;  ///< "model", "dataset", "optimizer"
  std::string name;
  std::vector<std::string> registered;
};
std::vector<MissingRow> find_missing_rows(std::string_view yaml, const Registry& registry);

}  // namespace lockstep

// Stored beside the artifacts: the builds, machines and options for which a structure was compiled
// before, to explain why no artifact fits. Like the artifacts it is a cache: a file that is damaged
// or missing is not an error.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/artifact_store.h"
#include "core/explain/difference.h"

namespace lockstep {

/// The settings for which a structure is compiled, in words: {"build", "1f0c..."},
/// {"distributed.bucket_mb", "25"}.
struct CompileSetting {
  std::string name;
  std::string value;
  Cause cause;  ///< of a recompilation because it differs
  friend bool operator==(const CompileSetting&, const CompileSetting&) = default;
};
using CompileSettings = std::vector<CompileSetting>;

/// In one line.
std::string print(const CompileSettings& settings);

class KnownStructures {
 public:
  /// In the folder of the artifacts.
  explicit KnownStructures(const ArtifactOptions& artifacts);

  /// Why the stored artifacts of a structure do not fit these settings: the differences to the
  /// nearest settings that it was compiled for. Empty if the structure is unknown.
  std::vector<Difference> explain(const Hash128& structure, const CompileSettings& settings);
  /// Records that the structure has been compiled for these settings.
  void add(const Hash128& structure, const CompileSettings& settings);

 private:
  std::vector<CompileSettings> load(const Hash128& structure);

  ArtifactStore files_;
};

}  // namespace lockstep

// Beside the artifacts: for what builds, machines and options a structure was compiled before, so
// that it can be told why none of them serves. As the artifacts, a cache in every respect: a file
// that is damaged, or not there, is no error.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/artifact_store.h"
#include "core/explain/difference.h"

namespace lockstep {

/// What a structure is compiled for, beside the structure itself, in words: {"build", "1f0c..."},
/// {"distributed.bucket_mb", "25"}.
struct CompileSetting {
  std::string name;
  std::string value;
  Cause cause;  ///< of a recompilation where it differs
  friend bool operator==(const CompileSetting&, const CompileSetting&) = default;
};
using CompileSettings = std::vector<CompileSetting>;

/// In one line.
std::string print(const CompileSettings& settings);

class KnownStructures {
 public:
  /// In the folder of the artifacts.
  explicit KnownStructures(const ArtifactOptions& artifacts);

  /// Why what is stored of a structure does not serve these settings: how they differ from the
  /// nearest that it was compiled for. Empty if it is not known at all.
  std::vector<Difference> explain(const Hash128& structure, const CompileSettings& settings);
  /// It has been compiled for these.
  void add(const Hash128& structure, const CompileSettings& settings);

 private:
  std::vector<CompileSettings> load(const Hash128& structure);

  ArtifactStore files_;
};

}  // namespace lockstep

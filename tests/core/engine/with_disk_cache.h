// Engines that keep compiled programs in one folder, as several processes would.
#pragma once

#include <filesystem>

#include "core/engine/compile.h"
#include "tests/core/engine/rank.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {

struct WithDiskCache : testing::Test {
  CompileOptions options() const {
    CompileOptions out = Rank::compile_options();
    out.artifacts.folder = folder.string();
    return out;
  }

  const TemporaryFolder parent;
  const std::filesystem::path folder = parent / "cache";  ///< made when a program is kept
};

}  // namespace lockstep

// The contents of a file, in tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/base/error.h"

namespace lockstep {

/// All bytes of a file; an error kUsage if it cannot be opened.
inline std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  LS_USER_CHECK(file.is_open(), "{} cannot be opened", path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace lockstep

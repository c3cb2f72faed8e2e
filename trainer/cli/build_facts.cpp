#include "trainer/cli/build_facts.h"

#include <filesystem>

namespace lockstep {

/// What stands where cmake/commit.cmake's source is not linked: tests and examples.
[[gnu::weak]] std::string_view built_commit() {
  return "unknown";
}

std::string_view built_compiler() {
#ifdef __clang__
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

std::string_view built_type() {
  return LOCKSTEP_BUILD_TYPE;
}

std::string documents_folder() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  // Where it is installed; in build/PRESET of the tree; and in its bin, where tests and examples
  // are.
  for (const char* way : {LOCKSTEP_WAY_TO_DOCUMENTS, "../..", "../../.."}) {
    const fs::path folder = fs::weakly_canonical(program / way, error);
    if (fs::exists(folder / "docs/README.md", error)) return folder.string();
  }
  return "";
}

}  // namespace lockstep

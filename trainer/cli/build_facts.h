// What this program was built of and with, and where its documents are.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// "da1ba137d2c4", with "-dirty" behind it if files differed from the commit; "unknown" for a tree
/// without git, as a released archive. cmake/commit.cmake finds it at each build; it is linked to
/// the program and the shared library only, so that a commit compiles and links nothing else again.
std::string_view built_commit();
std::string_view built_compiler();  ///< "GCC 12.2.0"
std::string_view built_type();      ///< "Release"

/// The folder in which pages are found by the names that messages have (docs/guides/text.md): of
/// an installed program share/doc/lockstep, else the source tree; "" if neither is there.
std::string documents_folder();

}  // namespace lockstep

# cmake -DSOURCE=... -DOUT=... -P commit.cmake: writes the source that names the commit that is built, if it changed.
#
# It is "unknown" without git, in a tree that is no clone, and in one that lies within another clone. A file that git does
# not know does not count as a change.
set(commit "unknown")
find_program(GIT git)
if(GIT)
  set(ENV{GIT_OPTIONAL_LOCKS} 0)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-toplevel
    OUTPUT_VARIABLE top ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH "${SOURCE}" source)
  if(top STREQUAL source)
    execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --abbrev=12 --dirty --exclude=*
      OUTPUT_VARIABLE found ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(found MATCHES "^[0-9a-f]+(-dirty)?$")
      set(commit ${found})
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT [[// Made by cmake/commit.cmake.
#include "trainer/cli/build_facts.h"

namespace lockstep {

std::string_view built_commit() {
  return "@commit@";
}

}  // namespace lockstep
]] @ONLY)

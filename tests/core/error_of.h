// Exact error messages in tests.
#pragma once

#include <string>

#include "core/base/error.h"

namespace lockstep {

/// The lockstep::Error that f() throws, as "kind: message"; "no error" if it throws none.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return fmt::format("{}: {}", error.exit_code(), error.what());
  }
  return "no error";
}

}  // namespace lockstep

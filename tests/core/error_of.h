// Exact error messages in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"

namespace lockstep {

/// The lockstep::Error that f() throws, as "exit code: message"; "no error" if it throws none.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return fmt::format("{}: {}", error.exit_code(), error.what());
  }
  return "no error";
}

/// The message of the Error that f() throws, which must be of this kind; "no error" if it throws
/// none.
template <class F>
std::string error_of(ErrorKind kind, const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

template <class F>
std::string data_error(const F& f) {
  return error_of(ErrorKind::kData, f);
}

template <class F>
std::string usage_error(const F& f) {
  return error_of(ErrorKind::kUsage, f);
}

}  // namespace lockstep

// Exact error messages in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"

namespace lockstep {

/// The message of the Error that `f` throws; checks its kind.
template <class F>
std::string error_of(ErrorKind kind, const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
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

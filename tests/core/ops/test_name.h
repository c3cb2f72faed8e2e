// Names of tests that run for each op.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/ir/op.h"

namespace lockstep {

inline std::string test_name(const ::testing::TestParamInfo<Op>& info) {
  return std::string(name_of(info.param));
}

}  // namespace lockstep

// How configs name what becomes of texts that are longer than a sample may be.
#pragma once

#include <array>
#include <string_view>

#include "data/tokens/documents.h"
#include "trainer/settings/key.h"

namespace lockstep {

template <>
struct EnumNames<OnTooLong> {
  static constexpr std::array<std::string_view, 2> kNames{"error", "truncate"};
};

}  // namespace lockstep

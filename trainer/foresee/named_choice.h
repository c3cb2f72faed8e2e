// Values of enums as the command line names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/suggest.h"

namespace lockstep {

/// The one of the first `count` values of an enum whose name_of() is `given`. Error kUsage that
/// calls it `what`, with all names and a suggestion.
template <class T>
T named_choice(std::string_view what, std::string_view given, std::size_t count) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(name_of(static_cast<T>(i)));
    if (names.back() == given) return static_cast<T>(i);
  }
  raise(ErrorKind::kUsage, "{} must be one of {}, not '{}'{}", what, fmt::join(names, ", "), given,
        did_you_mean(nearest_word(given, names)));
}

}  // namespace lockstep

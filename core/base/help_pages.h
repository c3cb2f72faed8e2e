// The page of the documentation that helps with an error: one table, from what an error is to a
// page. What reports errors appends it; who raises them does not know pages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace lockstep {

struct HelpPage {
  std::optional<ErrorKind> kind;  ///< nothing: errors of any kind
  std::string_view phrase;        ///< which the message has; "": any message
  std::string_view page;          ///< "docs/guides/memory.md#what-goes-wrong"
};

/// The first row that fits an error is its own.
std::span<const HelpPage> help_pages();

/// "" if no page helps: with a bug, or a mistyped command, whose message has the usage.
std::string_view help_page(ErrorKind kind, std::string_view message);

/// "\nsee docs/guides/memory.md#what-goes-wrong", or "".
std::string see_help_page(ErrorKind kind, std::string_view message);

}  // namespace lockstep

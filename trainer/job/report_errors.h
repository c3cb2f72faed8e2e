// Errors as messages and exit codes. The only place where that is done.
#pragma once

#include <functional>
#include <iosfwd>

#include "core/base/settings.h"

namespace lockstep {

/// Runs `body` and returns its value. An exception is printed to `err`, with the page that helps
/// (core/base/help_pages.h), and becomes an exit code (core/base/error.h; 1 if it is not an Error).
/// Ranks other than 0 first give rank 0 the time to say it if it is an error that all ranks see
/// alike; mpirun ends them when rank 0 has ended.
int report_errors(const Settings& settings, std::ostream& err, const std::function<int()>& body);

}  // namespace lockstep

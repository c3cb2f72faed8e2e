// What a run says of its virtual time at the end.
#pragma once

#include <string>
#include <string_view>

#include "core/virtual_time/virtual_clock.h"

namespace lockstep {

/// A line with the mean step on the device of that name and where it goes, and a line of advice for
/// what it mostly waits for. "" without steps.
std::string virtual_time_text(std::string_view device, const VirtualTotals& totals);

}  // namespace lockstep

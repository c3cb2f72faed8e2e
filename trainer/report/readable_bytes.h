// Sizes for the sentences of a report.
#pragma once

#include <string>

namespace lockstep {

/// Three digits and a binary unit, as the page writes them: "64 B", "24.3 MiB", "4.00 GiB".
std::string readable_bytes(double bytes);

}  // namespace lockstep

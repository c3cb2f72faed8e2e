// The page of a report, which the build puts together from trainer/report/page and the chart
// library d3 of Debian's package node-d3, with its licence.
#pragma once

#include <string_view>

namespace lockstep {

struct EmbeddedPage {
  std::string_view before_data;  ///< HTML up to the place of the data
  std::string_view after_data;
};
EmbeddedPage embedded_page();

}  // namespace lockstep

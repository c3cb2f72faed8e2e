#include "watch/other_nodes.h"

#include "watch/node_frame.h"

namespace lockstep {

void OtherNodes::tell(const std::string& host, const std::vector<RankReport>& ranks) {
  link_.publish(encode({host, ranks}));
}

std::vector<RankReport> OtherNodes::read(std::int64_t now_ns) {
  for (const std::string& bytes : link_.take_heard()) {
    const auto frame = decode_frame(bytes);
    if (!frame) continue;
    for (const RankReport& report : frame->ranks) heard_[report.rank] = {report, now_ns};
  }
  std::vector<RankReport> out;
  for (const auto& [rank, heard] : heard_) {
    out.push_back(heard.report);
    out.back().age_s = static_cast<double>(now_ns - heard.at_ns) / 1e9;
    if (out.back().age_s > kPatience && !heard.report.exit_code)
      out.back().state = ProcessState::kUnknown;
  }
  return out;
}

}  // namespace lockstep

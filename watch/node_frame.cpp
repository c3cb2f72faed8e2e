#include "watch/node_frame.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace lockstep {
namespace {

constexpr std::size_t kTextBytes = 40;  // of a wait or a call; longer ones are truncated

/// Nodes of a job are alike: numbers are sent as they lie in memory.
template <class T>
void put(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.append(bytes.data(), bytes.size());
}

void put_text(std::string& out, std::string_view text, std::size_t max_bytes) {
  text = text.substr(0, max_bytes);
  put(out, static_cast<std::uint8_t>(text.size()));
  out += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class T>
  T get() {
    T value{};
    const std::string_view bytes = take(sizeof(T));
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): it has that size
    if (ok_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  std::string text() { return std::string(take(get<std::uint8_t>())); }
  Phase phase() {
    return static_cast<Phase>(
        std::min(get<std::uint8_t>(), static_cast<std::uint8_t>(Phase::kIdle)));
  }
  bool ok() const { return ok_; }
  bool at_end() const { return left_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    ok_ = ok_ && count <= left_.size();
    if (!ok_) return {};
    const std::string_view out = left_.substr(0, count);
    left_.remove_prefix(count);
    return out;
  }
  std::string_view left_;
  bool ok_ = true;
};

constexpr std::uint8_t kWaits = 1;
constexpr std::uint8_t kEnded = 2;

void put_rank(std::string& out, const RankReport& report) {
  put(out, static_cast<std::int32_t>(report.rank));
  put(out, static_cast<std::int32_t>(report.pid));
  put(out, static_cast<std::uint8_t>(report.state));
  put(out, static_cast<std::uint8_t>((report.waits_for_peers ? kWaits : 0) |
                                     (report.exit_code ? kEnded : 0)));
  put(out, static_cast<std::uint8_t>(report.exit_code.value_or(0)));
  put(out, report.progress);
  put(out, static_cast<std::uint32_t>(report.beat));
  put(out, static_cast<std::uint8_t>(report.host_lane.phase));
  put(out, static_cast<std::int32_t>(report.host_lane.step));
  put(out, static_cast<std::uint8_t>(report.device_lane.phase));
  put(out, static_cast<std::int32_t>(report.device_lane.step));
  put(out, static_cast<std::int32_t>(report.peer_step));
  put_text(out, report.peer_wait, kTextBytes);
  put_text(out, report.foreign_calls.empty() ? "" : report.foreign_calls[0], kTextBytes);
}

RankReport get_rank(Reader& in) {
  RankReport out;
  out.rank = in.get<std::int32_t>();
  out.pid = in.get<std::int32_t>();
  out.state = static_cast<ProcessState>(
      std::min(in.get<std::uint8_t>(), static_cast<std::uint8_t>(ProcessState::kUnknown)));
  const auto flags = in.get<std::uint8_t>();
  const auto code = in.get<std::uint8_t>();
  out.waits_for_peers = (flags & kWaits) != 0;
  if ((flags & kEnded) != 0) out.exit_code = code;
  out.progress = in.get<std::uint64_t>();
  out.beat = in.get<std::uint32_t>();
  out.host_lane.phase = in.phase();
  out.host_lane.step = in.get<std::int32_t>();
  out.device_lane.phase = in.phase();
  out.device_lane.step = in.get<std::int32_t>();
  out.peer_step = in.get<std::int32_t>();
  out.peer_wait = in.text();
  if (std::string call = in.text(); !call.empty()) out.foreign_calls.push_back(std::move(call));
  return out;
}

}  // namespace

std::string encode(const NodeFrame& frame) {
  std::string out;
  put_text(out, frame.host, 64);
  for (const RankReport& report : frame.ranks) {
    std::string rank;
    put_rank(rank, report);
    if (out.size() + rank.size() > NodeFrame::kBytes) break;
    out += rank;
  }
  return out;
}

std::optional<NodeFrame> decode_frame(std::string_view bytes) {
  if (bytes.size() > NodeFrame::kBytes) return std::nullopt;
  Reader in(bytes);
  NodeFrame out;
  out.host = in.text();
  while (in.ok() && !in.at_end()) {
    out.ranks.push_back(get_rank(in));
    out.ranks.back().host = out.host;
  }
  if (!in.ok()) return std::nullopt;
  return out;
}

}  // namespace lockstep

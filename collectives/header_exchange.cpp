#include "collectives/header_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "collectives/algorithms.h"

namespace lockstep {
namespace {

CollectiveVerdict judge(std::span<const CollectiveHeader> headers) {
  CollectiveVerdict out;
  out.failure = describe_failure(headers);
  if (!out.failure) out.mismatch = describe_mismatch(headers);
  for (const CollectiveHeader& header : headers)
    out.digests_differ |= header.digest != headers[0].digest;
  for (const CollectiveHeader& header : headers)
    out.latest_virtual_ns = std::max(out.latest_virtual_ns, header.virtual_ns);
  return out;
}

PostedVerdict to_post(const CollectiveVerdict& verdict) {
  PostedVerdict out;
  out.digests_differ = verdict.digests_differ;
  out.latest_virtual_ns = verdict.latest_virtual_ns;
  std::string text;
  if (verdict.failure) {
    out.code = PostedVerdict::Code::kFailure;
    out.failure = static_cast<std::uint16_t>(verdict.failure->exit_code());
    text = verdict.failure->what();
  } else if (verdict.mismatch) {
    out.code = PostedVerdict::Code::kMismatch;
    text = *verdict.mismatch;
  }
  std::memcpy(out.text, text.data(), std::min(text.size(), PostedVerdict::kTextBytes - 1));
  return out;
}

CollectiveVerdict from_posted(const PostedVerdict& posted) {
  CollectiveVerdict out;
  out.digests_differ = posted.digests_differ;
  out.latest_virtual_ns = posted.latest_virtual_ns;
  switch (posted.code) {
    case PostedVerdict::Code::kGoOn: break;
    case PostedVerdict::Code::kMismatch: out.mismatch = posted.text; break;
    case PostedVerdict::Code::kFailure:
      out.failure = Error(static_cast<ErrorKind>(posted.failure), posted.text);
      break;
  }
  return out;
}

}  // namespace

/// A summary of the headers of one caller, or of several. Sent as bytes.
struct HeaderExchange::Summary {
  CollectiveHeader first;  ///< of the first rank, with the latest time of all
  std::uint32_t same = 1;  ///< the others' headers match it, and no rank failed
  std::uint32_t same_digest = 1;
  std::uint64_t unused = 0;

  void add(const Summary& other) {
    first.virtual_ns = std::max(first.virtual_ns, other.first.virtual_ns);
    same = same & other.same & static_cast<std::uint32_t>(matches(first, other.first));
    same_digest = same_digest & other.same_digest &
                  static_cast<std::uint32_t>(first.digest == other.first.digest);
  }

  static Summary of(const CollectiveHeader& header) {
    return {.first = header, .same = header.failure == 0 ? 1U : 0U};
  }
};

HeaderExchange::HeaderExchange(Transport& transport, SharedFlags* flags,
                               const std::function<void()>& interrupt)
    : topology_(transport.topology()), flags_(flags), nodes_(topology_.nodes()) {
  if (!needs_messages()) return;
  std::vector<int> ranks;
  if (flags != nullptr) {
    if (!flags->leads()) return;
    for (int node = 0; node < nodes_; ++node) ranks.push_back(topology_.ranks_of(node)[0]);
  } else {
    const std::span<const int> all = topology_.by_position();
    ranks.assign(all.begin(), all.end());
  }
  peers_.emplace(transport, std::move(ranks), interrupt);
}

bool HeaderExchange::post_early(const CollectiveHeader& mine) {
  return flags_ != nullptr && flags_->try_post(mine);
}

CollectiveVerdict HeaderExchange::compare(const CollectiveHeader& mine,
                                          const std::function<void()>& interrupt) {
  if (flags_ == nullptr) return compare_between_peers({mine});
  const std::uint64_t sequence = mine.sequence;
  CollectiveVerdict verdict;
  if (nodes_ == 1 || flags_->leads()) {
    const std::vector<CollectiveHeader> headers = headers_on_node(mine, interrupt);
    verdict = nodes_ == 1 ? judge(headers) : compare_between_peers(headers);
    if (nodes_ > 1) flags_->post_verdict(sequence, to_post(verdict));
  } else {
    verdict = from_posted(flags_->wait_for_verdict(sequence, interrupt));
  }
  flags_->advance(Progress::kCompared, sequence + 1);
  return verdict;
}

std::vector<CollectiveHeader> HeaderExchange::headers_on_node(
    const CollectiveHeader& mine, const std::function<void()>& interrupt) {
  flags_->wait_for_all(Progress::kPosted, mine.sequence + 1, interrupt);
  std::vector<CollectiveHeader> out;
  out.reserve(static_cast<std::size_t>(flags_->size()));
  for (int local_rank = 0; local_rank < flags_->size(); ++local_rank)
    out.push_back(flags_->header(local_rank, mine.sequence));
  return out;
}

CollectiveVerdict HeaderExchange::compare_between_peers(const std::vector<CollectiveHeader>& mine) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): only a peer calls this
  const Group& peers = *peers_;
  Summary summary = Summary::of(mine[0]);
  for (const CollectiveHeader& header : mine) summary.add(Summary::of(header));
  summary = summary_of_all(peers, summary);
  CollectiveVerdict verdict;
  verdict.digests_differ = summary.same_digest == 0;
  verdict.latest_virtual_ns = summary.first.virtual_ns;
  if (summary.same != 0) return verdict;

  std::string bytes;
  for (const CollectiveHeader& header : mine)
    bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  // Peers are in the order of positions, and so are the ranks of each.
  std::vector<CollectiveHeader> all(static_cast<std::size_t>(topology_.size()));
  std::size_t position = 0;
  for (const std::string& of_peer : gather_strings(peers, bytes))
    for (std::size_t at = 0; at < of_peer.size(); at += sizeof(CollectiveHeader)) {
      const int rank = topology_.by_position()[position++];
      std::memcpy(&all[static_cast<std::size_t>(rank)], of_peer.data() + at,
                  sizeof(CollectiveHeader));
    }
  return judge(all);
}

HeaderExchange::Summary HeaderExchange::summary_of_all(const Group& peers, const Summary& mine) {
  Summary out = mine;
  if (peers.size() > kMaxDirectPeers) {
    tree_add(peers, out);
    return out;
  }
  std::vector<Summary> all(static_cast<std::size_t>(peers.size()));
  all[static_cast<std::size_t>(peers.self())] = mine;
  all_gather(peers, reinterpret_cast<std::byte*>(all.data()), sizeof(Summary));
  out = all[0];
  for (const Summary& other : all) out.add(other);
  return out;
}

}  // namespace lockstep

#include "collectives/handshake.h"

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace lockstep {
namespace {

std::string_view name_of(SharedMemoryUse use) {
  switch (use) {
    case SharedMemoryUse::kNever: return "mpi";
    case SharedMemoryUse::kIfPossible: return "auto";
    case SharedMemoryUse::kRequired: return "shm";
  }
  return "an unknown way";  // another rank's message is not trusted
}

std::string_view allreduce_of(const Handshake::Rank& rank) {
  return name_of(static_cast<SharedMemoryUse>(rank.shared_memory));
}

/// "rank 1 (node-b)"
std::string host_and_rank(const Handshake::Rank& rank, const Topology& topology) {
  const std::string& host = topology.host_of(rank.rank);
  return host.empty() ? fmt::format("rank {}", rank.rank)
                      : fmt::format("rank {} ({})", rank.rank, host);
}

std::string describe_build(const Handshake::Rank& rank) {
  return fmt::format("build {:016x} with messages of version {}", rank.build,
                     version_of(rank.protocol));
}

}  // namespace

void Handshake::add(const Handshake& later) {
  if (other.rank >= 0) return;
  const bool same = first.protocol == later.first.protocol &&
                    first.shared_memory == later.first.shared_memory &&
                    first.fixed_order == later.first.fixed_order;
  other = same ? later.other : later.first;
}

void require_same_handshake(const Handshake& all, const Topology& topology) {
  if (all.other.rank < 0) return;
  const Handshake::Rank& a = all.first;
  const Handshake::Rank& b = all.other;
  const std::string at_a = host_and_rank(a, topology);
  const std::string at_b = host_and_rank(b, topology);
  LS_USER_CHECK(a.protocol == b.protocol,
                "the ranks do not run the same build of lockstep: {} on {}, {} on {}; start the "
                "same program on all hosts",
                describe_build(a), at_a, describe_build(b), at_b);
  LS_USER_CHECK(a.shared_memory == b.shared_memory,
                "the ranks differ in distributed.allreduce: {} on {}, {} on {}", allreduce_of(a),
                at_a, allreduce_of(b), at_b);
  raise(ErrorKind::kUsage, "the ranks differ in training.deterministic: {} on {}, {} on {}",
        a.fixed_order != 0, at_a, b.fixed_order != 0, at_b);
}

}  // namespace lockstep

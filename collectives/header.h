// The header that all ranks exchange and compare before the data of a collective moves. It detects
// ranks that drifted apart at the first collective that does not match; without it they would hang
// or add unrelated numbers. A rank also reports in it that it cannot take part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/error.h"
#include "core/runtime/communicator.h"

namespace lockstep {

/// The version number in CollectiveHeader::kProtocol, or in that of another build.
std::uint32_t version_of(std::uint32_t protocol);

/// "all_reduce", "reduce_scatter", "all_gather", "broadcast", "exchange", "agree".
std::string_view name_of(CollectiveKind kind);

/// A message of fixed layout (host byte order: ranks run the same build on like machines).
struct CollectiveHeader {
  static constexpr std::uint32_t kProtocol = 0x4C530004;  // "LS", version 4
  static constexpr std::size_t kTextBytes = 168;

  std::uint32_t protocol = kProtocol;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  DType dtype = DType::kF32;
  std::uint16_t failure = 0;   ///< ErrorKind if this rank cannot take part, with its `text`; or 0
  std::uint64_t sequence = 0;  ///< number of this collective in the rank's order, from 0
  std::int64_t step = -1;
  std::int64_t count = 0;  ///< elements; 0 for an exchange
  std::int32_t bucket = -1;
  std::int32_t root = 0;        ///< broadcast only, else 0
  std::int64_t offset = -1;     ///< where the data lies in the rank's shared memory; -1: elsewhere
  std::int64_t virtual_ns = 0;  ///< see CollectiveRequest; never compared
  Hash128 signature;            ///< see CollectiveRequest; for an exchange the hash of its tag
  Hash128 digest;               ///< of the state, or of the value to agree on; 0: none
  char text[kTextBytes] = {};   ///< an exchange's tag or the failure; truncated, ends with 0
};
static_assert(sizeof(CollectiveHeader) == 256);
static_assert(std::is_trivially_copyable_v<CollectiveHeader>);

/// Error kUsage naming the problem of `request` in a job of `size` ranks: a negative count, no
/// data, a dtype that cannot be summed, a root out of range, or an exchange (which has its own
/// call).
void check_request(const CollectiveRequest& request, int size);

/// The header that announces `request`; its sequence number is set when it is queued.
CollectiveHeader header_of(const CollectiveRequest& request);

/// The header of an exchange (kExchange) or an agreement (kAgree).
CollectiveHeader header_of_tag(CollectiveKind kind, const std::string& tag);

/// Marks `header` as failed: its rank cannot take part because of this error.
void set_failure(CollectiveHeader& header, const std::exception_ptr& error);

/// Compares the headers of all ranks, in rank order: nothing if they match, else a message such as
/// "collective 17 does not match between ranks: rank 0 has all_reduce of 1024 f32 (step 5, bucket
/// 2), rank 1 has all_reduce of 2048 f32 (step 5, bucket 2): the count differs". Every rank that
/// has all headers produces the same text.
std::optional<std::string> describe_mismatch(std::span<const CollectiveHeader> headers);

/// Whether two headers belong to one collective; digests may differ.
bool matches(const CollectiveHeader& a, const CollectiveHeader& b);

/// Given the headers of all ranks: nothing if all take part, else the error of the lowest rank that
/// does not. Its kind is kept, so that all ranks end with the same exit code.
std::optional<Error> describe_failure(std::span<const CollectiveHeader> headers);

}  // namespace lockstep

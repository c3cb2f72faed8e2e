#include "collectives/header.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>

#include "collectives/tree_sum.h"
#include "core/base/host_memory.h"

namespace lockstep {
namespace {

void set_text(CollectiveHeader& header, std::string_view text) {
  const std::size_t kept = std::min(text.size(), CollectiveHeader::kTextBytes - 1);
  std::memcpy(header.text, text.data(), kept);
  header.text[kept] = '\0';
}

// Another rank's text may lack its terminating zero.
std::string_view text_of(const CollectiveHeader& header) {
  return {header.text, strnlen(header.text, CollectiveHeader::kTextBytes)};
}

/// Collectives that have a tag instead of elements.
bool is_tagged(CollectiveKind kind) {
  return kind == CollectiveKind::kExchange || kind == CollectiveKind::kAgree;
}

// Which fields are not the same on all ranks.
struct Differences {
  bool protocol = false, sequence = false, kind = false, count = false, dtype = false, root = false,
       step = false, bucket = false, signature = false, offset = false, tag = false;

  void add(const CollectiveHeader& a, const CollectiveHeader& b) {
    const bool a_exchange = is_tagged(a.kind);
    const bool b_exchange = is_tagged(b.kind);
    protocol |= a.protocol != b.protocol;
    sequence |= a.sequence != b.sequence;
    kind |= a.kind != b.kind;
    step |= a.step != b.step;
    bucket |= a.bucket != b.bucket;
    root |= a.kind == b.kind && a.root != b.root;
    if (a_exchange && b_exchange) {
      tag |= a.signature != b.signature || text_of(a) != text_of(b);
    } else if (!a_exchange && !b_exchange) {
      count |= a.count != b.count;
      dtype |= a.dtype != b.dtype;
      signature |= a.signature != b.signature;
      offset |= a.offset != b.offset;
    }
  }

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    if (sequence) out.emplace_back("the sequence number");
    if (kind) out.emplace_back("the kind");
    if (count) out.emplace_back("the count");
    if (dtype) out.emplace_back("the dtype");
    if (root) out.emplace_back("the root");
    if (step) out.emplace_back("the step");
    if (bucket) out.emplace_back("the bucket");
    if (signature) out.emplace_back("the signature");
    if (offset) out.emplace_back("the offset in shared memory");
    if (tag) out.emplace_back("the tag");
    return out;
  }
};

// "a", "a and b", "a, b and c".
template <class T>
std::string enumerate(const std::vector<T>& items) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += i + 1 == items.size() ? " and " : ", ";
    out += fmt::format("{}", items[i]);
  }
  return out;
}

// Sequence number and signature appear only if they differ.
std::string describe(const CollectiveHeader& header, const Differences& differences = {}) {
  std::string out(name_of(header.kind));
  if (is_tagged(header.kind)) {
    out += fmt::format(" '{}'", text_of(header));
  } else {
    out += fmt::format(" of {} {}", header.count, name_of(header.dtype));
  }
  if (header.kind == CollectiveKind::kBroadcast) out += fmt::format(" from rank {}", header.root);
  std::vector<std::string> details;
  if (header.step >= 0) details.push_back(fmt::format("step {}", header.step));
  if (header.bucket >= 0) details.push_back(fmt::format("bucket {}", header.bucket));
  if (differences.sequence) details.push_back(fmt::format("number {}", header.sequence));
  if (differences.offset) details.push_back(fmt::format("offset {}", header.offset));
  if (differences.signature) details.push_back(fmt::format("signature {}", header.signature.hex()));
  if (!details.empty()) out += fmt::format(" ({})", fmt::join(details, ", "));
  return out;
}

}  // namespace

std::uint32_t version_of(std::uint32_t protocol) {
  return protocol & 0xFFFF;
}

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "all_reduce";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kExchange: return "exchange";
    case CollectiveKind::kAgree: return "agree";
  }
  return "an unknown collective";
}

void check_request(const CollectiveRequest& request, int size) {
  const auto kind = name_of(request.kind);
  LS_USER_CHECK(request.kind != CollectiveKind::kExchange,
                "an exchange cannot be submitted; call Communicator::exchange");
  LS_USER_CHECK(request.count >= 0, "{} of {} elements: the count is negative", kind,
                request.count);
  LS_USER_CHECK(request.data != nullptr || request.count == 0, "{} of {} elements without data",
                kind, request.count);
  const bool sums =
      request.kind == CollectiveKind::kAllReduce || request.kind == CollectiveKind::kReduceScatter;
  LS_USER_CHECK(!sums || can_sum(request.dtype),
                "{} cannot sum {}; f32, f64, i32 and i64 can be summed", kind,
                name_of(request.dtype));
  LS_USER_CHECK(
      request.kind != CollectiveKind::kBroadcast || (request.root >= 0 && request.root < size),
      "broadcast from rank {} in a job of {} ranks", request.root, size);
}

CollectiveHeader header_of(const CollectiveRequest& request) {
  CollectiveHeader out;
  out.kind = request.kind;
  out.dtype = request.dtype;
  out.step = request.step;
  out.count = request.count;
  out.bucket = request.bucket;
  out.root = request.kind == CollectiveKind::kBroadcast ? request.root : 0;
  out.signature = request.signature;
  out.virtual_ns = request.virtual_ns;
  if (request.carried != nullptr) out.digest = request.carried->digest;
  return out;
}

CollectiveHeader header_of_tag(CollectiveKind kind, const std::string& tag) {
  CollectiveHeader out;
  out.kind = kind;
  out.dtype = DType::kU8;
  out.signature = hash128(tag.data(), tag.size());
  set_text(out, tag);
  return out;
}

void set_failure(CollectiveHeader& header, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    header.failure = static_cast<std::uint16_t>(e.exit_code());
    set_text(header, e.what());
  } catch (const std::exception& e) {
    const Error error = memory_error(e).value_or(Error(ErrorKind::kInternal, e.what()));
    header.failure = static_cast<std::uint16_t>(error.exit_code());
    set_text(header, error.what());
  } catch (...) {
    header.failure = static_cast<std::uint16_t>(ErrorKind::kInternal);
    set_text(header, "an exception of unknown type");
  }
}

bool matches(const CollectiveHeader& a, const CollectiveHeader& b) {
  Differences differences;
  differences.add(a, b);
  return !differences.protocol && differences.names().empty();
}

std::optional<std::string> describe_mismatch(std::span<const CollectiveHeader> headers) {
  Differences differences;
  for (const CollectiveHeader& header : headers) differences.add(headers[0], header);
  if (differences.protocol) {
    const auto other = std::ranges::find_if(headers, [&](const CollectiveHeader& header) {
      return header.protocol != headers[0].protocol;
    });
    return fmt::format(
        "the ranks do not run the same build of lockstep: headers have version {} on rank 0, {} on "
        "rank {}",
        version_of(headers[0].protocol), version_of(other->protocol), other - headers.begin());
  }
  const auto fields = differences.names();
  if (fields.empty()) return std::nullopt;

  // Ranks that agree share an entry; entries are ordered by their lowest rank.
  std::vector<std::pair<std::string, std::vector<std::size_t>>> camps;
  for (std::size_t rank = 0; rank < headers.size(); ++rank) {
    const std::string text = describe(headers[rank], differences);
    auto camp = std::ranges::find(camps, text, [](const auto& c) { return c.first; });
    if (camp == camps.end()) camp = camps.insert(camps.end(), {text, {}});
    camp->second.push_back(rank);
  }
  std::vector<std::string> claims;
  claims.reserve(camps.size());
  for (const auto& [text, ranks] : camps) {
    claims.push_back(ranks.size() == 1 ? fmt::format("rank {} has {}", ranks[0], text)
                                       : fmt::format("ranks {} have {}", enumerate(ranks), text));
  }
  return fmt::format("collective {} does not match between ranks: {}: {} {}", headers[0].sequence,
                     fmt::join(claims, ", "), enumerate(fields),
                     fields.size() == 1 ? "differs" : "differ");
}

std::optional<Error> describe_failure(std::span<const CollectiveHeader> headers) {
  for (std::size_t rank = 0; rank < headers.size(); ++rank) {
    const CollectiveHeader& header = headers[rank];
    if (header.failure == 0) continue;
    return Error(
        static_cast<ErrorKind>(header.failure),
        fmt::format("rank {} failed before {}: {}", rank, describe(header), text_of(header)));
  }
  return std::nullopt;
}

}  // namespace lockstep

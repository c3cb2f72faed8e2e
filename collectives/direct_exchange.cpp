#include "collectives/direct_exchange.h"

#include <algorithm>

#include "collectives/slices.h"
#include "collectives/tree_sum.h"

namespace lockstep {
namespace {

// What one rank sums at a time. Measured on 2 ranks over OpenMPI's shared memory: smaller pieces
// pay latency, larger ones leave the cache.
constexpr std::int64_t kPieceBytes = std::int64_t{512} * 1024;

std::span<std::byte> range(std::byte* data, std::int64_t begin, std::int64_t bytes) {
  return {data + begin, static_cast<std::size_t>(bytes)};
}

}  // namespace

template <class F>
void DirectExchange::for_each_peer(const F& visit) const {
  const int size = transport_.size();
  const int rank = transport_.rank();
  for (int distance = 1; distance < size; ++distance) {
    visit((rank + distance) % size, (rank - distance + size) % size);
  }
}

std::byte* DirectExchange::scratch(std::int64_t bytes) {
  constexpr auto kLine = static_cast<std::int64_t>(Buffer::kAlignment);
  const std::int64_t stride = (bytes + kLine - 1) / kLine * kLine;
  if (scratch_ == nullptr || stride > scratch_stride_) {
    scratch_ = allocate_host(static_cast<std::size_t>(stride * transport_.size()));
    scratch_stride_ = stride;
  }
  return scratch_->data();
}

void DirectExchange::sum_into(DType dtype, std::byte* own, std::int64_t count) {
  std::vector<const std::byte*> operands;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    operands.push_back(rank == transport_.rank() ? own : scratch_->data() + rank * scratch_stride_);
  }
  tree_sum(dtype, operands, own, count);
}

std::vector<CollectiveHeader> DirectExchange::headers(const CollectiveHeader& mine) {
  std::vector<CollectiveHeader> all(static_cast<std::size_t>(transport_.size()), mine);
  for_each_peer([&](int to, int from) {
    transport_.start_receive(
        from, std::as_writable_bytes(std::span(&all[static_cast<std::size_t>(from)], 1)));
    transport_.start_send(to, std::as_bytes(std::span(&mine, 1)));
  });
  finish();
  return all;
}

void DirectExchange::all_reduce(DType dtype, std::byte* data, std::int64_t count) {
  const int size = transport_.size();
  const int rank = transport_.rank();
  if (size == 1 || count == 0) return;
  const std::size_t width = size_of(dtype);
  const auto bytes_of = [width](std::int64_t elements) {
    return elements * static_cast<std::int64_t>(width);
  };
  const std::int64_t piece = kPieceBytes / static_cast<std::int64_t>(width) * size;

  struct Piece {
    std::byte* data;
    std::int64_t count;
  };
  const auto slice = [&](const Piece& p, int owner) {
    const Slice s = slice_of(p.count, size, owner, width);
    return range(p.data, bytes_of(s.begin), bytes_of(s.size()));
  };
  const auto start_gather = [&](const Piece& p) {
    for_each_peer([&](int to, int from) {
      transport_.start_receive(from, slice(p, from));
      transport_.start_send(to, slice(p, rank));
    });
  };

  Piece summed{nullptr, 0};
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const Piece current{data + bytes_of(begin), std::min(piece, count - begin)};
    const std::span<std::byte> own = slice(current, rank);
    std::byte* received = scratch(static_cast<std::int64_t>(own.size()));
    for_each_peer([&](int to, int from) {
      transport_.start_receive(from, {received + from * scratch_stride_, own.size()});
      transport_.start_send(to, slice(current, to));
    });
    // The sums of the piece before travel along, instead of in a phase of their own.
    if (summed.count > 0) start_gather(summed);
    finish();
    sum_into(dtype, own.data(), static_cast<std::int64_t>(own.size() / width));
    summed = current;
  }
  start_gather(summed);
  finish();
}

void DirectExchange::reduce_scatter(DType dtype, std::byte* data, std::int64_t count) {
  if (transport_.size() == 1) return;
  const auto width = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t piece = kPieceBytes / width;
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t length = std::min(piece, count - begin);
    const auto part = [&](int owner) {
      return range(data, (owner * count + begin) * width, length * width);
    };
    std::byte* received = scratch(length * width);
    for_each_peer([&](int to, int from) {
      transport_.start_receive(from, range(received, from * scratch_stride_, length * width));
      transport_.start_send(to, part(to));
    });
    finish();
    sum_into(dtype, part(transport_.rank()).data(), length);
  }
}

void DirectExchange::all_gather(std::byte* data, std::int64_t bytes) {
  for_each_peer([&](int to, int from) {
    transport_.start_receive(from, range(data, from * bytes, bytes));
    transport_.start_send(to, range(data, transport_.rank() * bytes, bytes));
  });
  finish();
}

void DirectExchange::broadcast(std::byte* data, std::int64_t bytes, int root) {
  if (transport_.rank() == root) {
    for_each_peer([&](int to, int) { transport_.start_send(to, range(data, 0, bytes)); });
  } else {
    transport_.start_receive(root, range(data, 0, bytes));
  }
  finish();
}

std::vector<std::string> DirectExchange::exchange(const std::string& mine,
                                                  const std::vector<std::int64_t>& sizes) {
  std::vector<std::string> all(sizes.size());
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    all[rank].resize(static_cast<std::size_t>(sizes[rank]));
  }
  all[static_cast<std::size_t>(transport_.rank())] = mine;
  for_each_peer([&](int to, int from) {
    transport_.start_receive(
        from, std::as_writable_bytes(std::span<char>(all[static_cast<std::size_t>(from)])));
    transport_.start_send(to, std::as_bytes(std::span<const char>(mine)));
  });
  finish();
  return all;
}

}  // namespace lockstep

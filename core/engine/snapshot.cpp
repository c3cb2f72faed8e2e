#include "core/engine/snapshot.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/stream_copy.h"

namespace lockstep {
namespace {

struct Piece {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
};

/// Small enough that threads finish together.
constexpr std::size_t kPieceBytes = 1 << 20;

}  // namespace

void check_snapshot(std::span<const SnapshotPart> parts) {
  for (const SnapshotPart& part : parts) {
    part.from->ready->wait();
    LS_CHECK(part.from->buffers.size() == 1 &&
                 (part.from->type == Type{part.to.dtype(), part.to.shape()}),
             "a snapshot of {} does not fit its place", part.from->type.to_string());
  }
}

void copy_snapshot(std::span<const SnapshotPart> parts, ThreadPool& pool) {
  std::vector<Piece> pieces;
  for (const SnapshotPart& part : parts) {
    const std::span<std::byte> to = part.to.bytes();
    const std::byte* from = part.from->buffers[0]->data();
    for (std::size_t at = 0; at < to.size(); at += kPieceBytes)
      pieces.push_back({to.data() + at, from + at, std::min(kPieceBytes, to.size() - at)});
  }
  pool.parallel_for(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i) {
    const Piece& piece = pieces[static_cast<std::size_t>(i)];
    stream_copy(piece.to, piece.from, piece.bytes);
  });
}

}  // namespace lockstep

// The memory that the ranks of a node share: one file per rank, of which the others map what they
// need. It holds the rank's part of the board and its shared buffers.
//
// A shared buffer is cut into stripes, dealt to the ranks in turn. Rank i sums the stripes i: it
// reads them from all ranks' buffers and writes the sum over its own. A view puts the stripes that
// hold sums side by side, each mapped from the file of the rank that wrote it. So the sum of N
// bytes over P ranks moves N / P bytes from each rank's buffer and N / P bytes to memory, per rank,
// and takes no memory beyond the data's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectives/node_board.h"
#include "collectives/shared_file.h"
#include "core/base/dtype.h"
#include "core/runtime/communicator.h"

namespace lockstep {

class DirectExchange;
class Transport;

enum class SharedMemoryUse : std::uint8_t {
  kNever,
  kIfPossible,  ///< if all ranks are on one node and can see each other's memory
  kRequired,
};

/// A block of memory at the same place in every rank's file.
class SharedRegion {
 public:
  /// files[rank]; [place, place + bytes) exists in this rank's, and will in the others' before
  /// sum().
  SharedRegion(const std::vector<SharedFile>& files, int rank, std::size_t place,
               std::size_t bytes);

  /// What a buffer of `bytes` takes.
  static std::size_t rounded(std::size_t bytes);

  std::size_t place() const { return place_; }
  std::size_t bytes() const { return view_.bytes(); }
  std::byte* data() const { return own_.data(); }
  const std::byte* sums() const { return view_.data(); }
  bool holds(const std::byte* data) const {
    return data >= own_.data() && data < own_.data() + bytes();
  }

  /// Sums this rank's stripes of `count` elements at `offset`, which no rank changes meanwhile.
  void sum(DType dtype, std::size_t offset, std::int64_t count) const;

  std::uint64_t sums_end = 0;  ///< collectives below this one left their sums here
  bool held = false;           ///< a SharedBuffer uses it; guarded by the NodeMemory

 private:
  std::size_t place_;
  std::size_t stripe_;
  int rank_;
  Mapping own_;                    ///< writable
  std::vector<Mapping> operands_;  ///< read-only, of each rank
  Mapping view_;                   ///< read-only
};

class NodeMemory : public std::enable_shared_from_this<NodeMemory> {
 public:
  /// All ranks call it at the same point. Null on all ranks if one of them cannot share memory with
  /// the others; then `problem` says which, and why.
  static std::shared_ptr<NodeMemory> connect(Transport& transport, DirectExchange& exchange,
                                             bool spin, std::string& problem);

  NodeMemory(std::vector<SharedFile> files, std::vector<Mapping> parts, int rank, bool spin);

  NodeBoard& board() { return board_; }

  /// See Communicator::shared_buffer. `interrupt` is called while it waits for readers.
  std::unique_ptr<SharedBuffer> hold(std::size_t bytes, std::function<void()> interrupt);
  /// The region that data lies in; null if it is not shared.
  SharedRegion* find(const std::byte* data);

 private:
  class Held;
  void release(SharedRegion& region);

  std::vector<SharedFile> files_;
  int rank_;
  NodeBoard board_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SharedRegion>> regions_;
  std::size_t end_;         ///< of this rank's file
  std::uint64_t read_ = 0;  ///< what this rank told the others with Progress::kRead
};

}  // namespace lockstep

// Communication with the other ranks. A collective is a request in bytes and dtypes: it uses no
// tensors and no global state. Requests are carried out in the order of submission on one
// communication thread per rank; `ready` and the returned event chain them to device streams.
//
// Within a node there is a faster way: data in a SharedBuffer is summed in place, and the thread
// that waits for it does the work.
//
// Every collective carries a header (CollectiveHeader) that all ranks compare before data moves. On
// a mismatch every rank's event fails with kPeer, and the error names rank, step, bucket and the
// difference. The header can carry a digest that must be equal on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/carried_digest.h"
#include "core/base/dtype.h"
#include "core/base/event.h"
#include "core/base/hash.h"
#include "core/base/topology.h"

namespace lockstep {

enum class CollectiveKind : std::uint8_t {
  kAllReduce,  ///< data[count]: sum over ranks in reduce_tree.h order, lower position left, in
               ///< place; of data in a SharedBuffer: into SharedBuffer::sums, and the data is spent
  kReduceScatter,  ///< data[size * count]: slice `rank` becomes its sum; the other slices are spent
  kAllGather,      ///< data[size * count]: slice r is rank r's input; all slices are filled
  kBroadcast,      ///< data[count]: root's bytes everywhere
  kExchange,       ///< host objects; see Communicator::exchange
  kAgree,          ///< no data; see Communicator::agree
};

/// The request of one rank. dtypes f32, f64, i32, i64 can be summed; all can be moved.
struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::byte* data = nullptr;  ///< kept alive by the caller until the event is marked
  DType dtype = DType::kF32;
  std::int64_t count = 0;  ///< elements; see CollectiveKind
  int root = 0;            ///< kBroadcast only
  std::int64_t step = -1;  ///< training step, -1 outside; for messages and the header
  int bucket = -1;         ///< gradient bucket, -1 for none
  Hash128 signature{};     ///< hash of the ordered list of collectives this one belongs to
  EventPtr ready = {};     ///< the data may be used once this is set; null: at once
  /// Compared between ranks; null on all ranks if there is none.
  CarriedDigestPtr carried = {};
  /// When the data exists on this rank in virtual time (core/virtual_time). It is not compared: the
  /// latest of all ranks is written to `latest_virtual_ns`, unless that is null, before the event
  /// is marked.
  std::int64_t virtual_ns = 0;
  std::int64_t* latest_virtual_ns = nullptr;
};

/// Memory of this rank that the other ranks of its node read, so that all_reduce copies nothing:
/// each rank sums a part of it from all ranks' buffers, and every rank sees all parts in `sums`.
/// Held for one step, by one thread. Destroying it means that the sums are no longer read; the
/// collectives submitted from it must be done by then.
class SharedBuffer {
 public:
  virtual ~SharedBuffer() = default;
  virtual std::byte* data() const = 0;        ///< 64-byte aligned
  virtual const std::byte* sums() const = 0;  ///< sums()[i] is the sum of all ranks' data()[i]
  /// Waits until no rank reads the sums that the last holder of this memory left in it. Call it
  /// before the first write. Error kPeer.
  virtual void wait_until_writable() = 0;
};

class Communicator {
 public:
  /// Without finish() before, as when an exception unwinds, it does not wait: pending collectives
  /// fail, and the other ranks get an error that this one is gone.
  virtual ~Communicator() = default;

  virtual const Topology& topology() const = 0;
  int rank() const { return topology().rank(); }
  int size() const { return topology().size(); }

  /// Queues a collective. All ranks must submit the same sequence. The event fails with kPeer on a
  /// header mismatch or a lost rank, and so does everything after it. If `ready` failed on a rank,
  /// that collective fails on all: there with `ready`'s error, elsewhere with an error of the same
  /// kind that names the rank and quotes the error, so that all ranks can end with the same exit
  /// code. The ranks stay in step, and later collectives run. Error kUsage for an invalid request.
  virtual EventPtr submit(CollectiveRequest request) = 0;

  /// Waits for an event and rethrows its failure. If it depends on data in shared memory, the
  /// calling thread does this rank's part of the work itself.
  virtual void wait(const EventPtr& event) { event->wait(); }

  /// A shared buffer of at least `bytes`, or null if the ranks do not share memory. All ranks
  /// request the same sizes in the same order. Error kOutOfMemory if the node has no room for it.
  virtual std::unique_ptr<SharedBuffer> shared_buffer(std::size_t /*bytes*/) { return nullptr; }

  /// Gives every rank the strings of all ranks, in rank order. Blocks. `tag` is compared between
  /// ranks like a header: different tags are a kPeer error naming both.
  virtual std::vector<std::string> exchange(const std::string& tag, const std::string& mine) = 0;

  /// Whether all ranks gave the same hash; the same answer on all of them. Blocks. Only hashes
  /// travel. `tag`: see exchange().
  virtual bool agree(const std::string& tag, const Hash128& mine) = 0;

  /// Leaves the job together with all other ranks, after all submitted collectives are done; the
  /// last call. Blocks. Error kPeer if a rank is lost or continues.
  virtual void finish() = 0;

  /// Bytes that this rank has sent to ranks of other nodes.
  virtual std::int64_t bytes_between_nodes() const { return 0; }

  /// Ends the whole job with this exit code. Does not return. From any thread. Where
  /// ranks are threads of one process (in tests), it fails all pending and future operations of
  /// all of them instead, and throws kPeer.
  [[noreturn]] virtual void abort(int exit_code, const std::string& reason) = 0;

  bool is_master_ordinal() const { return rank() == 0; }
  /// Returns when all ranks have reached the same tag.
  void rendezvous(const std::string& tag) { exchange(tag, {}); }
};

}  // namespace lockstep

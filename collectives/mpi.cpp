#include "collectives/mpi.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/backoff.h"
#include "collectives/queued_communicator.h"
#include "collectives/transport.h"
#include "core/base/build_id.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr int kHostBytes = 65;  // HOST_NAME_MAX and a terminating zero
constexpr int kTag = 0;         // MPI's order between two ranks is all the matching that is needed

std::string reason_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return fmt::format("code {}", code);
  return {text, static_cast<std::size_t>(length)};
}

// Every MPI call goes through here.
void check(int code, const char* call) {
  if (code != MPI_SUCCESS) raise(ErrorKind::kPeer, "{} failed: {}", call, reason_of(code));
}

class MpiTransport final : public Transport {
 public:
  MpiTransport(std::int64_t max_message_bytes, int expected_ranks)
      : max_message_bytes_(max_message_bytes) {
    int used = 0;
    check(MPI_Initialized(&used), "MPI_Initialized");
    LS_USER_CHECK(used == 0, "MPI is in use already: a process can make one MPI communicator only");
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    LS_USER_CHECK(provided >= MPI_THREAD_FUNNELED, "this MPI cannot be used in threaded programs");
    topology_ = find_topology();
    LS_USER_CHECK(expected_ranks == 0 || expected_ranks == topology_.size(),
                  "the launcher started {} tasks, but MPI sees {}: start them with mpirun, or with "
                  "srun --mpi=pmix",
                  expected_ranks, topology_.size());
    spin_ = may_spin(static_cast<int>(topology_.ranks_of(topology_.node()).size()));
    sharpen_sleeps();
  }

  const Topology& topology() const override { return topology_; }
  std::int64_t bytes_between_nodes() const override { return bytes_between_nodes_; }

  void start_send(int to, std::span<const std::byte> bytes) override {
    if (topology_.node_of(to) != topology_.node())
      bytes_between_nodes_ += static_cast<std::int64_t>(bytes.size());
    for_each_part(bytes, [&](std::span<const std::byte> part) {
      requests_.push_back(MPI_REQUEST_NULL);
      check(MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, to, kTag,
                      MPI_COMM_WORLD, &requests_.back()),
            "MPI_Isend");
    });
  }

  void start_receive(int from, std::span<std::byte> bytes) override {
    for_each_part(bytes, [&](std::span<std::byte> part) {
      requests_.push_back(MPI_REQUEST_NULL);
      check(MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, from, kTag,
                      MPI_COMM_WORLD, &requests_.back()),
            "MPI_Irecv");
    });
  }

  bool test() override {
    int done = 0;
    if (requests_.empty()) {
      // Nothing of ours is under way; MPI may still have messages to push out.
      check(MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE),
            "MPI_Iprobe");
      return true;
    }
    statuses_.resize(requests_.size());
    const int code =
        MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data());
    if (code == MPI_ERR_IN_STATUS) {
      for (const MPI_Status& status : statuses_) {
        if (status.MPI_ERROR != MPI_ERR_PENDING) check(status.MPI_ERROR, "an MPI message");
      }
    }
    check(code, "MPI_Testall");
    if (done != 0) requests_.clear();
    return done != 0;
  }

  [[noreturn]] void abort(int exit_code, const std::string& reason) override {
    fmt::print(stderr, "rank {} ends the job with code {}: {}\n", topology_.rank(), exit_code,
               reason);
    std::fflush(nullptr);
    // mpirun ends the job when a rank exits like this, and returns the code. MPI_Abort also makes
    // mpirun print a notice; OpenMPI 4.1's mpirun can crash while it does so if another rank ends
    // at the same time. The code and the ranks' reasons are then lost.
    std::_Exit(exit_code);
  }

  // Called at the end of the communication thread, where nothing may be thrown.
  void close(bool clean) override {
    if (!clean) return;
    const int code = MPI_Finalize();
    if (code != MPI_SUCCESS)
      fmt::print(stderr, "MPI_Finalize failed on rank {}\n", topology_.rank());
  }

 protected:
  void relax(std::int64_t attempt) override { back_off(attempt, spin_); }

 private:
  template <class Bytes, class F>
  void for_each_part(Bytes bytes, const F& f) const {
    while (!bytes.empty()) {
      const auto length = std::min(bytes.size(), static_cast<std::size_t>(max_message_bytes_));
      f(bytes.first(length));
      bytes = bytes.subspan(length);
    }
  }

  /// Ranks share a node if MPI says that they can share memory; a node's id is its lowest rank.
  static Topology find_topology() {
    int rank = 0;
    int size = 1;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    MPI_Comm node = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
          "MPI_Comm_split_type");
    int lowest = rank;
    check(MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
    check(MPI_Comm_free(&node), "MPI_Comm_free");
    std::vector<int> ids(static_cast<std::size_t>(size));
    check(MPI_Allgather(&lowest, 1, MPI_INT, ids.data(), 1, MPI_INT, MPI_COMM_WORLD),
          "MPI_Allgather");
    char own[kHostBytes] = {};
    gethostname(own, kHostBytes - 1);
    std::vector<char> names(static_cast<std::size_t>(size) * kHostBytes);
    check(MPI_Allgather(own, kHostBytes, MPI_CHAR, names.data(), kHostBytes, MPI_CHAR,
                        MPI_COMM_WORLD),
          "MPI_Allgather");
    std::vector<std::string> hosts;
    hosts.reserve(ids.size());
    for (std::size_t r = 0; r < ids.size(); ++r) hosts.emplace_back(&names[r * kHostBytes]);
    return {rank, ids, std::move(hosts)};
  }

  std::int64_t max_message_bytes_;
  Topology topology_;
  std::atomic<std::int64_t> bytes_between_nodes_{0};
  bool spin_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

/// A message of an all-reduce between nodes is sent at once. OpenMPI asks for permission from 64
/// KiB on, and over TCP that question waits behind the data of the message before: an all-reduce
/// then took 1.4 times as long as the link needs. A value that the user chose stays.
void send_pieces_at_once() {
  constexpr std::int64_t kHeaders = std::int64_t{16} * 1024;
  const std::int64_t piece = piece_elements(1, DType::kU8);  // bytes that one member sums
  setenv("OMPI_MCA_btl_tcp_eager_limit", std::to_string(piece + kHeaders).c_str(), 0);
}

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(const MpiOptions& options) {
  LS_USER_CHECK(options.max_message_bytes >= 1 && options.max_message_bytes <= INT_MAX,
                "max_message_bytes is {}; it must be from 1 to {}", options.max_message_bytes,
                INT_MAX);
  send_pieces_at_once();
  return std::make_unique<QueuedCommunicator>(
      [bytes = options.max_message_bytes, ranks = options.expected_ranks] {
        return std::make_unique<MpiTransport>(bytes, ranks);
      },
      QueueOptions{.participant = {options.shared_memory, options.fixed_order, build_id().high},
                   .busy_threads = options.busy_threads});
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "unknown";
  // The text after the first comma says who built it, and when.
  const std::string whole(text.data(), static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace lockstep

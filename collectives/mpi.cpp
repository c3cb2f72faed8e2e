#include "collectives/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "collectives/backoff.h"
#include "collectives/queued_communicator.h"
#include "collectives/transport.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr int kTag = 0;  // MPI's order between two ranks is all the matching that is needed

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
  explicit MpiTransport(std::int64_t max_message_bytes) : max_message_bytes_(max_message_bytes) {
    int used = 0;
    check(MPI_Initialized(&used), "MPI_Initialized");
    LS_USER_CHECK(used == 0, "MPI is in use already: a process has one MPI communicator, once");
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    LS_USER_CHECK(provided >= MPI_THREAD_FUNNELED, "this MPI cannot be used in threaded programs");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    ranks_on_node_ = count_ranks_on_node();
    spin_ = may_spin(ranks_on_node_);
    sharpen_sleeps();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int ranks_on_node() const override { return ranks_on_node_; }

  void start_send(int to, std::span<const std::byte> bytes) override {
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
        if (status.MPI_ERROR != MPI_ERR_PENDING) check(status.MPI_ERROR, "a message of MPI");
      }
    }
    check(code, "MPI_Testall");
    if (done != 0) requests_.clear();
    return done != 0;
  }

  [[noreturn]] void abort(int exit_code, const std::string& reason) override {
    fmt::print(stderr, "rank {} ends the job with code {}: {}\n", rank_, exit_code, reason);
    std::fflush(nullptr);
    // mpirun ends the job when a rank exits like this, and returns the code. MPI_Abort asks mpirun
    // to print a notice as well, over which OpenMPI 4.1's mpirun can crash if another rank is just
    // ending, too: then the code is lost, and with it the ranks' reasons.
    std::_Exit(exit_code);
  }

  bool closes_together() const override { return true; }

  // Called at the end of the communication thread, from where nothing may be thrown.
  void close(bool clean) override {
    if (!clean) return;
    const int code = MPI_Finalize();
    if (code != MPI_SUCCESS) fmt::print(stderr, "MPI_Finalize failed on rank {}\n", rank_);
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

  static int count_ranks_on_node() {
    MPI_Comm node = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
          "MPI_Comm_split_type");
    int size = 0;
    check(MPI_Comm_size(node, &size), "MPI_Comm_size");
    check(MPI_Comm_free(&node), "MPI_Comm_free");
    return size;
  }

  std::int64_t max_message_bytes_;
  int rank_ = 0;
  int size_ = 1;
  int ranks_on_node_ = 1;
  bool spin_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(const MpiOptions& options) {
  LS_USER_CHECK(options.max_message_bytes >= 1 && options.max_message_bytes <= INT_MAX,
                "max_message_bytes is {}; it must be from 1 to {}", options.max_message_bytes,
                INT_MAX);
  return std::make_unique<QueuedCommunicator>(
      [bytes = options.max_message_bytes] { return std::make_unique<MpiTransport>(bytes); },
      QueueOptions{options.spans, options.shared_memory, options.busy_threads});
}

}  // namespace lockstep

#include "tests/ranks/in_process.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <future>
#include <mutex>

#include "collectives/queued_communicator.h"
#include "collectives/transport.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

using Message = std::vector<std::byte>;

// The state that all ranks share.
struct Hub {
  explicit Hub(std::vector<int> ids)
      : size(static_cast<int>(ids.size())), node_ids(std::move(ids)) {
    const std::size_t ranks = node_ids.size();
    inboxes.resize(ranks * ranks);
    left.resize(ranks, false);
  }
  std::deque<Message>& inbox(int from, int to) {
    return inboxes[static_cast<std::size_t>(from * size + to)];
  }

  const int size;
  const std::vector<int> node_ids;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex:
  std::vector<std::deque<Message>> inboxes;
  std::vector<bool> left;      ///< ranks whose communicator was destroyed
  std::exception_ptr aborted;  ///< the error that all ranks get after an abort
  std::uint64_t version = 0;   ///< grows with every change
};

class MailboxTransport final : public Transport {
 public:
  MailboxTransport(std::shared_ptr<Hub> hub, int rank)
      : hub_(std::move(hub)), rank_(rank), topology_(rank, hub_->node_ids, {}) {}

  const Topology& topology() const override { return topology_; }
  std::int64_t bytes_between_nodes() const override { return bytes_between_nodes_; }

  void start_send(int to, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return;
    if (topology_.node_of(to) != topology_.node())
      bytes_between_nodes_ += static_cast<std::int64_t>(bytes.size());
    Message message(bytes.begin(), bytes.end());
    change([&] { hub_->inbox(rank_, to).push_back(std::move(message)); });
  }

  void start_receive(int from, std::span<std::byte> bytes) override {
    if (!bytes.empty()) waiting_.push_back({from, bytes});
  }

  bool test() override {
    std::vector<std::pair<std::span<std::byte>, Message>> arrived;
    {
      const std::lock_guard lock(hub_->mutex);
      seen_ = hub_->version;
      if (hub_->aborted != nullptr) std::rethrow_exception(hub_->aborted);
      std::erase_if(waiting_, [&](const Receive& receive) {
        auto& inbox = hub_->inbox(receive.from, rank_);
        if (inbox.empty()) return false;
        arrived.emplace_back(receive.bytes, std::move(inbox.front()));
        inbox.pop_front();
        return true;
      });
      for (const Receive& receive : waiting_) {
        if (hub_->left[static_cast<std::size_t>(receive.from)]) {
          raise(ErrorKind::kPeer, "rank {} is gone; rank {} still waits for it", receive.from,
                rank_);
        }
      }
    }
    for (const auto& [target, message] : arrived) {
      LS_CHECK(target.size() == message.size(), "a message of {} bytes where {} were expected",
               message.size(), target.size());
      std::memcpy(target.data(), message.data(), message.size());
    }
    return waiting_.empty();
  }

  [[noreturn]] void abort(int exit_code, const std::string& reason) override {
    const auto error = std::make_exception_ptr(
        Error(ErrorKind::kPeer,
              fmt::format("rank {} ended the job with code {}: {}", rank_, exit_code, reason)));
    change([&] {
      if (hub_->aborted == nullptr) hub_->aborted = error;
    });
    std::rethrow_exception(error);
  }

  void close(bool) override {
    change([&] { hub_->left[static_cast<std::size_t>(rank_)] = true; });
  }

 protected:
  // The timeout bounds how long an interrupt of only this rank stays unseen.
  void relax(std::int64_t) override {
    std::unique_lock lock(hub_->mutex);
    hub_->changed.wait_for(lock, std::chrono::milliseconds(1),
                           [&] { return hub_->version != seen_; });
  }

 private:
  struct Receive {
    int from;
    std::span<std::byte> bytes;
  };

  template <class F>
  void change(const F& f) {
    {
      const std::lock_guard lock(hub_->mutex);
      f();
      ++hub_->version;
    }
    hub_->changed.notify_all();
  }

  std::shared_ptr<Hub> hub_;
  int rank_;
  Topology topology_;
  std::atomic<std::int64_t> bytes_between_nodes_{0};
  std::vector<Receive> waiting_;  ///< in the order of start, which is the order of matching
  std::uint64_t seen_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_in_process_communicators(
    int ranks, const InProcessOptions& options) {
  LS_USER_CHECK(ranks >= 1, "{} in-process ranks requested; at least 1 is needed", ranks);
  std::vector<int> node_ids = options.node_ids;
  if (node_ids.empty()) node_ids.resize(static_cast<std::size_t>(ranks), 0);
  LS_USER_CHECK(node_ids.size() == static_cast<std::size_t>(ranks), "{} node ids for {} ranks",
                node_ids.size(), ranks);
  auto hub = std::make_shared<Hub>(std::move(node_ids));
  // Ranks meet during construction, so all constructions must run at once.
  std::vector<std::future<std::unique_ptr<Communicator>>> made;
  for (int rank = 0; rank < ranks; ++rank) {
    made.push_back(std::async(std::launch::async, [hub, rank, &options] {
      return std::unique_ptr<Communicator>(std::make_unique<QueuedCommunicator>(
          [hub, rank] { return std::make_unique<MailboxTransport>(hub, rank); },
          QueueOptions{.participant = {options.shared_memory, options.fixed_order}}));
    }));
  }
  std::vector<std::unique_ptr<Communicator>> out;
  for (auto& communicator : made) out.push_back(communicator.get());
  return out;
}

}  // namespace lockstep

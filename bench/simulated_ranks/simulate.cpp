#include "bench/simulated_ranks/simulate.h"

#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>

#include "bench/simulated_ranks/fibers.h"
#include "bench/simulated_ranks/open_messages.h"
#include "core/base/error.h"
#include "watch/report.h"

namespace lockstep {
namespace {

/// What the simulation knows of a rank.
struct SimulatedRank {
  std::int64_t started = 0;  ///< messages that have not arrived
  bool waits = false;
  RankTraffic traffic;
};

/// Each rank on a node of its own.
Topology topology_of(int ranks) {
  std::vector<int> node_ids(static_cast<std::size_t>(ranks));
  std::iota(node_ids.begin(), node_ids.end(), 0);
  return {0, node_ids, {}};
}

class Simulation {
 public:
  Simulation(const SimulatedCluster& cluster, const std::function<void(Transport&)>& body)
      : cluster_(cluster),
        body_(body),
        topology_(topology_of(cluster.ranks)),
        ranks_(static_cast<std::size_t>(cluster.ranks)),
        network_(cluster.ranks, cluster.links),
        open_(cluster.ranks),
        fibers_(cluster.ranks, [this](int rank) { live(rank); }) {}

  SimulatedRun run();

  const Topology& topology() const { return topology_; }
  const RankTraffic& traffic(int rank) const { return rank_of(rank).traffic; }
  void send(int rank, int to, std::span<const std::byte> bytes);
  void receive(int rank, int from, std::span<std::byte> bytes);
  /// Whether nothing of this rank is on its way; throws what has ended the run.
  bool has_finished(int rank);
  void wait(int rank);
  [[noreturn]] void fail(std::exception_ptr error);

 private:
  SimulatedRank& rank_of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const SimulatedRank& rank_of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  void live(int rank);
  void resume_waiting(const std::vector<int>& ranks);
  std::exception_ptr deadlock(const std::vector<int>& waiting) const;

  /// One side has started a message, of which the other one may be there already.
  void started(int rank, const std::optional<SimulatedMessage>& complete) {
    ++rank_of(rank).started;
    if (complete) network_.set_out(*complete);
  }

  template <class... Args>
  void record(fmt::format_string<Args...> format, Args&&... args) {
    if (cluster_.record != nullptr)
      fmt::print(*cluster_.record, format, std::forward<Args>(args)...);
  }

  const SimulatedCluster& cluster_;
  const std::function<void(Transport&)>& body_;
  Topology topology_;  ///< as rank 0 sees it
  std::vector<SimulatedRank> ranks_;
  FairShareNetwork network_;
  OpenMessages open_;
  Fibers fibers_;
  std::exception_ptr error_;  ///< what ends all ranks
};

class SimulatedTransport final : public Transport {
 public:
  SimulatedTransport(Simulation& simulation, int rank)
      : simulation_(simulation), rank_(rank), topology_(simulation.topology().seen_by(rank)) {}

  const Topology& topology() const override { return topology_; }
  void start_send(int to, std::span<const std::byte> bytes) override {
    if (!bytes.empty()) simulation_.send(rank_, to, bytes);
  }
  void start_receive(int from, std::span<std::byte> bytes) override {
    if (!bytes.empty()) simulation_.receive(rank_, from, bytes);
  }
  bool test() override { return simulation_.has_finished(rank_); }
  std::int64_t bytes_between_nodes() const override {
    return simulation_.traffic(rank_).sent_bytes;
  }
  [[noreturn]] void abort(int exit_code, const std::string& reason) override {
    simulation_.fail(std::make_exception_ptr(
        Error(ErrorKind::kPeer,
              fmt::format("rank {} ended the job with code {}: {}", rank_, exit_code, reason))));
  }
  void close(bool) override {}

 protected:
  void relax(std::int64_t) override { simulation_.wait(rank_); }

 private:
  Simulation& simulation_;
  int rank_;
  Topology topology_;
};

void Simulation::send(int rank, int to, std::span<const std::byte> bytes) {
  record("send {} {} {}\n", rank, to, bytes.size());
  RankTraffic& traffic = rank_of(rank).traffic;
  traffic.sent_bytes += static_cast<std::int64_t>(bytes.size());
  ++traffic.sent_messages;
  started(rank, open_.send(rank, to, bytes));
}

void Simulation::receive(int rank, int from, std::span<std::byte> bytes) {
  record("receive {} {} {}\n", rank, from, bytes.size());
  started(rank, open_.receive(from, rank, bytes));
}

bool Simulation::has_finished(int rank) {
  if (error_ != nullptr) std::rethrow_exception(error_);
  if (rank_of(rank).started > 0) return false;
  record("finish {}\n", rank);
  return true;
}

void Simulation::wait(int rank) {
  rank_of(rank).waits = true;
  fibers_.suspend();
}

void Simulation::fail(std::exception_ptr error) {
  if (error_ == nullptr) error_ = std::move(error);
  std::rethrow_exception(error_);
}

/// A rank from beginning to end.
void Simulation::live(int rank) {
  try {
    SimulatedTransport transport(*this, rank);
    body_(transport);
    LS_CHECK(rank_of(rank).started == 0, "rank {} ends with messages on their way", rank);
  } catch (...) {
    if (error_ == nullptr) error_ = std::current_exception();
  }
  rank_of(rank).traffic.end_ns = network_.now_ns();
}

void Simulation::resume_waiting(const std::vector<int>& ranks) {
  for (const int rank : ranks) {
    rank_of(rank).waits = false;
    fibers_.resume(rank);
  }
}

std::exception_ptr Simulation::deadlock(const std::vector<int>& waiting) const {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> each;
  for (std::size_t i = 0; i < std::min(kShown, waiting.size()); ++i)
    each.push_back(fmt::format("rank {} for {}", waiting[i], open_.of_rank(waiting[i])));
  if (waiting.size() > kShown) each.emplace_back("...");
  return std::make_exception_ptr(
      Error(ErrorKind::kPeer,
            fmt::format("{} wait{} for messages that no rank will start: {}", list_ranks(waiting),
                        waiting.size() == 1 ? "s" : "", fmt::join(each, ", "))));
}

SimulatedRun Simulation::run() {
  record("cluster {} {} {}\n", cluster_.ranks, cluster_.links.bytes_per_s,
         cluster_.links.latency_ns);
  for (int rank = 0; rank < cluster_.ranks && error_ == nullptr; ++rank) fibers_.resume(rank);

  std::vector<int> ready;
  const auto one_less = [&](int rank) {
    SimulatedRank& its = rank_of(rank);
    if (--its.started == 0 && its.waits) ready.push_back(rank);
  };
  const auto arrived = [&](const SimulatedMessage& message) {
    if (cluster_.data)
      std::memcpy(message.target, message.source, static_cast<std::size_t>(message.bytes));
    one_less(message.from);
    one_less(message.to);
  };
  while (error_ == nullptr && network_.advance(arrived)) {
    resume_waiting(ready);
    ready.clear();
  }

  std::vector<int> waiting;
  for (int rank = 0; rank < cluster_.ranks; ++rank)
    if (rank_of(rank).waits) waiting.push_back(rank);
  if (error_ == nullptr && !waiting.empty()) error_ = deadlock(waiting);
  resume_waiting(waiting);  // each throws, and ends
  if (error_ != nullptr) std::rethrow_exception(error_);

  SimulatedRun out;
  for (const SimulatedRank& rank : ranks_) {
    out.traffic.push_back(rank.traffic);
    out.ns = std::max(out.ns, rank.traffic.end_ns);
  }
  return out;
}

}  // namespace

SimulatedRun simulate(const SimulatedCluster& cluster,
                      const std::function<void(Transport&)>& body) {
  LS_USER_CHECK(cluster.ranks >= 1, "{} simulated ranks; at least 1 is needed", cluster.ranks);
  return Simulation(cluster, body).run();
}

}  // namespace lockstep

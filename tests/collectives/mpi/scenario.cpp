// One scenario of tests/collectives/mpi, run by mpirun: mpi_scenario NAME [shm]. With shm the ranks
// share memory.
// Exits 0 if all went as it should, 7 (as the command line would) on an Error kPeer, 1 if a result
// is wrong.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "collectives/mpi.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/metrics.h"
#include "tests/collectives/oracle.h"
#include "tests/ranks/requests.h"

namespace lockstep {
namespace {

SharedMemoryUse shared_memory = SharedMemoryUse::kNever;

std::unique_ptr<Communicator> make_communicator() {
  return make_mpi_communicator({.shared_memory = shared_memory});
}

template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& want, const std::string& what) {
  LS_CHECK(got.size() == want.size() &&
               (got.empty() || std::memcmp(got.data(), want.data(), got.size() * sizeof(T)) == 0),
           "{} differs from the serial sum", what);
}

template <class T>
void check_sums(Communicator& comm, std::int64_t count) {
  const int size = comm.size();
  const auto seed = static_cast<std::uint64_t>(count);
  auto data = operands<T>(seed, comm.rank(), count);
  comm.submit(request_of(CollectiveKind::kAllReduce, data, count))->wait();
  expect_same(data, serial_sums<T>(seed, size, count), fmt::format("all_reduce of {}", count));

  auto slices = operands<T>(seed, comm.rank(), count * size);
  comm.submit(request_of(CollectiveKind::kReduceScatter, slices, count))->wait();
  comm.submit(request_of(CollectiveKind::kAllGather, slices, count))->wait();
  expect_same(slices, serial_sums<T>(seed, size, count * size),
              fmt::format("reduce_scatter and all_gather of {}", count));
}

// The same where the ranks share memory.
void check_shared_sums(Communicator& comm, std::int64_t count) {
  const auto buffer = comm.shared_buffer(static_cast<std::size_t>(count) * sizeof(float));
  buffer->wait_until_writable();
  const auto seed = static_cast<std::uint64_t>(count);
  auto data = operands<float>(seed, comm.rank(), count);
  std::memcpy(buffer->data(), data.data(), data.size() * sizeof(float));
  CollectiveRequest request = request_of(CollectiveKind::kAllReduce, data, count);
  request.data = buffer->data();
  comm.wait(comm.submit(request));
  std::memcpy(data.data(), buffer->sums(), data.size() * sizeof(float));
  expect_same(data, serial_sums<float>(seed, comm.size(), count), "a sum in shared memory");
}

// Everything against the serial oracle. Messages are split at 10,000 bytes here, as they are at
// 1 GiB in earnest.
void oracle() {
  const auto comm =
      make_mpi_communicator({.max_message_bytes = 10'000, .shared_memory = shared_memory});
  for (const std::int64_t count : {0, 1, 2, 15, 97, 4'099, 600'011}) {
    check_sums<float>(*comm, count);
    check_sums<std::int64_t>(*comm, count);
    if (shared_memory == SharedMemoryUse::kRequired && comm->size() > 1)
      for (int step = 0; step < 3 && count > 0; ++step) check_shared_sums(*comm, count);
  }
  for (int root = 0; root < comm->size(); ++root) {
    auto data = operands<double>(7, comm->rank(), 9'973);
    auto request = request_of(CollectiveKind::kBroadcast, data, 9'973);
    request.root = root;
    comm->submit(request)->wait();
    expect_same(data, operands<double>(7, root, 9'973), "broadcast");
  }
  const auto length = [](int rank) { return static_cast<std::size_t>(rank) * 20'011; };
  const auto all = comm->exchange("names", std::string(length(comm->rank()), 'x'));
  for (int rank = 0; rank < comm->size(); ++rank) {
    LS_CHECK(all[static_cast<std::size_t>(rank)] == std::string(length(rank), 'x'), "exchange");
  }
  if (comm->is_master_ordinal()) fmt::print("all sums agree on {} ranks\n", comm->size());
  comm->finish();
}

// Many requests at once complete in order, also when `ready` comes late.
void queue() {
  const auto comm = make_communicator();
  constexpr int kBuckets = 50;
  std::vector<std::vector<float>> buckets;
  std::vector<EventPtr> ready;
  std::vector<EventPtr> done;
  for (int b = 0; b < kBuckets; ++b) {
    buckets.push_back(operands<float>(static_cast<std::uint64_t>(b), comm->rank(), 1000 + b));
    ready.push_back(std::make_shared<Event>());
    auto request = request_of(CollectiveKind::kAllReduce, buckets.back(), 1000 + b);
    request.bucket = b;
    request.ready = ready.back();
    done.push_back(comm->submit(request));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30 * comm->rank()));
  LS_CHECK(!done[0]->is_ready(), "a collective ran ahead of its data");
  for (int b = kBuckets - 1; b >= 0; --b) ready[static_cast<std::size_t>(b)]->set();
  done.back()->wait();
  for (int b = 0; b < kBuckets; ++b) {
    LS_CHECK(done[static_cast<std::size_t>(b)]->is_ready(), "collective {} was overtaken", b);
    expect_same(buckets[static_cast<std::size_t>(b)],
                serial_sums<float>(static_cast<std::uint64_t>(b), comm->size(), 1000 + b),
                "a queued all_reduce");
  }
  comm->finish();
}

// The last rank has another count than the others.
void mismatch() {
  const auto comm = make_communicator();
  const bool odd_one = comm->rank() == comm->size() - 1;
  std::vector<float> data(2048);
  auto request = request_of(CollectiveKind::kAllReduce, data, odd_one ? 2048 : 1024);
  request.step = 5;
  request.bucket = 2;
  comm->submit(request)->wait();
}

// A `ready` that fails on one rank ends all ranks with its kind.
void failed_ready() {
  const auto comm = make_communicator();
  std::vector<float> data(8);
  auto request = request_of(CollectiveKind::kAllReduce, data, 8);
  if (comm->rank() == 0) {
    request.ready = std::make_shared<Event>();
    request.ready->fail(std::make_exception_ptr(Error(ErrorKind::kOutOfMemory, "1 GB too small")));
  }
  comm->submit(request)->wait();
}

// One rank aborts from another thread than the one that waits.
void abort_job() {
  const auto comm = make_communicator();
  std::thread watchdog([&] {
    if (comm->rank() == 1) comm->abort(7, "the watchdog of rank 1 barked");
  });
  if (comm->rank() == 1) {
    std::this_thread::sleep_for(std::chrono::seconds(60));
  } else {
    comm->rendezvous("never");
  }
  watchdog.join();
}

// An exception unwinds through rank 0's communicator while the others wait for it. mpirun takes the
// exit code of the first rank that ends: those that only learn that rank 0 is gone leave that to
// it.
void unwind() {
  const auto comm = make_communicator();
  std::vector<float> data(8);
  auto request = request_of(CollectiveKind::kAllReduce, data, 8);
  if (comm->rank() == 0) {
    request.ready = std::make_shared<Event>();  // never set
    comm->submit(request);
    raise(ErrorKind::kData, "rank 0 cannot read its data");
  }
  try {
    comm->submit(request)->wait();
  } catch (const Error&) {
    std::this_thread::sleep_for(std::chrono::seconds(40));  // until mpirun ends this rank
    throw;
  }
}

// Rank 1 is killed while the others wait for it.
void lost_rank() {
  const auto comm = make_communicator();
  comm->rendezvous("all are here");
  if (comm->rank() == 1) std::raise(SIGKILL);
  comm->rendezvous("never");
}

// Rank 0 ends while the others go on.
void early_end() {
  const auto comm = make_communicator();
  if (comm->rank() == 1) comm->rendezvous("one more step");
  comm->finish();
}

// Time of all_reduce from the last rank's readiness until the result may be read, checked first.
void speed() {
  const auto comm = make_communicator();
  for (const std::int64_t kib : {1, 64, 3 * 1024, 25 * 1024}) {
    const std::int64_t count = kib * 1024 / 4;
    check_sums<float>(*comm, std::min<std::int64_t>(count, 100'000));
    const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
    auto buffer = comm->shared_buffer(bytes);
    std::vector<float> data(buffer == nullptr ? static_cast<std::size_t>(count) : 0, 0.0F);
    auto request = request_of(CollectiveKind::kAllReduce, data, count);
    if (buffer != nullptr) request.data = buffer->data();
    double best = 1e9;
    double total = 0;
    const int repeats = static_cast<int>(100 * 1024 / kib) < 200 ? 12 : 200;
    for (int i = 0; i < repeats; ++i) {
      comm->rendezvous("start");
      const auto begin = std::chrono::steady_clock::now();
      comm->wait(comm->submit(request));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count());
      total += took.count();
    }
    if (comm->is_master_ordinal())
      fmt::print("all_reduce of {:>8} bytes: best {:.1f} us, mean {:.1f} us, best {:.2f} GB/s\n",
                 bytes, best * 1e6, total / repeats * 1e6,
                 static_cast<double>(bytes) / best * 1e-9);
  }
  comm->finish();
}

int run(const std::string& name) {
  const std::map<std::string, void (*)()> scenarios = {
      {"oracle", oracle},       {"queue", queue},
      {"mismatch", mismatch},   {"failed_ready", failed_ready},
      {"abort", abort_job},     {"unwind", unwind},
      {"lost_rank", lost_rank}, {"early_end", early_end},
      {"speed", speed}};
  try {
    scenarios.at(name)();
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return error.exit_code();
  }
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[2]) == "shm")
    lockstep::shared_memory = lockstep::SharedMemoryUse::kRequired;
  return argc == 2 || argc == 3 ? lockstep::run(argv[1]) : 2;
}

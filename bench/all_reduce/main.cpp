// all_reduce --sizes BYTES[,BYTES...] [--json] [--iterations N] [--lockstep-only], under mpirun:
// the time of the sum of f32 gradients over all ranks, by lockstep and by MPI_Allreduce out of
// place and in place. In each iteration every rank rewrites its buffers, as a backward pass does,
// and the three take turns. A time is that of the slowest rank, and the minimum over all
// iterations; ranks start together, after a sum of a few bytes or a barrier of the same kind.
//
// lockstep's sum is that of a training step: a bucket in a SharedBuffer, if the node shares memory,
// summed by the thread that submits it and waits. MPI's sums run on the communication thread, which
// owns MPI. handover_us is their additional cost: the median time from the end of a sum on that
// thread until the waiting thread continues.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <chrono>
#include <exception>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/all_reduce/mpi_forms.h"
#include "collectives/mpi.h"
#include "core/base/error.h"
#include "trainer/calibrate/all_reduce.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMaxBytes = std::int64_t{4} << 30;  ///< MPI counts are 32-bit
constexpr std::int64_t kBytesInAll = std::int64_t{1} << 30;
constexpr std::int64_t kMinIterations = 10;
constexpr std::int64_t kMaxIterations = 500;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Options {
  std::vector<std::int64_t> sizes;
  std::int64_t iterations = 0;  ///< 0: depends on the size
  bool json = false;
  bool lockstep_only = false;
};

/// The times of one size, one per iteration, of this rank.
struct Times {
  std::vector<double> lockstep;
  std::vector<double> mpi;
  std::vector<double> mpi_in_place;
  std::vector<double> handover;
  std::int64_t sent_between_nodes = 0;  ///< bytes of this rank, by the last sum
};

class Bench {
 public:
  explicit Bench(Communicator& communicator) : communicator_(communicator) {}

  Times measure(std::int64_t bytes, std::int64_t iterations, bool with_mpi) {
    const auto count = static_cast<std::size_t>(bytes / 4);
    std::vector<float> send(with_mpi ? count : 0);
    std::vector<float> receive(send.size());
    std::vector<float> in_place(send.size());
    Times out;
    // The first iteration touches memory and connects ranks; it is not counted.
    for (std::int64_t i = 0; i <= iterations; ++i) {
      const float value = static_cast<float>(communicator_.rank() + i % 5);
      const auto [ours, sent] = time_lockstep(bytes, value, i);
      if (i > 0) {
        out.lockstep.push_back(ours);
        out.sent_between_nodes = sent;
      }
      if (!with_mpi) continue;
      std::fill(send.begin(), send.end(), value);
      const auto [mpi, wake] = time_mpi(send, receive);
      check_sums(receive.data(), count, i);
      std::fill(in_place.begin(), in_place.end(), value);
      const double mpi_in_place = time_mpi(in_place, in_place).first;
      check_sums(in_place.data(), count, i);
      if (i == 0) continue;
      out.mpi.push_back(mpi);
      out.mpi_in_place.push_back(mpi_in_place);
      out.handover.push_back(wake);
    }
    return out;
  }

 private:
  /// Seconds of the sum, and the bytes sent to other nodes.
  std::pair<double, std::int64_t> time_lockstep(std::int64_t bytes, float value,
                                                std::int64_t iteration) {
    TimedBucket bucket(communicator_, bytes);
    bucket.fill(value);
    bucket.start_together();
    const std::int64_t sent_before = communicator_.bytes_between_nodes();
    const double seconds = bucket.sum();
    const std::int64_t sent = communicator_.bytes_between_nodes() - sent_before;
    check_sums(bucket.sums(), static_cast<std::size_t>(bytes / 4), iteration);
    return {seconds, sent};
  }

  /// Seconds of the sum, and until this thread noticed its end.
  std::pair<double, double> time_mpi(const std::vector<float>& send, std::vector<float>& receive) {
    double seconds = 0;
    Clock::time_point end;
    const auto done = std::make_shared<Event>();
    on_communication_thread([&] {
      seconds =
          time_mpi_all_reduce(send.data(), receive.data(), static_cast<std::int64_t>(send.size()));
      end = Clock::now();
      done->set();
    });
    done->wait();
    return {seconds, seconds_since(end)};
  }

  /// Runs `f` on all ranks' communication threads. A broadcast needs messages, so its event is
  /// marked on that thread; the gate delays it until the callback is registered.
  void on_communication_thread(const std::function<void()>& f) {
    const auto gate = std::make_shared<Event>();
    CollectiveRequest request;
    request.kind = CollectiveKind::kBroadcast;
    request.data = &nothing_;
    request.dtype = DType::kU8;
    request.count = 1;
    request.ready = gate;
    const EventPtr sent = communicator_.submit(std::move(request));
    sent->on_ready(f);
    gate->set();
    sent->wait();
  }

  void check_sums(const float* sums, std::size_t count, std::int64_t iteration) const {
    const int ranks = communicator_.size();
    const auto expected =
        static_cast<float>(ranks * (ranks - 1) / 2 + ranks * static_cast<int>(iteration % 5));
    for (const std::size_t i : {std::size_t{0}, count / 2, count - 1}) {
      LS_CHECK(sums[i] == expected, "a sum is {} instead of {}", sums[i], expected);
    }
  }

  Communicator& communicator_;
  std::byte nothing_{};
};

/// "null" if nothing was measured.
std::string min_ms(Communicator& communicator, const std::vector<double>& mine) {
  const std::vector<double> times = slowest_of_ranks(communicator, mine);
  if (times.empty()) return "null";
  return fmt::format("{:.6f}", *std::min_element(times.begin(), times.end()) * 1e3);
}

std::string median_us(std::vector<double> times) {
  if (times.empty()) return "null";
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return fmt::format("{:.3f}", *middle * 1e6);
}

/// Bytes that leave the node that sends the most.
std::int64_t bytes_of_a_node(Communicator& communicator, std::int64_t mine) {
  const Topology& topology = communicator.topology();
  const auto sent = communicator.exchange("bytes", fmt::format("{}", mine));
  std::int64_t most = 0;
  for (int node = 0; node < topology.nodes(); ++node) {
    std::int64_t bytes = 0;
    for (const int rank : topology.ranks_of(node))
      bytes += std::stoll(sent[static_cast<std::size_t>(rank)]);
    most = std::max(most, bytes);
  }
  return most;
}

void print(bool json, std::int64_t bytes, const Topology& topology, const std::string& lockstep,
           const std::string& mpi, const std::string& in_place, const std::string& handover,
           std::int64_t sent) {
  if (json) {
    fmt::print(
        "{{\"bytes\": {}, \"ranks\": {}, \"nodes\": {}, \"lockstep_ms\": {}, \"mpi_ms\": {}, "
        "\"mpi_inplace_ms\": {}, \"handover_us\": {}, \"node_sent_bytes\": {}}}\n",
        bytes, topology.size(), topology.nodes(), lockstep, mpi, in_place, handover, sent);
  } else {
    fmt::print(
        "{:>11} bytes, {} ranks on {} nodes: lockstep {} ms, mpi {} ms, in place {} ms, "
        "handover {} us, a node sends {} bytes\n",
        bytes, topology.size(), topology.nodes(), lockstep, mpi, in_place, handover, sent);
  }
  std::fflush(stdout);
}

void run(const Options& options) {
  const std::unique_ptr<Communicator> communicator = make_mpi_communicator();
  Bench bench(*communicator);
  for (const std::int64_t bytes : options.sizes) {
    const std::int64_t iterations =
        options.iterations > 0 ? options.iterations
                               : std::clamp(kBytesInAll / bytes, kMinIterations, kMaxIterations);
    const Times times = bench.measure(bytes, iterations, !options.lockstep_only);
    const std::string lockstep = min_ms(*communicator, times.lockstep);
    const std::string mpi = min_ms(*communicator, times.mpi);
    const std::string in_place = min_ms(*communicator, times.mpi_in_place);
    const std::int64_t sent = bytes_of_a_node(*communicator, times.sent_between_nodes);
    if (communicator->is_master_ordinal())
      print(options.json, bytes, communicator->topology(), lockstep, mpi, in_place,
            median_us(times.handover), sent);
  }
  communicator->finish();
}

std::vector<std::int64_t> read_sizes(const std::string& text) {
  std::vector<std::int64_t> out;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    std::int64_t bytes = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, bytes);
    LS_USER_CHECK(
        error == std::errc{} && stop == end && bytes >= 4 && bytes % 4 == 0 && bytes <= kMaxBytes,
        "--sizes: '{}' must be a multiple of 4 bytes, from 4 to {}", word, kMaxBytes);
    out.push_back(bytes);
  }
  LS_USER_CHECK(!out.empty(), "--sizes is empty");
  return out;
}

Options read_options(int argc, char** argv) {
  namespace po = boost::program_options;
  Options out;
  std::string sizes;
  po::options_description description("all_reduce, under mpirun");
  description.add_options()("sizes", po::value(&sizes)->required(), "BYTES[,BYTES...]");
  description.add_options()("json", po::bool_switch(&out.json), "one JSON object per size");
  description.add_options()("iterations", po::value(&out.iterations), "of each size");
  description.add_options()("lockstep-only", po::bool_switch(&out.lockstep_only), "without MPI's");
  try {
    po::variables_map values;
    namespace style = po::command_line_style;
    const int exact = style::unix_style & ~style::allow_guessing;
    po::store(po::parse_command_line(argc, argv, description, exact), values);
    po::notify(values);
  } catch (const po::error& e) {
    std::ostringstream text;
    text << description;
    raise(ErrorKind::kUsage, "{}\n{}", e.what(), text.str());
  }
  out.sizes = read_sizes(sizes);
  return out;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  try {
    lockstep::run(lockstep::read_options(argc, argv));
  } catch (const lockstep::Error& error) {
    fmt::print(stderr, "all_reduce: {}\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    fmt::print(stderr, "all_reduce: {}\n", error.what());
    return 1;
  }
  return 0;
}

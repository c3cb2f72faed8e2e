// simulated_collectives [--ranks 64,512,4096] [--bytes 4194304] [--collectives all_reduce,...]
//     [--gbit 100] [--latency-us 5] [--check-elements 4096] [--record FILE] [--json]
//
// Runs the collectives between nodes (collectives/algorithms.h) for more ranks than there are
// machines: all ranks in one thread, with a simulated network (bench/simulated_ranks/simulate.h). A
// line for each says the bytes and messages that were counted, and the virtual time they took, each
// beside its formula. "ring" is no algorithm of lockstep's, but the usual one, to compare with.
//
// Before these, real data of --check-elements is summed over as many ranks, and compared with the
// serial tree (0: not at all). The table's messages carry no data: ranks share one buffer. --record
// writes what ranks asked of their transports, of a single case; bench/peers/simgrid_messages.py
// reads it.
//
// 4,096 ranks take two minutes of an idle core and 4 GB: all_reduce has 33.5 million messages, of
// which half are on their way at once.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <boost/program_options.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <exception>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "bench/simulated_collectives/cases.h"
#include "bench/simulated_ranks/simulate.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<int> ranks;
  std::int64_t bytes = 0;
  std::vector<std::string> collectives;
  double gbit = 0;
  double latency_us = 0;
  std::int64_t check_elements = 0;
  std::string record;
  bool json = false;

  LinkLimits links() const {
    return {.bytes_per_s = gbit * 1e9 / 8, .latency_ns = std::llround(latency_us * 1e3)};
  }
};

/// What was counted, of all ranks together, and what it took here.
struct Measured {
  std::int64_t bytes = 0;
  std::int64_t most_bytes = 0;  ///< of a rank
  std::int64_t messages = 0;
  std::int64_t ns = 0;
  double seconds_here = 0;
};

Measured measure(const CollectiveCase& what, int ranks, const LinkLimits& links,
                 std::ostream* record) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const std::function<void()> no_interrupt = [] {};
  const auto begin = Clock::now();
  const SimulatedRun run =
      simulate({.ranks = ranks, .links = links, .data = what.data, .record = record},
               [&](Transport& transport) { what.run(Group(transport, all, no_interrupt)); });
  Measured out;
  out.seconds_here = std::chrono::duration<double>(Clock::now() - begin).count();
  out.ns = run.ns;
  for (const RankTraffic& rank : run.traffic) {
    out.bytes += rank.sent_bytes;
    out.most_bytes = std::max(out.most_bytes, rank.sent_bytes);
    out.messages += rank.sent_messages;
  }
  return out;
}

void print_row(const CollectiveCase& what, int ranks, const Measured& measured) {
  const ExpectedTraffic& want = what.expected;
  fmt::print("{:>5} {:<14} {:>10} {:>15} {:>15} {:>11} {:>11} {:>13} {:>15.1f} {:>7.2f}\n", ranks,
             what.name, what.bytes, measured.bytes, want.bytes, measured.messages, want.messages,
             measured.ns, want.ns, measured.seconds_here);
  std::fflush(stdout);
}

void print_json(const CollectiveCase& what, int ranks, const Measured& measured) {
  const ExpectedTraffic& want = what.expected;
  fmt::print(
      "{{\"simulated\": true, \"ranks\": {}, \"collective\": \"{}\", \"bytes\": {}, "
      "\"sent_bytes\": {}, \"formula_bytes\": {}, \"most_bytes\": {}, \"messages\": {}, "
      "\"formula_messages\": {}, \"ns\": {}, \"formula_ns\": {:.3f}, \"seconds_here\": {:.3f}}}\n",
      ranks, what.name, what.bytes, measured.bytes, want.bytes, measured.most_bytes,
      measured.messages, want.messages, measured.ns, want.ns, measured.seconds_here);
  std::fflush(stdout);
}

void print_head(const Options& options) {
  fmt::print(
      "simulated: a link of {} Gbit/s in each direction for each rank, {} us for each message\n",
      options.gbit, options.latency_us);
  fmt::print("{:>5} {:<14} {:>10} {:>15} {:>15} {:>11} {:>11} {:>13} {:>15} {:>7}\n", "ranks",
             "collective", "bytes", "sent by all", "formula", "messages", "formula", "virtual ns",
             "formula", "s here");
}

void check_sums(const Options& options, int ranks) {
  LS_CHECK(sums_are_those_of_the_tree(ranks, options.check_elements, options.links()),
           "sums of {} simulated ranks are not those of the serial tree", ranks);
  if (options.json) return;
  fmt::print("{:>5} ranks summed {} real f32 elements as the serial tree does, in every bit\n",
             ranks, options.check_elements);
  std::fflush(stdout);
}

void run(const Options& options) {
  std::ofstream record;
  if (!options.record.empty()) record.open(options.record);
  LS_USER_CHECK(record.good(), "--record: '{}' cannot be written", options.record);
  if (options.check_elements > 0)
    for (const int ranks : options.ranks) check_sums(options, ranks);
  if (!options.json) print_head(options);
  for (const int ranks : options.ranks) {
    for (const std::string& name : options.collectives) {
      const CollectiveCase what = collective_case(name, ranks, options.bytes, options.links());
      const Measured measured =
          measure(what, ranks, options.links(), options.record.empty() ? nullptr : &record);
      (options.json ? print_json : print_row)(what, ranks, measured);
    }
  }
  record.close();
  LS_USER_CHECK(record.good() || options.record.empty(), "--record: '{}' cannot be written",
                options.record);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) out.push_back(word);
  return out;
}

std::vector<int> read_ranks(const std::string& text) {
  constexpr int kMostRanks = 4096;
  std::vector<int> out;
  for (const std::string& word : words_of(text)) {
    int ranks = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, ranks);
    LS_USER_CHECK(error == std::errc{} && stop == end && ranks >= 2 && ranks <= kMostRanks &&
                      std::has_single_bit(static_cast<unsigned>(ranks)),
                  "--ranks: '{}' must be a power of two from 2 to {}", word, kMostRanks);
    out.push_back(ranks);
  }
  LS_USER_CHECK(!out.empty(), "--ranks is empty");
  return out;
}

void check(const Options& options) {
  LS_USER_CHECK(options.bytes >= 4 && options.bytes % 4 == 0,
                "--bytes: {} must be a multiple of 4, at least 4", options.bytes);
  LS_USER_CHECK(options.gbit > 0, "--gbit: {} must be more than 0", options.gbit);
  LS_USER_CHECK(options.latency_us >= 0, "--latency-us: {} is negative", options.latency_us);
  LS_USER_CHECK(options.check_elements >= 0, "--check-elements: {} is negative",
                options.check_elements);
  LS_USER_CHECK(options.record.empty() || options.ranks.size() * options.collectives.size() == 1,
                "--record needs one number of ranks and one collective");
}

Options read_options(int argc, char** argv) {
  namespace po = boost::program_options;
  Options out;
  std::string ranks, collectives;
  const std::string all = fmt::format("{}", fmt::join(collective_names(), ","));
  po::options_description description("simulated_collectives");
  auto add = description.add_options();
  add("ranks", po::value(&ranks)->default_value("64,512,4096"), "N[,N...], powers of two");
  add("bytes", po::value(&out.bytes)->default_value(4 << 20), "of each rank's buffer");
  add("collectives", po::value(&collectives)->default_value(all), "NAME[,NAME...]");
  add("gbit", po::value(&out.gbit)->default_value(100), "Gbit/s of a rank's link");
  add("latency-us", po::value(&out.latency_us)->default_value(5), "of a message");
  add("check-elements", po::value(&out.check_elements)->default_value(4096), "summed for real");
  add("record", po::value(&out.record), "file for the messages of a single case");
  add("json", po::bool_switch(&out.json), "one JSON object per line of the table");
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
  out.ranks = read_ranks(ranks);
  out.collectives = words_of(collectives);
  check(out);
  return out;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  try {
    lockstep::run(lockstep::read_options(argc, argv));
  } catch (const lockstep::Error& error) {
    fmt::print(stderr, "simulated_collectives: {}\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    fmt::print(stderr, "simulated_collectives: {}\n", error.what());
    return 1;
  }
  return 0;
}

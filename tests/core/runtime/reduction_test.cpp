// Gradient sums over micro-batches and ranks against the documented tree.
#include "core/runtime/reduction.h"

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

#include "core/base/reduce_tree.h"
#include "tests/ranks/delaying.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

const std::vector<Type> kValues = {
    {DType::kF32, Shape{5}},  {DType::kI64, Shape{}},   {DType::kF32, Shape{3, 40}},
    {DType::kF64, Shape{2}},  {DType::kF32, Shape{0}},  {DType::kF32, Shape{17}},
    {DType::kI32, Shape{33}}, {DType::kF32, Shape{64}},
};

/// Element `i` of value `v` of a micro-batch: sums of these round differently in every order.
double element(std::int64_t micro_batch, std::size_t v, std::int64_t i) {
  const auto x =
      static_cast<double>(31 * micro_batch + 7 * static_cast<std::int64_t>(v) + 3 * i + 1);
  return std::sin(x) * std::pow(10.0, static_cast<double>((micro_batch + i) % 5));
}

HostTensor micro_batch_value(std::int64_t micro_batch, std::size_t v) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < kValues[v].elements(); ++i)
    values.push_back(element(micro_batch, v, i));
  return from_doubles(kValues[v].dtype, kValues[v].shape, values);
}

template <class T>
void add_to(const HostTensor& left, const HostTensor& right, const HostTensor& out) {
  for (std::size_t i = 0; i < out.as<T>().size(); ++i)
    out.as<T>()[i] = left.as<T>()[i] + right.as<T>()[i];
}

HostTensor add(const HostTensor& left, const HostTensor& right) {
  HostTensor out(left.dtype(), left.shape());
  switch (left.dtype()) {
    case DType::kF32: add_to<float>(left, right, out); break;
    case DType::kF64: add_to<double>(left, right, out); break;
    case DType::kI32: add_to<std::int32_t>(left, right, out); break;
    default: add_to<std::int64_t>(left, right, out); break;
  }
  return out;
}

/// What all ranks together must end with: each rank's run of micro-batches is a tree, and the
/// ranks' sums are one.
HostTensor expected_sum(std::size_t v, std::int64_t ranks, std::int64_t micro_batches) {
  return tree_reduce(
      0, ranks,
      [&](std::int64_t rank) {
        return tree_reduce(
            rank * micro_batches, micro_batches,
            [&](std::int64_t micro_batch) { return micro_batch_value(micro_batch, v); }, add);
      },
      add);
}

std::string bytes_of(const std::byte* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Counts how many flat buffers are alive at once.
struct RankDevice {
  SteadyClock clock;
  Metrics metrics{clock};
  SpanStream spans{clock, metrics};
  Allocator allocator{0};
  ThreadPool pool{2};
};

/// Values are finished in this order, which is not that of the buckets.
constexpr std::array<std::size_t, 8> kFinishOrder = {7, 2, 0, 1, 5, 6, 3, 4};

void reduce_on(Communicator& communicator, std::int64_t micro_batches, const BucketOptions& options,
               const std::vector<std::string>& expected) {
  RankDevice device;
  const ReductionLayout layout = plan_reduction(kValues, options);
  {
    Reduction reduction(
        layout, {device.allocator, device.pool, communicator, device.spans, 3, options.overlap},
        micro_batches);
    for (std::int64_t k = 0; k < micro_batches; ++k) {
      reduction.begin_writing();
      for (const std::size_t v : kFinishOrder) {
        const HostTensor value = micro_batch_value(communicator.rank() * micro_batches + k, v);
        const auto index = static_cast<std::int32_t>(v);
        if (!value.bytes().empty())
          std::memcpy(reduction.slot(index), value.bytes().data(), value.bytes().size());
        reduction.finish_value(index);
      }
      reduction.finish_micro_batch();
    }
    reduction.wait();
    for (std::size_t v = 0; v < kValues.size(); ++v)
      EXPECT_EQ(bytes_of(reduction.result(static_cast<std::int32_t>(v)), kValues[v].bytes()),
                expected[v])
          << "value " << v << ", " << micro_batches << " micro-batches, rank "
          << communicator.rank() << " of " << communicator.size() << ", buckets of "
          << options.bucket_bytes;
  }
  const auto buffer = static_cast<std::size_t>((layout.bytes + 63) / 64 * 64);
  EXPECT_EQ(device.allocator.peak_bytes(),
            static_cast<std::size_t>(reduction_buffers(micro_batches)) * buffer);
}

class ReductionOverRanks : public testing::TestWithParam<std::tuple<int, SharedMemoryUse>> {};

TEST_P(ReductionOverRanks, EqualsTheTreeBitForBit) {
  const auto [ranks, shared_memory] = GetParam();
  for (std::int64_t micro_batches = 1; micro_batches <= 9; ++micro_batches) {
    std::vector<std::string> expected;
    for (std::size_t v = 0; v < kValues.size(); ++v) {
      const HostTensor sum = expected_sum(v, ranks, micro_batches);
      expected.push_back(bytes_of(sum.bytes().data(), sum.bytes().size()));
    }
    for (const std::int64_t bucket_bytes : {1, 300, 1 << 20})
      for (const bool overlap : {true, false})
        on_ranks(
            ranks,
            [&](Communicator& communicator) {
              for (int step = 0; step < 2; ++step)
                reduce_on(communicator, micro_batches,
                          {.bucket_bytes = bucket_bytes,
                           .first_bucket_bytes = bucket_bytes / 2,
                           .overlap = overlap},
                          expected);
            },
            shared_memory);
  }
}

INSTANTIATE_TEST_SUITE_P(Reduction, ReductionOverRanks,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(SharedMemoryUse::kNever,
                                                          SharedMemoryUse::kRequired)));

/// An evaluation's batch sums nothing, and some ranks have one batch more than others.
TEST(Reduction, OfNothingLeavesSharedBuffersInStep) {
  const std::vector<std::string> expected = [] {
    std::vector<std::string> out;
    for (std::size_t v = 0; v < kValues.size(); ++v) {
      const HostTensor sum = expected_sum(v, 2, 1);
      out.push_back(bytes_of(sum.bytes().data(), sum.bytes().size()));
    }
    return out;
  }();
  on_ranks(
      2,
      [&](Communicator& communicator) {
        RankDevice device;
        const ReductionLayout nothing = plan_reduction({}, {});
        if (communicator.rank() == 0) {
          Reduction evaluation(
              nothing, {device.allocator, device.pool, communicator, device.spans, 0, true}, 1);
          evaluation.begin_writing();
          evaluation.finish_micro_batch();
          evaluation.wait();
        }
        reduce_on(communicator, 1, {}, expected);
      },
      SharedMemoryUse::kRequired);
}

/// Writes down when each bucket was submitted.
class RecordingCommunicator final : public Communicator {
 public:
  const Topology& topology() const override { return topology_; }
  EventPtr submit(CollectiveRequest request) override {
    submitted.push_back(request.bucket);
    return Event::completed();
  }
  std::vector<std::string> exchange(const std::string&, const std::string&) override { return {}; }
  bool agree(const std::string&, const Hash128&) override { return true; }
  void finish() override {}
  [[noreturn]] void abort(int, const std::string& reason) override {
    raise(ErrorKind::kPeer, "{}", reason);
  }
  std::vector<int> submitted;

 private:
  Topology topology_{0, std::vector<int>{0, 0}, {}};
};

std::vector<std::size_t> submissions(bool overlap) {
  const std::vector<Type> values(3, Type{DType::kF32, Shape{16}});
  const ReductionLayout layout =
      plan_reduction(values, {.bucket_bytes = 64, .first_bucket_bytes = 64});
  RankDevice device;
  RecordingCommunicator communicator;
  Reduction reduction(layout,
                      {device.allocator, device.pool, communicator, device.spans, 0, overlap}, 2);
  std::vector<std::size_t> out;
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    for (const std::int32_t value : {1, 0, 2}) {
      reduction.finish_value(value);
      out.push_back(communicator.submitted.size());
    }
    reduction.finish_micro_batch();
    out.push_back(communicator.submitted.size());
  }
  EXPECT_THAT(communicator.submitted, testing::ElementsAre(0, 1, 2));
  return out;
}

TEST(Overlap, SubmitsABucketInTheLastMicroBatchAsEarlyAsItsOrderAllows) {
  EXPECT_THAT(submissions(true), testing::ElementsAre(0, 0, 0, 0, 0, 2, 3, 3));
}

/// How long a rank waits for its sums after the last of five buckets is ready, in seconds: each
/// takes `latency` on the network, and as long and half again to be computed.
double exposed_seconds(std::chrono::milliseconds latency, bool overlap) {
  constexpr int kBuckets = 5;
  const std::vector<Type> values(kBuckets, Type{DType::kF32, Shape{16}});
  const ReductionLayout layout =
      plan_reduction(values, {.bucket_bytes = 64, .first_bucket_bytes = 64});
  auto communicators = make_in_process_communicators(2, {.node_ids = {0, 1}});
  std::array<double, 2> exposed{};
  std::vector<std::jthread> ranks;
  for (std::size_t rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      const auto slow = make_delaying_communicator(
          std::move(communicators[rank]),
          std::chrono::duration<double, std::micro>(latency).count(), 1.0);
      RankDevice device;
      Reduction reduction(layout, {device.allocator, device.pool, *slow, device.spans, 0, overlap},
                          1);
      reduction.begin_writing();
      for (std::int32_t value = 0; value < kBuckets; ++value) {
        std::this_thread::sleep_for(latency * 3 / 2);
        reduction.finish_value(value);
      }
      const auto begin = std::chrono::steady_clock::now();
      reduction.finish_micro_batch();
      reduction.wait();
      exposed[rank] =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    });
  ranks.clear();
  return std::max(exposed[0], exposed[1]);
}

// Between nodes, too: what a step waits for is its last bucket. Without overlap it is all five; the
// limit lies in the middle. A busy machine only adds to it: of several tries the least counts.
TEST(Overlap, ExposesTheLastBucketOnly) {
  constexpr std::chrono::milliseconds kLatency(40);
  constexpr double kLimit = 0.040 * 3;
  double least = exposed_seconds(kLatency, true);
  for (int more = 0; more < 9 && least >= kLimit; ++more)
    least = std::min(least, exposed_seconds(kLatency, true));
  EXPECT_LT(least, kLimit);
  EXPECT_GE(exposed_seconds(kLatency, false), 0.040 * 5);
}

TEST(Overlap, SwitchedOffSubmitsAllBucketsAfterTheLastMicroBatch) {
  EXPECT_THAT(submissions(false), testing::ElementsAre(0, 0, 0, 0, 0, 0, 0, 3));
}

}  // namespace
}  // namespace lockstep

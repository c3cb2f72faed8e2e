// The event rule against a job that is advanced tick by tick, and what must hold of any rule.
#include "core/virtual_time/event_rule.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>

#include "tests/core/virtual_time/tick_by_tick.h"

namespace lockstep {
namespace {

using Steps = std::vector<std::vector<OracleStep>>;  // by rank

struct Job {
  StreamOptions options;
  Steps steps;
};

/// Costs are small, so that ties and zeros are frequent.
class RandomJob {
 public:
  explicit RandomJob(std::uint64_t seed) : random_(seed) {}

  Job operator()() {
    Job out;
    out.options = {.queue_depth = static_cast<int>(in(1, 3)),
                   .loader_workers = static_cast<int>(in(1, 3)),
                   .prefetch = in(1, 4),
                   .device_prefetch = in(1, 3)};
    const auto ranks = static_cast<std::size_t>(in(1, 4));
    const auto steps = static_cast<std::size_t>(in(1, 6));
    out.steps.resize(ranks);
    const bool host_is_slow = in(0, 2) == 0, loader_is_slow = in(0, 2) == 0;
    for (std::size_t s = 0; s < steps; ++s) {
      std::vector<std::int64_t> all_reduces(static_cast<std::size_t>(in(0, 3)));
      for (std::int64_t& each : all_reduces) each = in(0, 6);
      const std::int64_t micro_batches = in(1, 3), interference = 250'000 * in(0, 4);
      for (std::vector<OracleStep>& rank : out.steps) {
        OracleStep step;
        step.micro_batches = micro_batches;
        step.durations = {.micro_batch_ns = in(0, 9),
                          .sums_ns = in(0, 2),
                          .interference_ppm = interference,
                          .update_ns = in(0, 4),
                          .waits_ns = in(0, 1)};
        std::int64_t ready = 0;
        for (const std::int64_t lasts : all_reduces) {
          ready = in(0, step.durations.micro_batch_ns);
          step.durations.buckets.push_back({ready, lasts});
        }
        step.host_ns = in(0, host_is_slow ? 20 : 2);
        step.trace_ns = in(0, host_is_slow ? 20 : 2);
        step.fetch_ns = in(0, loader_is_slow ? 40 : 3);
        step.copy_ns = in(0, 4);
        step.reads_step = in(-1, static_cast<std::int64_t>(rank.size()) - 1);
        rank.push_back(std::move(step));
      }
    }
    return out;
  }

 private:
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, std::max(low, high))(random_);
  }
  std::mt19937_64 random_;
};

/// By the rule, as ranks of a real run call it.
std::vector<std::vector<StepTimes>> by_rule(const Job& job) {
  const std::size_t ranks = job.steps.size();
  std::vector<VirtualStream> streams(ranks, VirtualStream(job.options));
  std::vector<JobLink> links(ranks);
  std::vector<std::vector<StepTimes>> out(ranks);
  for (std::size_t s = 0; s < job.steps[0].size(); ++s) {
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> latest(job.steps[0][s].durations.buckets.size(), 0);
    for (std::size_t r = 0; r < ranks; ++r) {
      const OracleStep& step = job.steps[r][s];
      std::vector<HostEvent> events;
      if (step.reads_step >= 0)
        events.push_back({HostEvent::Kind::kWaitUntil,
                          out[r][static_cast<std::size_t>(step.reads_step)].end_ns});
      events.push_back({HostEvent::Kind::kWork, step.host_ns});
      events.push_back({HostEvent::Kind::kTakeBatch, step.fetch_ns, step.copy_ns});
      events.push_back({HostEvent::Kind::kWork, step.trace_ns});
      begins.push_back(streams[r].begin(events).begin_ns);
      const std::vector<std::int64_t> ready =
          bucket_times(step.durations, step.micro_batches, begins[r]);
      for (std::size_t b = 0; b < ready.size(); ++b) latest[b] = std::max(latest[b], ready[b]);
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      const OracleStep& step = job.steps[r][s];
      out[r].push_back(step_times(step.durations, step.micro_batches, begins[r],
                                  all_reduce_ends(step.durations, latest, links[r])));
      streams[r].end(out[r].back().end_ns);
    }
  }
  return out;
}

Job scaled(Job job, std::int64_t factor) {
  for (std::vector<OracleStep>& rank : job.steps)
    for (OracleStep& step : rank) {
      StepDurations& d = step.durations;
      for (std::int64_t* each : {&d.micro_batch_ns, &d.sums_ns, &d.update_ns, &d.waits_ns,
                                 &step.host_ns, &step.trace_ns, &step.fetch_ns, &step.copy_ns})
        *each *= factor;
      for (BucketDuration& bucket : d.buckets) {
        bucket.ready_ns *= factor;
        bucket.all_reduce_ns *= factor;
      }
    }
  return job;
}

bool same(const StepTimes& a, const StepTimes& b) {
  return a.begin_ns == b.begin_ns && a.computed_ns == b.computed_ns &&
         a.reduced_ns == b.reduced_ns && a.end_ns == b.end_ns && a.all_reduce_ns == b.all_reduce_ns;
}

/// 100 draws of rapidcheck, each of 100 jobs.
template <class F>
void for_random_jobs(const F& check) {
  constexpr int kJobs = 100;
  EXPECT_TRUE(rc::check([&] {
    RandomJob random(*rc::gen::arbitrary<std::uint64_t>());
    for (int i = 0; i < kJobs; ++i) check(random());
  }));
}

TEST(EventRule, AgreesWithAJobAdvancedTickByTick) {
  for_random_jobs([](const Job& job) {
    const auto expected = run_tick_by_tick(job.options, job.steps);
    const auto found = by_rule(job);
    for (std::size_t r = 0; r < expected.size(); ++r)
      for (std::size_t s = 0; s < expected[r].size(); ++s)
        RC_ASSERT(same(found[r][s], expected[r][s]));
  });
}

TEST(EventRule, DoublesAllTimesIfAllCostsDouble) {
  for_random_jobs([](Job job) {
    for (std::vector<OracleStep>& rank : job.steps)  // without a share that would be rounded
      for (OracleStep& step : rank)
        step.durations.interference_ppm = step.durations.interference_ppm / 1'000'000 * 1'000'000;
    const auto once = by_rule(job), twice = by_rule(scaled(job, 2));
    for (std::size_t r = 0; r < once.size(); ++r)
      for (std::size_t s = 0; s < once[r].size(); ++s)
        RC_ASSERT(twice[r][s].end_ns == 2 * once[r][s].end_ns);
  });
}

TEST(EventRule, OneMoreTickNeverEndsAStepEarlier) {
  for_random_jobs([](Job job) {
    for (std::vector<OracleStep>& rank : job.steps)
      for (OracleStep& step : rank) step.durations.interference_ppm = 0;
    const auto before = by_rule(job);
    job.steps[0][0].durations.micro_batch_ns += 1;
    job.steps[0].back().fetch_ns += 1;
    const auto after = by_rule(job);
    for (std::size_t r = 0; r < before.size(); ++r)
      for (std::size_t s = 0; s < before[r].size(); ++s)
        RC_ASSERT(after[r][s].end_ns >= before[r][s].end_ns);
  });
}

TEST(EventRule, LinksWithoutCostLeaveAlikeRanksAsOneDevice) {
  for_random_jobs([](Job job) {
    for (std::vector<OracleStep>& rank : job.steps) rank = job.steps[0];
    for (std::vector<OracleStep>& rank : job.steps)
      for (OracleStep& step : rank)
        for (BucketDuration& bucket : step.durations.buckets) bucket.all_reduce_ns = 0;
    Job alone = job;
    alone.steps.resize(1);
    const auto all = by_rule(job), one = by_rule(alone);
    for (const auto& rank : all)
      for (std::size_t s = 0; s < rank.size(); ++s) RC_ASSERT(same(rank[s], one[0][s]));
  });
}

TEST(EventRule, ASteadyStepIsThatOfARunWithoutHost) {
  const StepDurations step{.micro_batch_ns = 100,
                           .sums_ns = 7,
                           .buckets = {{40, 30}, {90, 50}},
                           .interference_ppm = 500'000,
                           .update_ns = 20,
                           .waits_ns = 3};
  // The last of two micro-batches begins at 107 and ends at 207. The first bucket goes from 147 to
  // 177, the second from 197 to 247; 40 ns of them are hidden, of which half is lost.
  const StepTimes times = steady_step(step, 2);
  EXPECT_EQ(times.computed_ns, 207);
  EXPECT_EQ(times.reduced_ns, 247 + 20);
  EXPECT_EQ(times.end_ns, 267 + 20 + 3);
  EXPECT_EQ(times.all_reduce_ns, 80);
  EXPECT_EQ(times.exposed_ns(), 60);
}

/// 9 ms of the host's work hide behind a step of 20 ms and not behind one of 5 ms.
TEST(EventRule, TheHostHidesBehindLongSteps) {
  for (const int depth : {1, 2})
    for (const std::int64_t device : {5, 20}) {
      VirtualStream stream(StreamOptions{.queue_depth = depth});
      const std::vector<HostEvent> events = {{HostEvent::Kind::kWork, 9}};
      std::int64_t end = 0, step = 0;
      for (int s = 0; s < 10; ++s) {
        const std::int64_t before = end;
        end = stream.begin(events).begin_ns + device;
        stream.end(end);
        step = end - before;
      }
      EXPECT_EQ(step, std::max<std::int64_t>(9, device)) << depth << " " << device;
    }
}

/// A value that is read before the next step is recorded leaves the device idle for as long as the
/// host needs.
TEST(EventRule, AReadInEachStepExposesTheHost) {
  VirtualStream stream(StreamOptions{});
  std::int64_t end = 0;
  for (int s = 0; s < 5; ++s) {
    const CommandBegin begin = stream.begin(
        std::vector<HostEvent>{{HostEvent::Kind::kWaitUntil, end}, {HostEvent::Kind::kWork, 9}});
    EXPECT_EQ(begin.idle_ns, 9);
    end = begin.begin_ns + 20;
    stream.end(end);
  }
}

TEST(EventRule, ALoaderThatIsTooSlowIsAWaitForInput) {
  VirtualStream stream(StreamOptions{.loader_workers = 2, .prefetch = 2});
  const std::vector<HostEvent> events = {{HostEvent::Kind::kTakeBatch, 50, 1}};
  // Two batches come every 50 ns, and the device needs 10 for each.
  std::int64_t idle = 0;
  for (int s = 0; s < 20; ++s) {
    const CommandBegin begin = stream.begin(events);
    stream.end(begin.begin_ns + 10);
    EXPECT_EQ(begin.inputs_ns, begin.idle_ns);
    if (s >= 10) idle += begin.idle_ns;
  }
  EXPECT_EQ(idle, 5 * (50 - 20));
}

}  // namespace
}  // namespace lockstep

#include "core/base/metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <thread>

namespace lockstep {
namespace {

constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

TEST(FormatDuration, TruncatesEveryPart) {
  EXPECT_EQ(format_duration(27'920'153'731.0), "27s920ms153.731us");
  EXPECT_EQ(format_duration(27'920'153'731.999), "27s920ms153.731us");
  EXPECT_EQ(format_duration(59.6e9), "59s600ms000.000us");
  EXPECT_EQ(format_duration(59'999'999'999.9), "59s999ms999.999us");
}

TEST(FormatDuration, BeginsWithTheLargestPartThatIsThere) {
  EXPECT_EQ(format_duration(0), "000.000us");
  EXPECT_EQ(format_duration(59'120), "059.120us");
  EXPECT_EQ(format_duration(92'152'037), "092ms152.037us");
  EXPECT_EQ(format_duration(1e9), "1s000ms000.000us");
  EXPECT_EQ(format_duration(60e9), "1m00s000ms000.000us");
  EXPECT_EQ(format_duration(3'723'004'005'006.0), "1h02m03s004ms005.006us");
  EXPECT_EQ(format_duration(86'400e9), "1d00h00m00s000ms000.000us");
}

TEST(FormatDuration, PrintsWhatIsNoDurationAsZero) {
  EXPECT_EQ(format_duration(-5), "000.000us");
  EXPECT_EQ(format_duration(std::nan("")), "000.000us");
}

TEST(FormatDuration, PrintsWhatIsTooLongAsTheLongest) {
  EXPECT_EQ(format_duration(1e300), format_duration(9.3e18));
  EXPECT_EQ(format_duration(9.3e18), "106751d23h47m16s854ms775.807us");
}

RC_GTEST_PROP(FormatDuration, KeepsEveryNanosecond, ()) {
  const auto ns = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 52);
  std::istringstream text(format_duration(static_cast<double>(ns)));
  std::int64_t sum = 0;
  for (std::int64_t value = 0; text >> value;) {
    std::string unit;
    while (std::isalpha(text.peek()) != 0) unit += static_cast<char>(text.get());
    if (text.peek() == '.') {
      std::int64_t fraction = 0;
      text.get();
      text >> fraction >> unit;
      RC_ASSERT(unit == "us");
      sum += value * 1000 + fraction;
    } else {
      sum += value * (unit == "d"    ? 86'400 * kSecond
                      : unit == "h"  ? 3'600 * kSecond
                      : unit == "m"  ? 60 * kSecond
                      : unit == "s"  ? kSecond
                      : unit == "ms" ? kMilli
                                     : 0);
    }
  }
  RC_ASSERT(sum == ns);
}

TEST(FormatBytes, TruncatesToTwoDigits) {
  EXPECT_EQ(format_bytes(0), "0.00B");
  EXPECT_EQ(format_bytes(512), "512.00B");
  EXPECT_EQ(format_bytes(1024), "1.00KiB");
  EXPECT_EQ(format_bytes(1536), "1.50KiB");
  EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1023.99KiB");
  EXPECT_EQ(format_bytes(2.25 * 1024 * 1024 * 1024), "2.25GiB");
  EXPECT_EQ(format_bytes(0x1p50), "1024.00TiB");
}

TEST(Report, IsSortedByNameAndExact) {
  ManualClock clock;
  Metrics metrics(clock);
  // The example of the design: 5 compilations of 27.920153731 s in all, over 302.97924 s.
  for (const std::int64_t part : {4'000 * kMilli, 5'000 * kMilli, 6'000 * kMilli, 7'000 * kMilli}) {
    metrics.sample("CompileTime", static_cast<double>(part));
    clock.advance_ns(75'744'808'493);
  }
  metrics.sample("CompileTime", 5'920'153'731.0);
  metrics.sample("AllReduceSize", 1536, Unit::kBytes);
  metrics.count("UncachedCompile", 5);
  metrics.count("CachedCompile");
  metrics.count("CachedCompile", 1214);
  EXPECT_EQ(
      metrics.report(),
      "Metric: AllReduceSize\n"
      "  TotalSamples: 1\n"
      "  Accumulator: 1.50KiB\n"
      "  Percentiles: 1%=1.50KiB; 5%=1.50KiB; 10%=1.50KiB; 20%=1.50KiB; 50%=1.50KiB; 80%=1.50KiB; "
      "90%=1.50KiB; 95%=1.50KiB; 99%=1.50KiB\n"
      "Metric: CompileTime\n"
      "  TotalSamples: 5\n"
      "  Accumulator: 27s920ms153.731us\n"
      "  ValueRate: 092ms152.037us / second\n"
      "  Rate: 0.0165028 / second\n"
      "  Percentiles: 1%=4s000ms000.000us; 5%=4s000ms000.000us; 10%=4s000ms000.000us; "
      "20%=4s000ms000.000us; 50%=5s920ms153.731us; 80%=6s000ms000.000us; "
      "90%=7s000ms000.000us; 95%=7s000ms000.000us; 99%=7s000ms000.000us\n"
      "Counter: CachedCompile\n"
      "  Value: 1215\n"
      "Counter: UncachedCompile\n"
      "  Value: 5\n");
}

TEST(Report, IsEmptyWithoutMetrics) {
  ManualClock clock;
  EXPECT_EQ(Metrics(clock).report(), "");
}

TEST(Metrics, KnowNothingOfWhatWasNeverCounted) {
  ManualClock clock;
  const Metrics metrics(clock);
  EXPECT_EQ(metrics.counter("CachedCompile"), 0);
  EXPECT_EQ(metrics.metric("CompileTime").samples, 0);
}

TEST(Metrics, TotalsCoverAllSamplesAndTheWindowTheLast) {
  ManualClock clock;
  Metrics metrics(clock);
  constexpr int kSamples = 3000;
  for (int i = 0; i < kSamples; ++i) {
    metrics.sample("ExecuteTime", i);
    clock.advance_ns(kMilli);
  }
  const MetricData data = metrics.metric("ExecuteTime");
  EXPECT_EQ(data.samples, kSamples);
  EXPECT_EQ(data.accumulator, kSamples * (kSamples - 1) / 2);
  ASSERT_EQ(data.window.size(), MetricData::kWindow);
  EXPECT_EQ(data.window.front().value, kSamples - static_cast<int>(MetricData::kWindow));
  EXPECT_EQ(data.window.back().value, kSamples - 1);
  EXPECT_EQ(data.window.back().at_ns, (kSamples - 1) * kMilli);
}

/// The values after "n%=" in a report with one metric of bytes below 1 KB.
std::vector<double> percentiles(const std::string& report) {
  std::vector<double> out;
  for (std::size_t at = report.find("%="); at != std::string::npos;
       at = report.find("%=", at + 1)) {
    out.push_back(std::stod(report.substr(at + 2)));
  }
  return out;
}

RC_GTEST_PROP(Percentiles, NeverDecreaseAndAreSamples, ()) {
  const auto samples =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1024)));
  ManualClock clock;
  Metrics metrics(clock);
  for (const int sample : samples) metrics.sample("Size", sample, Unit::kBytes);
  const auto values = percentiles(metrics.report());
  RC_ASSERT(values.size() == 9U);
  RC_ASSERT(std::is_sorted(values.begin(), values.end()));
  for (const double value : values) {
    RC_ASSERT(std::find(samples.begin(), samples.end(), static_cast<int>(value)) != samples.end());
  }
}

TEST(Percentiles, AreNearestRanks) {
  ManualClock clock;
  Metrics metrics(clock);
  for (int i = 100; i >= 1; --i) metrics.sample("Size", i, Unit::kBytes);
  EXPECT_EQ(percentiles(metrics.report()), (std::vector<double>{1, 5, 10, 20, 50, 80, 90, 95, 99}));
}

TEST(Metrics, MayBeFedFromManyThreads) {
  SteadyClock clock;
  Metrics metrics(clock);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&metrics] {
      for (int i = 0; i < 1000; ++i) {
        metrics.count("MarkStep");
        metrics.sample("TraceTime", 1);
        if (i % 100 == 0) static_cast<void>(metrics.report());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(metrics.counter("MarkStep"), 4000);
  EXPECT_EQ(metrics.metric("TraceTime").accumulator, 4000);
}

}  // namespace
}  // namespace lockstep

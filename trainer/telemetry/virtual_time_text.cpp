#include "trainer/telemetry/virtual_time_text.h"

#include <fmt/format.h>

namespace lockstep {

std::string virtual_time_text(std::string_view device, const VirtualTotals& totals) {
  constexpr double kWorthAdvice = 0.05;  // of the step
  if (totals.steps == 0 || totals.all_ns == 0) return "";
  const auto share = [&](std::int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(totals.all_ns);
  };
  const auto step_ms = [&](std::int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(totals.steps) * 1e-6;
  };
  std::string out = fmt::format(
      "simulated on {}: {} steps of {:.4g} ms: gradient program {:.1f} %, all-reduce {:.1f} %, "
      "update {:.1f} %, waiting for the host {:.1f} %, for input {:.1f} %",
      device, totals.steps, step_ms(totals.all_ns), 100 * share(totals.gradient_ns),
      100 * share(totals.exposed_comm_ns), 100 * share(totals.update_ns),
      100 * share(totals.exposed_gap_ns), 100 * share(totals.input_wait_ns));
  if (share(totals.exposed_gap_ns) > kWorthAdvice)
    out += fmt::format(
        "\non this device a step waits {:.3g} ms for the host: recompile less, read values later, "
        "or compute more in a step (training.micro_batch_size)",
        step_ms(totals.exposed_gap_ns));
  if (share(totals.input_wait_ns) > kWorthAdvice)
    out += fmt::format(
        "\non this device a step waits {:.3g} ms for input: use more data.loader_workers, or make "
        "samples cheaper",
        step_ms(totals.input_wait_ns));
  return out;
}

}  // namespace lockstep

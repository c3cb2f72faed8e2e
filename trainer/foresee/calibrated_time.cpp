#include "trainer/foresee/calibrated_time.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/runtime/step_cost.h"

namespace lockstep {
namespace {

constexpr double kNetworkLatency = 100e-6;  ///< seconds, of an exchange over TCP in both directions

void check_deployment(const Deployment& deployment, DType math) {
  LS_USER_CHECK(deployment.execution == Execution::kCompiled,
                "this-machine runs lockstep, which compiles: --execution {} is for other devices",
                name_of(deployment.execution));
  LS_USER_CHECK(deployment.parallelism == Parallelism::kReplicated,
                "this-machine runs lockstep, which keeps all state on every rank: --parallelism {} "
                "is for other devices",
                name_of(deployment.parallelism));
  LS_USER_CHECK(deployment.math == (math == DType::kF32 ? MathType::kFp32 : MathType::kBf16),
                "this-machine multiplies as training.precision says: --math {} is for other "
                "devices",
                name_of(deployment.math));
  LS_USER_CHECK(deployment.nodes == 1 || deployment.node_network,
                "the network between machines like this one is not known: say --network-gbit");
}

}  // namespace

StepTime calibrated_time(const ForeseenStep& step, const LoadedConfig& config,
                         const DeviceProfile& device, const DeployedStep& deployed) {
  const Deployment& deployment = deployed.deployment;
  const DType math =
      config.config.training.precision == Precision::kFp32 ? DType::kF32 : DType::kBF16;
  check_deployment(deployment, math);
  StepPlacement placement{
      .cores = {.threads = std::max(1, static_cast<int>(config.config.device.threads)),
                .ranks = deployment.devices / deployment.nodes},
      .nodes = deployment.nodes,
      .math = math,
      .micro_batches = static_cast<std::int64_t>(deployed.work.micro_batches),
      .overlap = config.config.distributed.overlap};
  if (deployment.node_network) placement.link = {*deployment.node_network, kNetworkLatency};
  const StepCost cost = step_cost(*step.run.step, *device.calibrated, placement);
  StepTime out;
  const auto add = [&](std::string_view name, double seconds, double limit) {
    if (seconds > 0) out.parts.push_back({name, seconds, std::min(limit, seconds), 0});
  };
  for (std::size_t i = 0; i < cost.work.size(); ++i)
    add(name_of(static_cast<WorkClass>(i)), cost.work[i], cost.lower_bounds[i]);
  add("gradient sums", cost.sums, 0);
  add("exposed communication", cost.exposed, cost.exposed);
  add("dispatch", cost.overhead, 0);
  add("waits for other ranks", cost.waits, 0);
  out.seconds = cost.seconds();
  out.all_reduce_seconds = cost.all_reduce;
  out.exposed_seconds = cost.exposed;
  out.flops = cost.flops;
  if (const auto peak = device.peak(deployment.math))
    out.utilization = out.flops / out.seconds / *peak;
  return out;
}

}  // namespace lockstep

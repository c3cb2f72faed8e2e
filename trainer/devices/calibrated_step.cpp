#include "trainer/devices/calibrated_step.h"

#include <algorithm>

#include "core/base/error.h"
#include "trainer/devices/this_machine.h"

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

StepPlacement calibrated_placement(const Config& config, const Deployment& deployment, DType math,
                                   std::int64_t micro_batches) {
  check_deployment(deployment, math);
  const int ranks = deployment.devices / deployment.nodes;
  StepPlacement out{.cores = {.threads = device_threads(config, ranks), .ranks = ranks},
                    .nodes = deployment.nodes,
                    .math = math,
                    .micro_batches = micro_batches,
                    .overlap = config.distributed.overlap};
  if (deployment.node_network) out.link = {*deployment.node_network, kNetworkLatency};
  return out;
}

}  // namespace lockstep

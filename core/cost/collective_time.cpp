#include "core/cost/collective_time.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace lockstep {
namespace {

double needed(const std::optional<Figure>& figure, const char* key, const char* what,
              const DeviceProfile& device) {
  LS_USER_CHECK(figure.has_value(), "the profile of {} gives no {}, which several {} need",
                device.name, key, what);
  return figure->value;
}

}  // namespace

CollectiveTime all_reduce_time(double bytes, double messages, const DeviceProfile& device,
                               const Deployment& deployment, const CostConstants& constants) {
  if (deployment.devices <= 1) return {};
  const double nodes = deployment.nodes;
  const double on_node = static_cast<double>(deployment.devices) / nodes;
  double within = 0, ideal = 0;
  if (on_node > 1) {
    const double link =
        needed(device.node_link_gb_per_s, "node.link_gb_per_s", "devices", device) * 1e9;
    const double bus = device.all_reduce_gb_per_s ? device.all_reduce_gb_per_s->value * 1e9
                                                  : constants.link_fraction * link;
    const double moved = 2 * bytes * (on_node - 1) / on_node;
    within = moved / (bus * constants.bus_fraction);
    ideal = moved / link;
  }
  double between = 0;
  if (nodes > 1) {
    const double network =
        deployment.node_network
            ? *deployment.node_network
            : needed(device.network_gb_per_s, "network.gb_per_s", "nodes", device) * 1e9 * on_node;
    const double moved = 2 * bytes * (nodes - 1) / nodes;
    between = moved / (network * constants.network_fraction);
    ideal = std::max(ideal, moved / network);
  }
  const auto& latency =
      nodes > 1 && !device.node_latency_us ? device.network_latency_us : device.node_latency_us;
  const double each = (latency ? latency->value : 30) * 1e-6 * constants.latency;
  const double moving = std::max(within, between) +
                        (nodes > 1 ? constants.both_levels * std::min(within, between) : 0);
  const double starting = messages * each * std::log2(static_cast<double>(deployment.devices));
  return {{moving + starting, std::min(ideal, moving), starting}, within, between};
}

}  // namespace lockstep

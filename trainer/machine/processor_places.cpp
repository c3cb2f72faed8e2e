#include <hwloc.h>

#include <memory>

#include "core/base/error.h"
#include "trainer/machine/core_share.h"

namespace lockstep {

std::vector<ProcessorPlace> processor_places() {
  hwloc_topology_t raw = nullptr;
  LS_CHECK(hwloc_topology_init(&raw) == 0, "hwloc does not start");
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(
      raw, &hwloc_topology_destroy);
  // Caches, buses and devices take longer to find than all that is needed here.
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  // Processors outside of this process's cpuset belong to other ranks.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  LS_CHECK(hwloc_topology_load(raw) == 0, "hwloc does not find the processors");
  std::vector<ProcessorPlace> out;
  for (hwloc_obj_t pu = nullptr;
       (pu = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PU, pu)) != nullptr;) {
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(raw, HWLOC_OBJ_CORE, pu);
    const int node = hwloc_bitmap_first(pu->nodeset);
    out.push_back(
        {.processor = static_cast<int>(pu->os_index),
         .core = static_cast<int>(core != nullptr ? core->logical_index : pu->logical_index),
         .node = node < 0 ? 0 : node});
  }
  LS_CHECK(!out.empty(), "hwloc finds no processors");
  return out;
}

}  // namespace lockstep

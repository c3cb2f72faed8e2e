// The points of a sweep, checked before anything is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/config/load.h"

namespace lockstep {

class Registry;

struct SweepRequest {
  std::string config = {};              ///< a YAML file
  std::vector<std::string> words = {};  ///< as parse_axis() takes them
  int random = 0;                       ///< as many points are drawn; 0: all combinations
  std::uint64_t seed = 0;               ///< of the draws
  std::string metric = {};              ///< by which points are sorted: "eval/loss"
  int halving = 0;                      ///< a rung keeps one of so many points; 0: no halving
  std::string name = {};                ///< of the sweep's folder in run.dir; "": RUN.NAME-sweep
};

struct PlannedPoint {
  std::string name = {};                    ///< of its run: "03-learning_rate=0.001"
  std::vector<std::string> overrides = {};  ///< of the config, without those that place the run
  std::vector<std::string> shown = {};      ///< its values of SweepPlan::keys
};

/// Points run to `steps`, and then the best `kept` of them go on.
struct Rung {
  std::int64_t steps = 0;  ///< 0: the config's own end
  int kept = 0;            ///< 0: of the last rung
};

struct SweepPlan {
  std::string folder = {};             ///< of its runs, without those of another sweep
  std::vector<std::string> keys = {};  ///< that vary
  std::vector<PlannedPoint> points = {};
  std::vector<Rung> rungs = {};
  bool larger_is_better = false;  ///< of the metric
  bool sets_threads = false;      ///< config or words have device.threads
};

/// Error kUsage with all problems of all points' configs, each once: unknown keys, values out of
/// range; for equal points, for a metric that no evaluation gives, and for halving a config
/// whose runs cannot go on from a rung to the next.
SweepPlan plan_sweep(const SweepRequest& request, const Registry& registry);

/// Successive halving (Jamieson and Talwalkar 2016; the rungs of Hyperband's outermost bracket, Li
/// et al. 2018): of n points each rung keeps one of `eta`, rounded up, and gives them `eta` times
/// the steps, so that the last one has all `steps`.
std::vector<Rung> halving_rungs(int points, int eta, std::int64_t steps);

}  // namespace lockstep

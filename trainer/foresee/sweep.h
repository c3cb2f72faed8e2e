// Many configs, one after the other: which is the quickest, and which the cheapest.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trainer/foresee/foresee.h"

namespace lockstep {

/// Prices of one device for an hour, by the device's name; in any currency.
using Prices = std::map<std::string, double, std::less<>>;

/// Reads "device: per_hour" lines. Error kUsage with a line for each problem: a device that there
/// is none of (with a suggestion), a price that is no number > 0.
Prices read_prices(const std::string& path);

/// A config, a device and its prediction.
struct SweepPoint {
  std::vector<std::string> overrides;  ///< "training.micro_batch_size=8", in the order of the sweep
  std::string device;
  std::optional<Foresight> foresight;  ///< nothing: `problem` says why
  std::string problem = "";
  std::int64_t bytes = 0;     ///< of one device
  bool fits = false;          ///< its memory
  double device_hours = 0;    ///< of the run; 0 if the config has no end
  double cost_of_sample = 0;  ///< proportional to it: what a sample costs, or device seconds
  std::optional<double> cost = std::nullopt;  ///< of the run, with prices
};

/// The values of "key=a,b,c" as overrides: "key=a", "key=b", "key=c". A comma within brackets or
/// quotes is part of a value. Error kUsage for a word that is not of this form.
std::vector<std::string> sweep_values(const std::string& word);

/// All combinations of the sweeps' values, for each device. A point that cannot be is kept with its
/// problem. Error kUsage for prices that lack a device.
std::vector<SweepPoint> run_sweep(const std::string& config, std::vector<std::string> overrides,
                                  const std::vector<std::string>& sweeps,
                                  const std::vector<DeviceProfile>& devices,
                                  const ForeseeOptions& options, const Prices& prices,
                                  const Registry& registry);

/// A line for each point, then, of those that fit, the quickest in samples a second and the
/// cheapest for a sample.
std::string sweep_text(const std::vector<SweepPoint>& points);
std::string sweep_json(const std::vector<SweepPoint>& points);

}  // namespace lockstep

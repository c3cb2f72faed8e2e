// What a run measures of itself beyond its metrics, as the config's profile section says, and what
// it tells of that, and of its cuts, at its end.
#pragma once

#include <optional>
#include <string>

#include "core/base/log.h"
#include "core/engine/engine.h"
#include "core/engine/ledger.h"
#include "trainer/config/config.h"

namespace lockstep {

class Profiling {
 public:
  /// Listens to the engine's device from now on. The stream of spans must outlive it; the engine
  /// must have ended before it does.
  Profiling(const ProfileConfig& config, const Engine& engine, SpanStream& spans);
  ~Profiling();
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

  /// Once the device has run all: prints what was asked for, and writes it to the run's folder
  /// unless that is empty.
  void report(const std::string& run_folder, Log& log) const;

 private:
  ProfileConfig config_;
  const Engine& engine_;  ///< for report() only: it is gone before this is
  SpanStream& spans_;
  std::optional<Ledger> ledger_;
};

}  // namespace lockstep

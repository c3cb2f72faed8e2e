// One rank for the engine's tests: device, trace and engine, with access to their internals.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "collectives/single.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/spans.h"
#include "core/engine/compile.h"
#include "core/engine/device_value.h"
#include "core/engine/engine.h"
#include "core/runtime/device.h"
#include "core/trace/context.h"
#include "core/trace/functions.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep {

struct Rank {
  explicit Rank(const DeviceOptions& options = {}, Log& log = Log::null(),
                const BucketOptions& buckets = {})
      : Rank(compile_options(buckets), options, log) {}
  explicit Rank(const CompileOptions& compile, const DeviceOptions& options = {},
                Log& log = Log::null())
      : own_communicator(make_single_communicator()),
        device(options, spans),
        engine(compile, context, device, *own_communicator, log) {}
  /// A rank of several.
  explicit Rank(Communicator& communicator, const BucketOptions& buckets = {})
      : device({}, spans),
        engine(compile_options(buckets), context, device, communicator, Log::null()) {}

  static CompileOptions compile_options(const BucketOptions& buckets = {}) {
    return {.target = tested_target(), .buckets = buckets, .verify = true};
  }

  Tensor variable(const std::vector<float>& values, std::string_view name = "p") {
    return engine.to_device({vector_of(values)}, InputKind::kParameter, name);
  }
  /// One vector per micro-batch.
  Tensor batch(const std::vector<std::vector<float>>& micro_batches,
               std::string_view name = "batch.x") {
    std::vector<HostTensor> tensors;
    for (const auto& micro_batch : micro_batches) tensors.push_back(vector_of(micro_batch));
    return engine.to_device(std::move(tensors), InputKind::kBatch, name);
  }
  static HostTensor vector_of(const std::vector<float>& values) {
    return HostTensor::of(Shape{static_cast<std::int64_t>(values.size())}, values);
  }

  /// Blocks the device until the event is set.
  EventPtr block_device() {
    auto gate = std::make_shared<Event>();
    device.enqueue([gate] { gate->wait(); });
    return gate;
  }

  ManualClock clock;  // stands still: measured times do not depend on the machine
  Metrics metrics{clock};
  SpanStream spans{clock, metrics};
  std::unique_ptr<Communicator> own_communicator;
  Device device;
  TraceContext context;
  Engine engine;
};

inline std::vector<float> values_of(const Tensor& tensor) {
  const HostTensor host = tensor.to_host();
  const auto values = host.as<float>();
  return {values.begin(), values.end()};
}

inline const TensorLease& device_tensor_of(const Tensor& tensor) {
  return dynamic_cast<DeviceValue&>(*tensor.state().value).tensor();
}

/// The address of a computed tensor; waits for it.
inline const std::byte* address_of(const Tensor& tensor) {
  device_tensor_of(tensor)->ready->wait();
  return device_tensor_of(tensor)->buffers.at(0)->data();
}

/// A log of debug level 1 whose text can be read back.
struct DebugLog {
  DebugLog() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path = std::filesystem::path(testing::TempDir()) /
           fmt::format("lockstep_engine_{}_{}", test->name(), getpid());
    std::filesystem::remove(path);
    log = std::make_unique<Log>(Log::Options{.console = false, .file = path.string(), .debug = 1});
  }
  ~DebugLog() { std::filesystem::remove(path); }

  /// The lines that contain `part`, without time and level.
  std::vector<std::string> lines_with(const std::string& part) const {
    std::ifstream file(path);
    std::vector<std::string> out;
    for (std::string line; std::getline(file, line);)
      if (line.find(part) != std::string::npos) out.push_back(line.substr(line.find(part)));
    return out;
  }

  std::filesystem::path path;
  std::unique_ptr<Log> log;
};

}  // namespace lockstep

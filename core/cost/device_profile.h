// What a device can do at most, from its data sheet: the input of the cost model. The names are the
// keys of a profile's YAML file (trainer/devices).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/ir/machine_limits.h"

namespace lockstep {

/// In what a device multiplies. Some of it exists only there: lockstep itself knows f32 and bf16.
enum class MathType : std::uint8_t { kFp32, kTf32, kBf16, kFp16, kFp8 };
inline constexpr std::size_t kMathTypes = 5;
/// "fp32", "tf32", "bf16", "fp16", "fp8".
std::string_view name_of(MathType type);
std::optional<MathType> parse_math_type(std::string_view name);
/// Bytes of a value that is stored for it: tf32 is stored as f32.
double stored_bytes(MathType type);

enum class DeviceKind : std::uint8_t { kGpu, kTpu, kNpu, kCpu };
std::string_view name_of(DeviceKind kind);

/// How a framework runs a step; constants of the cost model are fitted for each.
enum class Execution : std::uint8_t {
  kEager,      ///< op by op from Python
  kCompiled,   ///< torch.compile, or this project
  kHandFused,  ///< large kernels that people wrote
  kXla,
  kStaticGraph,  ///< op by op, without Python
};
inline constexpr std::size_t kExecutions = 5;
/// "eager", "compiled", "hand_fused", "xla", "static_graph".
std::string_view name_of(Execution execution);
std::optional<Execution> parse_execution(std::string_view name);

/// A figure of a profile and where it comes from.
struct Figure {
  double value = 0;
  std::string source = "";  ///< empty: an estimate
  bool is_estimate() const { return source.empty(); }
};

struct DeviceProfile {
  std::string name;
  DeviceKind kind = DeviceKind::kGpu;
  std::string form = "";                                           ///< "SXM4": for people
  std::array<std::optional<Figure>, kMathTypes> peak_tflops = {};  ///< TFLOP/s, dense
  /// Which of them run on units for products, far ahead of ordinary arithmetic.
  std::array<bool, kMathTypes> on_tensor_units = {};
  Figure matmul_fraction;                ///< of the peak that the largest products reach
  Figure memory_gib;                     ///< GiB
  Figure memory_gb_per_s;                ///< 1e9 bytes a second
  Figure memory_fraction;                ///< of it that a copy reaches
  std::optional<Figure> cache_mib = {};  ///< MiB, the last level on the device
  Figure compute_units;                  ///< each computes one tile of a product at a time
  /// Microseconds from one kernel to the next: started one by one by a framework, ...
  Figure launch_us_eager;
  Figure launch_us_graph;  ///< ... by a recorded graph or a compiled program, ...
  Figure launch_us_xla;    ///< ... or within one XLA program.
  /// 1e9 bytes a second, each direction.
  std::optional<Figure> host_link_gb_per_s = {};
  std::string topology = "";                       ///< of a node's links: for people
  std::optional<Figure> node_devices = {};         ///< the most that one node holds
  std::optional<Figure> node_link_gb_per_s = {};   ///< of one device to those of its node
  std::optional<Figure> all_reduce_gb_per_s = {};  ///< measured bus bandwidth within a node
  std::optional<Figure> node_latency_us = {};      ///< of an all-reduce of no bytes
  std::optional<Figure> network_gb_per_s = {};     ///< between nodes, for each device
  std::optional<Figure> network_latency_us = {};
  /// Of this machine: what was measured here, from which the time of every command follows.
  std::shared_ptr<const MachineLimits> calibrated = nullptr;

  /// The peak in FLOP/s; nothing if the device lacks the type.
  std::optional<double> peak(MathType type) const;
  bool has_tensor_units(MathType type) const {
    return on_tensor_units[static_cast<std::size_t>(type)];
  }
};

}  // namespace lockstep

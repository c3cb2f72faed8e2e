// The maximum speeds of a machine: as `lockstep calibrate` measured them (trainer/calibrate), else
// defaults from cpuid. From them, a lower bound on the time of a piece of work: the roofline model
// (Williams, Waterman, Patterson 2009), with a roof for every size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/ir/target.h"

namespace lockstep {

/// The machine that limits hold for.
struct MachineKind {
  std::string cpu_model;  ///< a hash, see core/base/cpu_model.h
  std::string cpu_name;   ///< as the processor reports it; for people
  int cores = 1;          ///< of the system, also those that this process may not use
  Isa isa = Isa::kAvx512;
  Bf16Units bf16 = Bf16Units::kNone;
  /// Whether limits of one hold for the other; names are ignored.
  bool is_like(const MachineKind& other) const;
  std::string to_string() const;  ///< "Intel(R) Xeon(R), 2 cores, AVX-512 with AMX"
};

/// The cores at work: `ranks` on one node, each with `threads`, all at the same time.
struct BusyCores {
  int threads = 1;
  int ranks = 1;
  friend bool operator==(const BusyCores&, const BusyCores&) = default;
};

/// A product [m,k] x [k,n] in lockstep's kernel, operands in the caches if they fit.
struct DotRate {
  std::string size;  ///< "small", "medium", "large" or "tall"
  DType dtype = DType::kF32;
  std::int64_t m = 1, n = 1, k = 1;
  BusyCores cores;
  double flops_per_s = 0;  ///< of one rank
  double spread = 1;       ///< best over worst of the rounds it was measured in
  double flops() const;
  double bytes() const;  ///< operands and result
};

struct MemoryRate {
  std::int64_t working_set = 0;  ///< bytes that one thread reads or writes repeatedly
  int threads = 1;               ///< that do so at the same time, each in its own memory
  double copy_bytes_per_s = 0;   ///< of all threads; read and written bytes both count
  double triad_bytes_per_s = 0;  ///< a[i] = b[i] + s * c[i], 12 bytes an element as STREAM counts
  double spread = 1;             ///< the larger of the two
};

/// The sum of a gradient bucket over all ranks, each ready at the same time.
struct AllReduceTime {
  int ranks = 2;
  int nodes = 1;  ///< 2 ranks of one machine that exchange over TCP count as on 2
  std::int64_t bytes = 0;
  double seconds = 0;  ///< of the slowest rank
  double spread = 1;   ///< median over minimum
};

/// How long work of one class takes in training steps, over its lower bound: the caches of a step
/// hold other values, and not every kernel reaches the rates of products or of memory.
struct WorkFactor {
  std::string work;          ///< a class of core/kernels/base/work_class.h: "dot"
  DType math = DType::kF32;  ///< of the steps' products
  BusyCores cores;
  double factor = 1;
  /// Added for each byte that the work reads or writes: attention's bound counts its products, and
  /// its kernels arrange its operands before them.
  double byte_seconds = 0;
  /// Added for each bundle: in a step its code and its operands are cold.
  double bundle_seconds = 0;

  double seconds(double lower_bound, double bytes, double bundles) const {
    return factor * lower_bound + byte_seconds * bytes + bundle_seconds * bundles;
  }
};

/// What a step takes beside its commands.
struct StepOverhead {
  BusyCores cores;
  double node_seconds = 0;  ///< for each node that the step records: the core is the host's, too
  double waits = 0;         ///< share of the commands' time in which ranks wait for one another
};

/// Measured in training steps of models that are made for it.
struct StepRates {
  std::vector<WorkFactor> work;
  std::vector<StepOverhead> overheads;
  double sums_bytes_per_s = 0;  ///< bytes of gradients that are added to those of others
  /// Standard deviation of log(measured / predicted) of each model's steps, predicted by the rates
  /// of the others.
  double deviation = 0;
  bool measured() const { return !work.empty(); }
};

/// How the limits were measured.
struct Calibration {
  bool measured = false;  ///< false: a default, and nothing below holds
  bool quick = false;     ///< with few repetitions
  std::string date;       ///< "2026-11-23T05:40:12Z"
  std::string build;      ///< the build whose kernels ran
  double seconds = 0;     ///< the duration of the calibration
};

struct MachineLimits {
  MachineKind machine;
  Calibration calibration;
  std::vector<DotRate> dots;
  std::vector<MemoryRate> memory;
  std::vector<AllReduceTime> all_reduce;  ///< empty: not measured
  double bundle_ns = 0;                   ///< a command of a plan with almost no work
  double clock_ns = 0;                    ///< one reading of the clock
  double event_ns = 0;                    ///< a span with one listener
  std::vector<DType> fast_dtypes;  ///< whose dots are as fast as f32's, or faster by special units
  StepRates steps;                 ///< without rows: not measured

  /// "calibrated 2026-11-23T05:40:12Z" or "not calibrated: default".
  std::string origin() const;
};

/// The limits of a machine that was not measured. A core: 150 GFLOP/s of f32 dots with AVX-512, 75
/// with AVX2, at every size; bf16 five times as much with AMX, twice with vdpbf16ps, else the same;
/// 80 GB/s in a cache of 1 MiB, 12 GB/s beyond. A sum over ranks: 20 us and 4 GB/s. A bundle 1 us,
/// a clock reading 50 ns, an event 300 ns.
MachineLimits default_limits(const MachineKind& machine);

enum class WorkKind : std::uint8_t {
  kDot,          ///< dots, convolutions, attention
  kElementwise,  ///< reads and writes each element once: fused loops, reductions, optimizers
  kCopy,
  kAllReduce,  ///< bytes: the bucket's size; `ranks`: those that take part
};

/// The work of a command: FLOPs, and bytes read and written (counted as in core/ir/cost.h).
struct Work {
  WorkKind kind = WorkKind::kDot;
  DType dtype = DType::kF32;
  double flops = 0;
  double bytes = 0;
};

/// The maximum FLOP/s of one rank's dots, over all sizes. Numbers of threads and ranks that were
/// not measured get the figures of the nearest ones, per thread. A dtype without figures counts as
/// f32.
double peak_flops_per_s(const MachineLimits& limits, DType dtype, BusyCores cores);

/// FLOP/s of one rank's dots of about this size: those of the measured dot nearest in FLOPs and
/// bytes.
double dot_flops_per_s(const MachineLimits& limits, const Work& dot, BusyCores cores);

/// Bytes per second of one rank for work on so many bytes, interpolated between the measured
/// working sets. Where the bytes fit in the caches, they count as left there by the last command.
double bytes_per_s(const MachineLimits& limits, const Work& work, BusyCores cores);

/// Seconds of a sum over ranks of one node, interpolated between the measured sizes; 0 for one
/// rank.
double all_reduce_seconds(const MachineLimits& limits, double bytes, int ranks);

/// Seconds in which the cores of two ranks exchange and sum so many bytes over TCP, without a
/// network in between: at the rate of the largest bucket, as smaller ones fit into the buffers of
/// sockets. 0 if that was not measured.
double exchange_seconds(const MachineLimits& limits, double bytes);

/// A lower bound on the time of the work: the maximum of the times of the bundle, the arithmetic
/// and the memory traffic. Arithmetic outside dots counts at f32's peak. Sizes between the measured
/// ones may be slightly faster than this.
double lower_bound_seconds(const MachineLimits& limits, const Work& work, BusyCores cores);

/// How long the work of a class takes in steps with such products: the row of the most similar use
/// of the cores; of other products, if there is none of these; else one that takes its lower bound.
WorkFactor work_factor(const StepRates& rates, std::string_view work, DType math, BusyCores cores);

/// That of the most similar use of the cores; none if nothing was measured.
StepOverhead step_overhead(const StepRates& rates, BusyCores cores);

}  // namespace lockstep

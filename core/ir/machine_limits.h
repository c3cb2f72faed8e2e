// What a machine can do at most: as `lockstep calibrate` measured it (trainer/calibrate), or, where
// nobody did, a default made from what cpuid tells. With it, the least time that a piece of work
// can take: the roofline model (Williams, Waterman, Patterson 2009), with a roof for every size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/ir/target.h"

namespace lockstep {

/// What limits hold for.
struct MachineKind {
  std::string cpu_model;  ///< a hash, see core/base/cpu_model.h
  std::string cpu_name;   ///< as the processor calls itself; for people
  int cores = 1;          ///< that the system has, whether this process may use them or not
  Isa isa = Isa::kAvx512;
  Bf16Units bf16 = Bf16Units::kNone;
  /// Whether limits of the one hold for the other; names do not count.
  bool is_like(const MachineKind& other) const;
  std::string to_string() const;  ///< "Intel(R) Xeon(R), 2 cores, AVX-512 with AMX"
};

/// Cores that work: `ranks` on one node, each with `threads`, all at the same time.
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
  std::int64_t working_set = 0;  ///< bytes that one thread goes over, again and again
  int threads = 1;               ///< that do so at the same time, each with memory of its own
  double copy_bytes_per_s = 0;   ///< of all threads; read and written bytes both count
  double triad_bytes_per_s = 0;  ///< a[i] = b[i] + s * c[i], 12 bytes an element as STREAM counts
  double spread = 1;             ///< the larger one of both
};

/// The sum of a gradient bucket over all ranks, each ready at the same time.
struct AllReduceTime {
  int ranks = 2;
  int nodes = 1;
  std::int64_t bytes = 0;
  double seconds = 0;  ///< of the slowest rank
  double spread = 1;   ///< median over least
};

/// How the figures came about.
struct Calibration {
  bool measured = false;  ///< false: a default, and nothing below holds
  bool quick = false;     ///< by few repetitions
  std::string date;       ///< "2026-11-23T05:40:12Z"
  std::string build;      ///< the build whose kernels ran
  double seconds = 0;     ///< that it took
};

struct MachineLimits {
  MachineKind machine;
  Calibration calibration;
  std::vector<DotRate> dots;
  std::vector<MemoryRate> memory;
  std::vector<AllReduceTime> all_reduce;  ///< empty: not measured
  double launch_ns = 0;                   ///< a command of a plan with next to nothing to do
  double clock_ns = 0;                    ///< a look at the clock
  double event_ns = 0;                    ///< a span that one listener hears of
  std::vector<DType> fast_dtypes;         ///< whose dots are as fast as f32's, or faster by units

  /// "calibrated 2026-11-23T05:40:12Z" or "not calibrated: default".
  std::string origin() const;
};

/// What is assumed of a machine that nobody measured. A core: 150 GFLOP/s of f32 dots with AVX-512,
/// 75 with AVX2, at every size; bf16 five times as much with AMX, twice with vdpbf16ps, else the
/// same; 80 GB/s in a cache of 1 MiB, 12 GB/s beyond. A sum over ranks: 20 us and 4 GB/s. A launch
/// 1 us, a look at the clock 50 ns, an event 300 ns.
MachineLimits default_limits(const MachineKind& machine);

enum class WorkKind : std::uint8_t {
  kDot,          ///< dots, convolutions, attention
  kElementwise,  ///< what reads and writes each element once: fused loops, reductions, optimizers
  kCopy,
  kAllReduce,  ///< bytes: the bucket's size; `ranks` are those that sum
};

/// A command: what it computes and what it reads and writes (core/ir/cost.h counts so).
struct Work {
  WorkKind kind = WorkKind::kDot;
  DType dtype = DType::kF32;
  double flops = 0;
  double bytes = 0;
};

/// The most FLOP/s of one rank's dots, over all sizes. Numbers of threads and ranks that were not
/// measured get the figures of the nearest ones, per thread. A dtype without figures counts as f32.
double peak_flops_per_s(const MachineLimits& limits, DType dtype, BusyCores cores);

/// Of one rank's dots of about this size: the measured one that is nearest in FLOPs and bytes.
double dot_flops_per_s(const MachineLimits& limits, const Work& dot, BusyCores cores);

/// Bytes per second of one rank for work on so many bytes, between those of the measured working
/// sets: in the caches where the bytes fit, as if the last command had left them there.
double bytes_per_s(const MachineLimits& limits, const Work& work, BusyCores cores);

/// Seconds of a sum over ranks of one node, between those of the measured sizes; 0 for one rank.
double all_reduce_seconds(const MachineLimits& limits, double bytes, int ranks);

/// The least time of the work: what launching, arithmetic or memory take, whichever is most.
/// Arithmetic that is no dot counts at f32's peak. Sizes between the measured ones may do a little
/// better than this.
double attainable_seconds(const MachineLimits& limits, const Work& work, BusyCores cores);

}  // namespace lockstep

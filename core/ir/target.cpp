#include "core/ir/target.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// vdpbf16ps is as fast as an f32 fused multiply-add on AMD's processors, and so twice the
/// products. Intel's processors with AMX run it at a quarter of that, half the speed of f32
/// (measured on one of model 207 whose AMX was hidden: 88 against 179 GFLOP/s); they are meant to
/// use AMX. They all have AVX512-FP16; Cooper Lake, which has neither, runs vdpbf16ps at full
/// speed.
Bf16Units bf16_units(bool tiles_allowed) {
  if (tiles_allowed && __builtin_cpu_supports("amx-bf16")) return Bf16Units::kTiles;
  const bool slow = __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16");
  return __builtin_cpu_supports("avx512bf16") && !slow ? Bf16Units::kVectors : Bf16Units::kNone;
}

}  // namespace

Target host_target(MaxIsa max) {
  LS_USER_CHECK(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
                "this processor lacks AVX2 or FMA, which lockstep needs");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  Target out;
  if (!avx512 || max == MaxIsa::kAvx2) {
    out.isa = Isa::kAvx2;
  } else {
    out.bf16 = bf16_units(max != MaxIsa::kAvx512);
  }
  return out;
}

}  // namespace lockstep

#include "core/ir/target.h"

#include "core/base/error.h"
#include "core/base/settings.h"

namespace lockstep {

Target host_target() {
  LS_USER_CHECK(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
                "this processor lacks AVX2 or FMA, which lockstep needs");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool allowed = settings_from_environment().max_isa != MaxIsa::kAvx2;
  Target out;
  out.isa = avx512 && allowed ? Isa::kAvx512 : Isa::kAvx2;
  return out;
}

}  // namespace lockstep

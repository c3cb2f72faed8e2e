#include "core/kernels/cpu/base/onednn_limit.h"

#include <omp.h>

#include <atomic>
#include <dnnl.hpp>
#include <mutex>

#include "core/base/error.h"
#include "core/kernels/base/libraries.h"

namespace lockstep {
namespace {

/// The limits that oneDNN can have.
enum class Limit : std::uint8_t { kAvx2, kAvx512, kNone };

Limit limit_for(const Target& target) {
  if (target.isa == Isa::kAvx2) return Limit::kAvx2;
  return target.bf16 == Bf16Units::kTiles ? Limit::kNone : Limit::kAvx512;
}

std::string_view name_of(Limit limit) {
  switch (limit) {
    case Limit::kAvx2: return "AVX2";
    case Limit::kAvx512: return "AVX-512";
    case Limit::kNone: return "AVX-512 with AMX";
  }
  __builtin_unreachable();
}

dnnl::cpu_isa isa_of(Limit limit) {
  switch (limit) {
    case Limit::kAvx2: return dnnl::cpu_isa::avx2;
    case Limit::kAvx512: return dnnl::cpu_isa::avx512_core_bf16;
    case Limit::kNone: return dnnl::cpu_isa::all;
  }
  __builtin_unreachable();
}

/// The limit of the process, like oneDNN's own. oneDNN accepts a limit only once, and only before
/// its first use. It is set at that first use, so that another limit may be requested until then.
class ProcessLimit {
 public:
  void ask_for(Limit wanted) {
    const std::lock_guard lock(mutex_);
    LS_USER_CHECK(wanted == limit_ || !fixed_,
                  "kernels for {} cannot be made in this process: oneDNN, whose instruction set is "
                  "fixed by the first kernel that uses it, was fixed to {}; use the same "
                  "device.max_isa for all sessions of a process, or one process for each session",
                  name_of(wanted), name_of(limit_));
    limit_ = wanted;
  }

  /// Before every use of oneDNN.
  void fix() {
    if (fixed_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (fixed_) return;
    // If the whole processor is requested, oneDNN's own environment variables apply.
    LS_USER_CHECK(
        limit_ == processor_ || dnnl::set_max_cpu_isa(isa_of(limit_)) == dnnl::status::success,
        "kernels for {} cannot be made in this process: oneDNN, whose instruction set is "
        "fixed by its first use, was used by another part of the program; leave "
        "device.max_isa at auto, or use lockstep first",
        name_of(limit_));
    fixed_.store(true, std::memory_order_release);
  }

 private:
  const Limit processor_ = limit_for(host_target());
  std::mutex mutex_;
  Limit limit_ = processor_;
  std::atomic<bool> fixed_ = false;  ///< is never unset
};

ProcessLimit& process_limit() {
  static ProcessLimit limit;
  return limit;
}

}  // namespace

void enter_onednn() {
  process_limit().fix();
  omp_set_num_threads(1);
}

void limit_onednn(const Target& target) {
  process_limit().ask_for(limit_for(target));
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace lockstep

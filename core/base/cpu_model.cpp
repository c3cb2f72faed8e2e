#include "core/base/cpu_model.h"

#include <cpuid.h>
#include <immintrin.h>

namespace lockstep {
namespace {

struct Registers {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers out;
  __get_cpuid_count(leaf, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx);
  return out;
}

/// The register states that the operating system saves: without them instructions cannot be used.
__attribute__((target("xsave"))) std::uint64_t saved_states() {
  return _xgetbv(0);
}

}  // namespace

Hash128 cpu_model() {
  constexpr unsigned kVendor = 0;
  constexpr unsigned kSignature = 1;
  constexpr unsigned kFeatures = 7;
  constexpr unsigned kOsXsave = 1U << 27;
  Hasher hasher;
  hasher.value(cpuid(kVendor));
  Registers signature = cpuid(kSignature);
  signature.ebx = 0;  // contains the number of the core that this ran on
  hasher.value(signature);
  hasher.value(cpuid(kFeatures, 0));
  hasher.value(cpuid(kFeatures, 1));
  hasher.value((signature.ecx & kOsXsave) != 0 ? saved_states() : std::uint64_t{0});
  return hasher.finish();
}

}  // namespace lockstep

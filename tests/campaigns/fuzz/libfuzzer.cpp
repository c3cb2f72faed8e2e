// One target as libFuzzer wants it. A finding aborts, so that libFuzzer keeps the input.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/campaigns/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using lockstep::fuzz::Target;
  static const std::vector<Target> targets = lockstep::fuzz::all_targets();
  static const Target& target = *std::find_if(targets.begin(), targets.end(), [](const Target& t) {
    return t.name == LOCKSTEP_FUZZ_TARGET;
  });
  const std::string finding = judge(target, std::string(reinterpret_cast<const char*>(data), size));
  if (finding.empty()) return 0;
  std::fprintf(stderr, "%s\n", finding.c_str());
  std::abort();
}

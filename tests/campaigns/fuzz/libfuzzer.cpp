// One target in libFuzzer's form. A finding aborts, so that libFuzzer keeps the input.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/campaigns/fuzz/target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t limit);

namespace lockstep::fuzz {
namespace {

const Target& this_target() {
  static const std::vector<Target> targets = all_targets();
  static const Target& target = *std::find_if(targets.begin(), targets.end(), [](const Target& t) {
    return t.name == LOCKSTEP_FUZZ_TARGET;
  });
  return target;
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string finding =
      judge(lockstep::fuzz::this_target(), std::string(reinterpret_cast<const char*>(data), size));
  if (finding.empty()) return 0;
  std::fprintf(stderr, "%s\n", finding.c_str());
  std::abort();
}

// Sealed as the target wants it. What has no more than the byte that libFuzzer begins with when it
// has no corpus is a good input instead.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t limit, unsigned seed) {
  using lockstep::fuzz::Target;
  const Target& target = lockstep::fuzz::this_target();
  static const std::vector<std::string> good = target.seeds();
  std::mt19937_64 random(seed);
  std::string input;
  if (size > 1) {
    size = LLVMFuzzerMutate(data, size, limit);
    input.assign(reinterpret_cast<const char*>(data), size);
  } else {
    input = good[random() % good.size()];
  }
  if (target.seal != nullptr) target.seal(input, random);
  input.resize(std::min(input.size(), limit));
  std::memcpy(data, input.data(), input.size());
  return input.size();
}

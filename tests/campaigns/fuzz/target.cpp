#include "tests/campaigns/fuzz/target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>

#include "core/base/hash.h"

namespace lockstep::fuzz {
namespace {

/// Longer refusals are of no help to their reader.
constexpr std::size_t kLongestMessage = 20'000;

/// A number that parsers get wrong, in decimal or as bytes of either order.
std::string awkward_number(std::mt19937_64& random) {
  constexpr std::uint64_t kNumbers[] = {
      0,          1,          2,          3,           7,          8,          127,   128,
      255,        256,        511,        512,         32767,      32768,      65535, 65536,
      0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 1ULL << 40, 1ULL << 62, ~0ULL, 1ULL << 63};
  const std::uint64_t number = kNumbers[random() % std::size(kNumbers)];
  if (random() % 3 == 0) return (random() % 4 == 0 ? "-" : "") + std::to_string(number);
  std::string bytes(reinterpret_cast<const char*>(&number), std::size_t{1} << random() % 4);
  if (random() % 2 == 0) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

void change(std::string& input, const Target& target, const std::vector<std::string>& good,
            std::mt19937_64& random) {
  const std::size_t at = random() % (input.size() + 1);
  const std::size_t length = std::min<std::size_t>(input.size() - at, 1 + random() % 16);
  const auto overwrite = [&](const std::string& with) {
    input.replace(at, std::min(with.size(), input.size() - at), with);
  };
  switch (random() % 9) {
    case 0:
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << random() % 8));
      return;
    case 1: overwrite(std::string(1, static_cast<char>(random()))); return;
    case 2: overwrite(awkward_number(random)); return;
    case 3: input.insert(at, awkward_number(random)); return;
    case 4: input.erase(at, length); return;
    case 5: input.insert(at, input.substr(at, length)); return;
    case 6: input.resize(at); return;
    case 7: {  // the end of another one
      const std::string& other = good[random() % good.size()];
      input = input.substr(0, at) + other.substr(random() % (other.size() + 1));
      return;
    }
    default:
      if (!target.words.empty()) input.insert(at, target.words[random() % target.words.size()]);
  }
}

}  // namespace

std::string draw_input(const Target& target, const std::vector<std::string>& good,
                       std::uint64_t seed, std::uint64_t number) {
  std::mt19937_64 random(
      hash64({seed, number, hash128(target.name.data(), target.name.size()).low}));
  std::string input = good[random() % good.size()];
  constexpr std::size_t kLongest = std::size_t{1} << 18;
  for (std::uint64_t left = random() % 6; left > 0; --left) change(input, target, good, random);
  input.resize(std::min(input.size(), kLongest));
  if (target.seal != nullptr) target.seal(input, random);
  return input;
}

std::string judge(const Target& target, const std::string& input) {
  try {
    target.run(input);
    return "";
  } catch (const Error& e) {
    const std::string message = e.what();
    if (e.kind() != target.refusal)
      return fmt::format("refused with {} instead of {}: {}", e.exit_code(),
                         static_cast<int>(target.refusal), message);
    if (message.find(target.place) == std::string::npos)
      return fmt::format("the refusal does not name '{}': {}", target.place, message);
    if (message.size() > kLongestMessage)
      return fmt::format("the refusal has {} bytes: {}", message.size(), message.substr(0, 200));
    return "";
  } catch (const std::exception& e) {
    return fmt::format("no lockstep::Error: {}", e.what());
  }
}

std::vector<Target> all_targets() {
  std::vector<Target> out;
  for (const auto& group :
       {text_targets(), data_targets(), hdf5_targets(), binary_targets(), hub_targets()})
    out.insert(out.end(), group.begin(), group.end());
  return out;
}

MemoryFile::MemoryFile(std::string_view bytes)
    : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)),
      path_(fmt::format("/proc/self/fd/{}", descriptor_)) {
  LS_CHECK(write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
           "the input could not be put into memory");
}

MemoryFile::~MemoryFile() {
  close(descriptor_);
}

}  // namespace lockstep::fuzz

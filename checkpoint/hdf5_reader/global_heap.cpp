#include "checkpoint/hdf5_reader/global_heap.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

using namespace std::string_view_literals;

const std::string kTexts = "its texts";

}  // namespace

std::span<const std::byte> GlobalHeap::find(std::uint64_t address, std::uint32_t index) {
  const Collection& collection = collection_at(address);
  const auto found = collection.objects.find(index);
  if (found == collection.objects.end()) regions_.fail(kTexts, "one is missing");
  return found->second;
}

const GlobalHeap::Collection& GlobalHeap::collection_at(std::uint64_t address) {
  if (const auto found = collections_.find(address); found != collections_.end())
    return found->second;
  constexpr std::uint64_t kPrefixBytes = 16;
  const auto prefix = regions_.read(address, kPrefixBytes, kTexts);
  RegionCursor head(regions_, kTexts, prefix);
  head.expect("GCOL\x01\0\0\0"sv, "their heap");
  const auto whole = head.number<std::uint64_t>();
  if (whole < kPrefixBytes) head.fail("their heap is too short");
  Collection& out = collections_[address];
  out.bytes = regions_.read(address + kPrefixBytes, whole - kPrefixBytes, kTexts);
  RegionCursor in(regions_, kTexts, out.bytes);
  while (in.remaining() >= kPrefixBytes) {
    const std::uint32_t index = in.number<std::uint16_t>();
    in.skip(2 + 4);  // references, reserved
    const auto bytes = in.number<std::uint64_t>();
    if (index == 0) break;  // the rest is unused
    if (bytes > in.remaining()) in.fail("their heap is damaged");
    out.objects.emplace(index, in.take(bytes));
    in.skip(std::min<std::uint64_t>((8 - bytes % 8) % 8, in.remaining()));
  }
  return out;
}

}  // namespace lockstep

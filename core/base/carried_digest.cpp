#include "core/base/carried_digest.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr char kEndOfLength = ' ';

std::string pack(const std::string& a, const std::string& b) {
  return std::to_string(a.size()) + kEndOfLength + a + b;
}

/// The strings that all ranks' `packed` were made of: those of `a`, and those of `b`.
std::pair<std::vector<std::string>, std::vector<std::string>> unpack(
    const std::vector<std::string>& packed) {
  std::pair<std::vector<std::string>, std::vector<std::string>> out;
  for (const std::string& text : packed) {
    const std::size_t end = text.find(kEndOfLength);
    LS_CHECK(end != std::string::npos, "details of another rank without their length");
    const auto length = static_cast<std::size_t>(std::stoull(text));
    LS_CHECK(length <= text.size() - end - 1, "details of another rank that were cut off");
    out.first.push_back(text.substr(end + 1, length));
    out.second.push_back(text.substr(end + 1 + length));
  }
  return out;
}

}  // namespace

CarriedDigestPtr join(CarriedDigestPtr a, CarriedDigestPtr b) {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  Hasher both;
  both.value(a->digest);
  both.value(b->digest);
  return std::make_shared<CarriedDigest>(
      CarriedDigest{both.finish(), [a, b] { return pack(a->details(), b->details()); },
                    [a, b](const std::vector<std::string>& all) {
                      const auto [of_a, of_b] = unpack(all);
                      const bool same = std::ranges::count(of_a, of_a[0]) == std::ssize(of_a);
                      return same ? b->explain(of_b) : a->explain(of_a);
                    }});
}

}  // namespace lockstep

#include "data/samples/digest.h"

namespace lockstep {

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return finish_hex(hash);
}

std::string finish_hex(Sha256& hash) {
  const auto digest = hash.finish();
  return to_hex(digest.data(), digest.size());
}

bool is_same_data(const std::string& saved, const std::string& now) {
  return saved == now || (!saved.empty() && now.starts_with(saved + "-"));
}

}  // namespace lockstep

#include "data/digest.h"

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

}  // namespace lockstep

#include "data/tokenizers/growth.h"

#include "core/base/error.h"

namespace lockstep {

std::string inserted_text(const JsonPlace& json) {
  std::string out = json.string();
  if (out.size() > 1024) json.refuse("longer than 1024 bytes");
  return out;
}

void check_growth(std::size_t before, std::size_t after) {
  if (after > 64 * before + 1'000'000)
    raise(ErrorKind::kData, "the tokenizer turns {} bytes of text into {}", before, after);
}

}  // namespace lockstep

#include "core/base/stream_hash.h"

#include <xxhash.h>

#include "core/base/error.h"

namespace lockstep {

struct StreamHasher::State {
  XXH3_state_t* stream = XXH3_createState();
  ~State() { XXH3_freeState(stream); }
};

StreamHasher::StreamHasher() : state_(std::make_unique<State>()) {
  LS_CHECK(state_->stream != nullptr && XXH3_128bits_reset(state_->stream) == XXH_OK,
           "XXH3 could not be initialized");
}

StreamHasher::~StreamHasher() = default;

void StreamHasher::update(const void* data, std::size_t size) {
  LS_CHECK(XXH3_128bits_update(state_->stream, data, size) == XXH_OK, "XXH3 update failed");
}

Hash128 StreamHasher::finish() const {
  const XXH128_hash_t h = XXH3_128bits_digest(state_->stream);
  return {h.low64, h.high64};
}

}  // namespace lockstep

// The streaming form of hash128 (XXH3).
#pragma once

#include <memory>

#include "core/base/hash.h"

namespace lockstep {

/// hash128 of bytes that come in parts.
class StreamHasher {
 public:
  StreamHasher();
  ~StreamHasher();
  StreamHasher(const StreamHasher&) = delete;
  StreamHasher& operator=(const StreamHasher&) = delete;
  void update(const void* data, std::size_t size);
  Hash128 finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep

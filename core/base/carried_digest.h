// What a collective's header carries besides, so that ranks that drifted apart are found without a
// message of their own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace lockstep {

/// Differing digests fail the collective, and all that follows, on all ranks with one error.
struct CarriedDigest {
  Hash128 digest;
  /// Called on every rank if the digests differ: what this rank has to say.
  std::function<std::string()> details;
  /// Then, on every rank, with the details of all ranks: the error.
  std::function<Error(const std::vector<std::string>&)> explain;
};

using CarriedDigestPtr = std::shared_ptr<const CarriedDigest>;

/// Both in one: `a` explains the difference if the ranks' details of `a` differ, else `b` does.
/// Either may be null, and is so on all ranks.
CarriedDigestPtr join(CarriedDigestPtr a, CarriedDigestPtr b);

}  // namespace lockstep

// A digest that the header of a collective carries, so that ranks whose states differ are found
// without an extra message.
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
  /// Called on every rank if the digests differ. Returns this rank's text for the error.
  std::function<std::string()> details;
  /// Called next on every rank, with the details of all ranks. Returns the error.
  std::function<Error(const std::vector<std::string>&)> explain;
};

using CarriedDigestPtr = std::shared_ptr<const CarriedDigest>;

/// Both in one: `a` explains the difference if the ranks' details of `a` differ, else `b` does.
/// Either may be null, but then on all ranks.
CarriedDigestPtr join(CarriedDigestPtr a, CarriedDigestPtr b);

}  // namespace lockstep

// Pads samples of different lengths to one rectangle. The padded length depends on the samples of
// the global step (in an evaluation: of the batch), never on the rank that pads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// What samples are padded to.
enum class PaddingMode : std::uint8_t {
  kMax,      ///< to the field's maximum: one shape for the whole run
  kLongest,  ///< to the longest sample of the step
  kBucket,   ///< to the smallest bucket that holds the longest sample of the step
};

/// How samples of different lengths become one batch.
struct Padding {
  PaddingMode mode = PaddingMode::kMax;  ///< what they are padded to
  /// Ascending lengths, for kBucket; if empty, at most `max_buckets` lengths that fit the dataset
  /// are chosen (length_buckets.h).
  std::vector<std::int64_t> buckets = {};
  std::int64_t max_buckets = 8;                   ///< lengths chosen at most, if `buckets` is empty
  std::int64_t multiple_of = 1;                   ///< the padded length is rounded up to a multiple
  std::map<std::string, double> pad_values = {};  ///< per field; default: FieldSpec::pad_value
  /// Batches get an f32 [B, L] tensor of this name: 1 where the field `mask_of` has content, 0
  /// where it is padded. Only if that field has variable length.
  std::string mask_name = "attention_mask";
  std::string mask_of = "tokens";  ///< the field whose padding the mask shows
};

/// Error kUsage for invalid settings.
void check_padding(const Padding& padding);

/// The length to pad to, for a batch whose longest sample has `longest` of at most `maximum`
/// elements. Error kUsage as check_padding, kData if no bucket is long enough. Buckets must be set.
std::int64_t padded_length(const Padding& padding, std::int64_t longest, std::int64_t maximum);

/// The lengths that batches are padded to, ascending; none unless the mode is kBucket. Buckets must
/// be set.
std::vector<std::int64_t> bucket_lengths(const Padding& padding);

/// The largest length that any batch is padded to.
std::int64_t largest_length(const Padding& padding, std::int64_t maximum);

}  // namespace lockstep

// Texts through a model, where each text's values must not depend on the texts beside it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "core/base/dtype.h"
#include "trainer/task/loss.h"

namespace lockstep {

class Engine;

/// A sequence of tokens with what else a model takes of it. The rows of one call have the same
/// fields.
struct TextRow {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> types = {};             ///< of pairs; else empty
  std::vector<std::int32_t> targets = {};           ///< as many as tokens, or none
  std::map<std::string, std::int32_t> values = {};  ///< one each: "label", "position"
};

struct TextRowOptions {
  std::int64_t longest = 0;  ///< tokens of a row, at most
  std::int32_t pad = 0;      ///< the token that fills a row up
  DType compute_dtype = DType::kF32;
};

/// The output `name` of `loss` for each row, in their order: as many numbers for each, but more for
/// rows that are longer if it has a number for each token. Rows run in batches of one size, each
/// filled up to a power of two that depends on nothing but its own length: so a row's numbers are
/// the same bits whatever other rows there are.
std::vector<std::vector<double>> values_of_rows(Engine& engine, const LossFunction& loss,
                                                const std::string& name,
                                                std::span<const TextRow> rows,
                                                const TextRowOptions& options, Activity activity);

}  // namespace lockstep

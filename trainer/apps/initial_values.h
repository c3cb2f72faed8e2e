// What a new run takes from model.init_from and its like: weights and a tokenizer. Keys were taken
// when the config was loaded (trainer/config/folder_keys.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/config/load.h"
#include "trainer/hub/pretrained.h"
#include "trainer/task/model.h"

namespace lockstep {

class Registry;

/// Copies share what they read from.
class InitialValues {
 public:
  /// Opens what the config names. `tokenizer`: the run's, or null; a source with another one gives
  /// the rows of tokens by their text. Error kCheckpoint as open_weights() and Pretrained.
  InitialValues(const Config& config, const Registry& registry, const Model& model,
                const TokenizerPtr& tokenizer, Activity activity);

  bool empty() const { return parts_.empty(); }  ///< whether all values are drawn
  /// Of a parameter or buffer; nothing if it is drawn.
  std::optional<HostTensor> value(const std::string& name) const;
  std::vector<std::string> describe() const;  ///< lines for the log

 private:
  std::vector<std::shared_ptr<const Pretrained>> parts_;
};

/// The tokenizer of the run that model.init_from names, serialized; "" if the config gives another,
/// the data brings its own, or there is none. Error kCheckpoint as open_checkpoint().
std::string inherited_tokenizer(const LoadedConfig& loaded, const Registry& registry);

/// For each token of `mine` the id of the token with the same text in `theirs`, or -1. Empty if one
/// is null or they are equal.
std::vector<std::int64_t> rows_by_text(const TokenizerPtr& mine, const TokenizerPtr& theirs);

}  // namespace lockstep

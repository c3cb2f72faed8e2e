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
#include "trainer/registry/open_data.h"
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

/// What model.init_from and its like say of the data: a run's tokenizer, unless the config gives
/// another or the data brings its own, and the names of the labels of texts, if they are as many as
/// the model has.
/// Error kCheckpoint as open_checkpoint().
KnownData inherited_data(const LoadedConfig& loaded, const Config& config,
                         const Registry& registry);

/// For each token of `mine` the id of the token with the same text in `theirs`, or -1. Empty if one
/// is null or they are equal.
std::vector<std::int64_t> rows_by_text(const TokenizerPtr& mine, const TokenizerPtr& theirs);

}  // namespace lockstep

// The texts in a checkpoint that its reader does not parse: config, tokenizer and the description
// of samples. An error in them is an error of the checkpoint, not of a config or a data file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/tokenizer.h"
#include "trainer/settings/config.h"
#include "trainer/task/data_source.h"

namespace lockstep {

class Registry;

/// The config that the checkpoint file `path` was saved with. Error kCheckpoint naming the file and
/// the line, or the model, dataset or optimizer that is not in the registry: another program
/// trained it.
Config saved_config(const std::string& yaml, const std::string& path, const Registry& registry);

/// The tokenizer in the checkpoint file `path`; null if `json` is "". Error kCheckpoint naming the
/// file if it is not a tokenizer.
TokenizerPtr saved_tokenizer(const std::string& json, const std::string& path);

/// The samples of a run on images or labelled texts, for prediction and evaluation on others.
struct SampleFacts {
  std::array<std::int64_t, 3> shape = {};  ///< of images: channels, height, width; of texts 0
  std::vector<std::string> classes = {};   ///< names of labels from 0 on; empty: they have none
};

/// These facts of the data, as JSON; "" if it has neither images nor names of labels.
std::string sample_facts_of(const DataSource& data);

/// Parses the saved text; nothing if it is "". Error kCheckpoint naming the checkpoint file `path`
/// for a text that sample_facts_of() did not write.
std::optional<SampleFacts> saved_sample_facts(const std::string& json, const std::string& path);

/// Error kData if a label means another class in the data than in the checkpoint file `path`, which
/// describes its data as `saved`: predictions of one class would count as another. Additional
/// classes at the end of either list are allowed.
void check_saved_classes(const std::optional<SampleFacts>& saved, const std::string& path,
                         const DataSource& data);

}  // namespace lockstep

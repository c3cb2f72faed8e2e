// The texts in a checkpoint that its reader hands on unread: config, tokenizer and what samples
// are. What cannot be made of them is the checkpoint's fault, not that of a config or a data file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/settings/config.h"
#include "trainer/task/data_source.h"

namespace lockstep {

class Registry;

/// How the text begins that a program without a config leaves in its checkpoints in place of one.
inline constexpr std::string_view kOfAProgram = "program:\n";

/// The config that the checkpoint file `path` was saved with. Error kCheckpoint naming the file and
/// the line, or the model, dataset or optimizer that the registry lacks: another program trained
/// it.
Config saved_config(const std::string& yaml, const std::string& path, const Registry& registry);

/// Error kCheckpoint naming the checkpoint file `path` unless `json` is a tokenizer or empty.
void check_saved_tokenizer(const std::string& json, const std::string& path);

/// What the samples of a run on images are, for whoever has other images.
struct ImageFacts {
  std::array<std::int64_t, 3> shape = {};  ///< channels, height, width
  std::vector<std::string> classes = {};   ///< names of labels from 0 on; empty: they have none
};

/// Of the data; "" if it gives no images.
std::string image_facts_of(const DataSource& data);

/// What was saved; nothing if that is "". Error kCheckpoint naming the checkpoint file `path` for
/// what image_facts_of() does not make.
std::optional<ImageFacts> saved_image_facts(const std::string& json, const std::string& path);

/// Error kData if a label stands for another class in the data than in the checkpoint file `path`,
/// which was saved with `json`: what is learnt of one would be counted as another. Classes behind
/// the last one that both have do no harm.
void check_saved_classes(const std::string& json, const std::string& path, const DataSource& data);

}  // namespace lockstep

// The data of a run, opened as its config asks.
#pragma once

#include <string>
#include <vector>

#include "trainer/settings/config.h"
#include "trainer/task/data_source.h"

namespace lockstep {

class Registry;

/// What a model that exists already knows of its data; empty members: it is made from the data.
struct KnownData {
  std::string tokenizer_json = "";        ///< a resumed run's own tokenizer
  std::vector<std::string> classes = {};  ///< names of labels from 0 on
};

/// Opens and checks all files. Errors kData name the file.
DataSource open_data(const Config& config, const Registry& registry, const KnownData& known = {});

}  // namespace lockstep

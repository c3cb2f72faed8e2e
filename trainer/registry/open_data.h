// The data of a run, opened as its config asks.
#pragma once

#include <string>

#include "trainer/settings/config.h"
#include "trainer/task/data_source.h"

namespace lockstep {

class Registry;

/// Opens and checks all files. `tokenizer_json`: a resumed run's own tokenizer, used instead of
/// making a new one; empty for none. Errors kData name the file.
DataSource open_data(const Config& config, const Registry& registry,
                     const std::string& tokenizer_json);

}  // namespace lockstep

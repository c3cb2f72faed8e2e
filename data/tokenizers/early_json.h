// The tokenizer formats that lockstep wrote before it wrote Hugging Face's tokenizer.json; old
// checkpoints and prepared folders contain them:
//
//   {"type": "char", "characters": ["\n", " ", ...]}
//   {"type": "bpe", "vocab": {"!": 0, ...}, "merges": [["a", "b"], ...]}
#pragma once

#include <string>

#include "core/base/json_place.h"

namespace lockstep {

/// Converts one to a tokenizer.json of today. Error kData if it is in neither format.
std::string document_of_early_json(const JsonPlace& json);

}  // namespace lockstep

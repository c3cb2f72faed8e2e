// The tokenizers that lockstep wrote before it wrote tokenizer.json of Hugging Face's kind; old
// checkpoints and prepared folders have them:
//
//   {"type": "char", "characters": ["\n", " ", ...]}
//   {"type": "bpe", "vocab": {"!": 0, ...}, "merges": [["a", "b"], ...]}
#pragma once

#include <string>

#include "core/base/json_place.h"

namespace lockstep {

/// The same tokenizer as a tokenizer.json of today. Error kData if it is none.
std::string document_of_early_json(const JsonPlace& json);

}  // namespace lockstep

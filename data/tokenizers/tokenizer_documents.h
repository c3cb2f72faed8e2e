// The tokenizer.json of tokenizers that lockstep makes itself. What is read from other files or
// trained is written as such a document first, so that there is one way to become a tokenizer.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizers/tokenizer.h"

namespace lockstep {

using TokenIds = std::map<std::string, std::int32_t>;
using TokenPairs = std::vector<std::pair<std::string, std::string>>;

/// Token i is the character characters[i]: a BPE without merges.
std::string character_document(const std::vector<std::string>& characters);

/// GPT-2's: `ids` of tokens in the byte-level alphabet (byte_level.h), merges in order of priority.
/// "<|endoftext|>", if it is there, is a special token.
std::string byte_level_document(const TokenIds& ids, const TokenPairs& merges);

/// BERT's: token i is tokens[i]. [PAD], [UNK], [CLS], [SEP] and [MASK] are special as far as they
/// are there.
std::string word_piece_document(const std::vector<std::string>& tokens, bool lowercase);

/// The tokenizer of such a document. `name` is what it was made from; its lines are not those of
/// the document, and so messages have none. Error kData if it cannot work.
TokenizerPtr tokenizer_of_document(const std::string& document, const std::string& name);

}  // namespace lockstep

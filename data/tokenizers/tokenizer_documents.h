// The tokenizer.json of tokenizers that lockstep makes itself. Tokenizers that are trained or read
// from other files are first written as such a document, so that all are constructed in one way.
#pragma once

#include <map>
#include <set>
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

/// BERT's: token i is tokens[i]. [PAD], [UNK], [CLS], [SEP], [MASK] and those of `more_special` are
/// special if they are in the list.
std::string word_piece_document(const std::vector<std::string>& tokens, bool lowercase,
                                const std::set<std::string>& more_special = {});

/// The tokenizer of such a document. `name` is its source; messages have no line numbers, because
/// the source's lines are not those of the document. Error kData if it is invalid.
TokenizerPtr tokenizer_of_document(const std::string& document, const std::string& name);

}  // namespace lockstep

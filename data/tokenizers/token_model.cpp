#include "data/tokenizers/token_model.h"

#include "core/base/error.h"
#include "data/tokenizers/bpe_model.h"
#include "data/tokenizers/word_piece_model.h"

namespace lockstep {

std::int32_t TokenModel::need(const JsonPlace& json, std::string_view token) const {
  const auto id = vocabulary_.id_of(token);
  if (!id)
    json.refuse(
        fmt::format("\"{}\" is not in the vocabulary of {} tokens", token, vocabulary_.size()));
  return *id;
}

std::unique_ptr<const TokenModel> make_token_model(const JsonPlace& json) {
  // Early files leave the type out.
  const bool is_bpe = json.find("type") ? json.type() == "BPE" : json.find("merges").has_value();
  if (is_bpe) return std::make_unique<BpeModel>(json);
  if (json.type() == "WordPiece") return std::make_unique<WordPieceModel>(json);
  json.refuse(fmt::format("the model '{}' is not known; BPE and WordPiece are", json.type()));
}

}  // namespace lockstep

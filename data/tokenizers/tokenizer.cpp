#include "data/tokenizers/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json_place.h"
#include "data/samples/digest.h"
#include "data/tokenizers/early_json.h"
#include "data/tokenizers/pipeline_tokenizer.h"
#include "data/tokenizers/tokenizer_documents.h"

namespace lockstep {
namespace {

class AtOnce final : public Decoding {
 public:
  explicit AtOnce(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::string add(std::int32_t token) override {
    tokens_.push_back(token);
    return "";
  }
  std::string finish() override { return tokenizer_.decode(std::exchange(tokens_, {})); }

 private:
  const Tokenizer& tokenizer_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace

std::unique_ptr<Decoding> Tokenizer::decoding() const {
  return std::make_unique<AtOnce>(*this);
}

TokenSequence Tokenizer::with_special_tokens(std::span<const std::int32_t> a,
                                             std::optional<std::span<const std::int32_t>> b) const {
  TokenSequence out;
  out.ids.assign(a.begin(), a.end());
  out.type_ids.assign(a.size(), 0);
  if (b) {
    out.ids.insert(out.ids.end(), b->begin(), b->end());
    out.type_ids.resize(out.ids.size(), 1);
  }
  return out;
}

bool Tokenizer::is_special(std::int32_t id) const {
  const SpecialTokens& all = special();
  return std::ranges::any_of(
      std::array{all.unk, all.pad, all.cls, all.sep, all.mask, all.bos, all.eos},
      [&](const std::optional<std::int32_t>& one) { return one == id; });
}

std::string Tokenizer::digest() const {
  return sha256_hex(serialize());
}

void check_token(std::int32_t id, std::int64_t vocab_size) {
  if (id < 0 || id >= vocab_size)
    raise(ErrorKind::kData, "token {} is outside the vocabulary of {}", id, vocab_size);
}

TokenizerPtr tokenizer_from_json(const std::string& json, const std::string& name) {
  const JsonPlace document = JsonPlace::parse(json, name);
  if (!document.is_object()) document.refuse("not a tokenizer");
  if (document.find("type") && !document.find("model"))
    return tokenizer_of_document(document_of_early_json(document), name);
  return std::make_shared<PipelineTokenizer>(document);
}

void save_tokenizer(const Tokenizer& tokenizer, const std::string& path) {
  write_file(path, tokenizer.serialize(), ErrorKind::kData);
}

}  // namespace lockstep

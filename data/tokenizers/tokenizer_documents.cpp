#include "data/tokenizers/tokenizer_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/tokenizers/pipeline_tokenizer.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr const char* kEndOfText = "<|endoftext|>";

Json special_token(const std::string& content, std::int32_t id) {
  return {{"id", id},        {"content", content}, {"special", true},     {"normalized", false},
          {"lstrip", false}, {"rstrip", false},    {"single_word", false}};
}

/// A document without components.
Json document(Json model) {
  return {{"version", "1.0"},          {"truncation", nullptr},
          {"padding", nullptr},        {"added_tokens", Json::array()},
          {"normalizer", nullptr},     {"pre_tokenizer", nullptr},
          {"post_processor", nullptr}, {"decoder", nullptr},
          {"model", std::move(model)}};
}

Json bpe_model(Json vocabulary, Json merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

Json byte_level(bool add_prefix_space) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", true}};
}

Json sequence(const char* id, int type) {
  return {{"Sequence", {{"id", id}, {"type_id", type}}}};
}

Json special(const char* id, int type) {
  return {{"SpecialToken", {{"id", id}, {"type_id", type}}}};
}

/// [CLS] a [SEP] b [SEP]
Json bert_template(std::int32_t cls, std::int32_t sep) {
  const auto token = [](const char* name, std::int32_t id) {
    return Json{{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  };
  return {{"type", "TemplateProcessing"},
          {"single", {special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)}},
          {"pair",
           {special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0), sequence("B", 1),
            special("[SEP]", 1)}},
          {"special_tokens", {{"[CLS]", token("[CLS]", cls)}, {"[SEP]", token("[SEP]", sep)}}}};
}

}  // namespace

std::string character_document(const std::vector<std::string>& characters) {
  Json ids = Json::object();
  for (std::size_t i = 0; i < characters.size(); ++i) ids[characters[i]] = i;
  Json out = document(bpe_model(std::move(ids), Json::array()));
  out["decoder"] = {{"type", "Fuse"}};
  return out.dump();
}

std::string byte_level_document(const TokenIds& ids, const TokenPairs& merges) {
  Json list = Json::array();
  for (const auto& [left, right] : merges) list.push_back(fmt::format("{} {}", left, right));
  Json out = document(bpe_model(ids, std::move(list)));
  out["pre_tokenizer"] = byte_level(false);
  out["post_processor"] = byte_level(false);
  out["decoder"] = byte_level(false);
  if (const auto end = ids.find(kEndOfText); end != ids.end())
    out["added_tokens"].push_back(special_token(kEndOfText, end->second));
  return out.dump();
}

std::string word_piece_document(const std::vector<std::string>& tokens, bool lowercase,
                                const std::set<std::string>& more_special) {
  Json ids = Json::object();
  for (std::size_t i = 0; i < tokens.size(); ++i) ids[tokens[i]] = i;
  Json out = document({{"type", "WordPiece"},
                       {"unk_token", "[UNK]"},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", 100},
                       {"vocab", ids}});
  std::set<std::string> special_names = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  special_names.insert(more_special.begin(), more_special.end());
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (special_names.contains(tokens[i]))
      out["added_tokens"].push_back(special_token(tokens[i], static_cast<std::int32_t>(i)));
  out["normalizer"] = {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", true},
                       {"strip_accents", nullptr},
                       {"lowercase", lowercase}};
  out["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  out["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  if (ids.contains("[CLS]") && ids.contains("[SEP]"))
    out["post_processor"] =
        bert_template(ids["[CLS]"].get<std::int32_t>(), ids["[SEP]"].get<std::int32_t>());
  return out.dump();
}

TokenizerPtr tokenizer_of_document(const std::string& document, const std::string& name) {
  return std::make_shared<PipelineTokenizer>(
      JsonPlace::parse(document, JsonSource{.name = name, .line = 0}));
}

}  // namespace lockstep

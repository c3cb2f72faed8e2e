#include "data/tokenizers/post_processor.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// ["[SEP]", 102]
std::int32_t id_of_token(const JsonPlace& json) {
  const auto parts = json.elements();
  if (parts.size() != 2 || !parts[0].is_string()) json.refuse("not a token and its id");
  return parts[1].number();
}

}  // namespace

PostProcessor::PostProcessor()
    : single_{{Piece::Kind::kFirst, {}, 0}},
      pair_{{Piece::Kind::kFirst, {}, 0}, {Piece::Kind::kSecond, {}, 1}} {}

PostProcessor::PostProcessor(const JsonPlace& json) : PostProcessor() {
  bool found = false;
  read(json, found);
}

void PostProcessor::read(const JsonPlace& json, bool& found) {
  const std::string type = json.type();
  if (type == "Sequence") {
    json.allow_only({"processors"});
    for (const JsonPlace& one : json.at("processors").elements()) read(one, found);
    return;
  }
  if (type == "ByteLevel") {
    json.allow_only({"add_prefix_space", "trim_offsets", "use_regex"});
    return;
  }
  if (found) json.refuse("two components of a sequence add special tokens");
  found = true;
  if (type == "BertProcessing") return read_bert(json);
  if (type == "RobertaProcessing") return read_roberta(json);
  if (type == "TemplateProcessing") return read_template(json);
  json.refuse_type("post_processor");
}

void PostProcessor::read_bert(const JsonPlace& json) {
  json.allow_only({"cls", "sep"});
  cls_ = id_of_token(json.at("cls"));
  sep_ = id_of_token(json.at("sep"));
  single_ = {{Piece::Kind::kSpecial, {*cls_}, 0},
             {Piece::Kind::kFirst, {}, 0},
             {Piece::Kind::kSpecial, {*sep_}, 0}};
  pair_ = single_;
  pair_.push_back({Piece::Kind::kSecond, {}, 1});
  pair_.push_back({Piece::Kind::kSpecial, {*sep_}, 1});
}

void PostProcessor::read_roberta(const JsonPlace& json) {
  json.allow_only({"cls", "sep", "trim_offsets", "add_prefix_space"});
  cls_ = id_of_token(json.at("cls"));
  sep_ = id_of_token(json.at("sep"));
  single_ = {{Piece::Kind::kSpecial, {*cls_}, 0},
             {Piece::Kind::kFirst, {}, 0},
             {Piece::Kind::kSpecial, {*sep_}, 0}};
  pair_ = single_;
  pair_.push_back({Piece::Kind::kSpecial, {*sep_}, 0});
  pair_.push_back({Piece::Kind::kSecond, {}, 0});
  pair_.push_back({Piece::Kind::kSpecial, {*sep_}, 0});
}

void PostProcessor::read_template(const JsonPlace& json) {
  json.allow_only({"single", "pair", "special_tokens"});
  const JsonPlace special_tokens = json.at("special_tokens");
  single_ = read_pieces(json.at("single"), special_tokens);
  pair_ = read_pieces(json.at("pair"), special_tokens);
}

PostProcessor::Template PostProcessor::read_pieces(const JsonPlace& pieces,
                                                   const JsonPlace& special_tokens) {
  Template out;
  for (const JsonPlace& one : pieces.elements()) {
    one.allow_only({"Sequence", "SpecialToken"});
    if (const auto sequence = one.find("Sequence")) {
      sequence->allow_only({"id", "type_id"});
      const std::string id = sequence->at("id").string();
      if (id != "A" && id != "B") sequence->refuse("neither sequence 'A' nor 'B'");
      out.push_back({id == "A" ? Piece::Kind::kFirst : Piece::Kind::kSecond,
                     {},
                     sequence->at("type_id").number()});
      continue;
    }
    const JsonPlace special = one.at("SpecialToken");
    special.allow_only({"id", "type_id"});
    const JsonPlace token = special_tokens.at(special.at("id").string());
    token.allow_only({"id", "ids", "tokens"});
    std::vector<std::int32_t> ids;
    for (const JsonPlace& id : token.at("ids").elements()) ids.push_back(id.number());
    out.push_back({Piece::Kind::kSpecial, std::move(ids), special.at("type_id").number()});
  }
  return out;
}

TokenSequence PostProcessor::apply(std::span<const std::int32_t> a,
                                   std::optional<std::span<const std::int32_t>> b) const {
  TokenSequence out;
  for (const Piece& piece : b ? pair_ : single_) {
    std::span<const std::int32_t> ids = piece.ids;
    if (piece.kind == Piece::Kind::kFirst) ids = a;
    if (piece.kind == Piece::Kind::kSecond) ids = b.value_or(std::span<const std::int32_t>());
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
    out.type_ids.resize(out.ids.size(), piece.type_id);
  }
  return out;
}

std::int32_t PostProcessor::largest_id() const {
  std::int32_t out = -1;
  for (const Template* one : {&single_, &pair_})
    for (const Piece& piece : *one)
      for (const std::int32_t id : piece.ids) out = std::max(out, id);
  return out;
}

}  // namespace lockstep

#include "trainer/models/vit_gpt2/vit_gpt2_config.h"

#include <fmt/format.h>

#include <iterator>

#include "trainer/hub/weight_source.h"

namespace lockstep {
namespace {

/// A key of one half; `gradient_checkpointing` and `dropout` without a half's name mean both.
void add_half(std::vector<Key> half, std::vector<Key>& to) {
  for (Key& key : half) {
    if (key.name == "encoder.num_labels") continue;
    if (key.name.ends_with(".gradient_checkpointing"))
      key.aliases.emplace_back("gradient_checkpointing");
    for (const std::string& alias : key.aliases)
      if (alias.ends_with(".dropout")) {
        key.aliases.emplace_back("dropout");
        break;
      }
    to.push_back(std::move(key));
  }
}

}  // namespace

std::vector<Key> VitGpt2Config::keys() {
  std::vector<Key> out;
  const auto folder = [&](const char* name, Binding member, const char* doc) {
    out.push_back(
        {.name = name,
         .member = std::move(member),
         .doc = fmt::format("Hugging Face folder, run or checkpoint of {}. A new run takes its "
                            "weights and sizes, as model.init_from does for the whole model.",
                            doc),
         .may_be_empty = true,
         .per_rank = true,
         .file = true,
         .files_in = [](const std::string& path, const void*) {
           return weight_source_files(path);
         }});
  };
  add_half(nested<&VitGpt2Config::encoder>("encoder", VitConfig::keys()), out);
  folder("encoder.from_pretrained", bind<&VitGpt2Config::encoder_folder>(),
         "a ViT for the encoder");
  add_half(nested<&VitGpt2Config::decoder>("decoder", Gpt2Config::keys()), out);
  folder("decoder.from_pretrained", bind<&VitGpt2Config::decoder_folder>(),
         "a GPT-2 for the decoder; its cross-attention is drawn");
  const auto token = [&](const char* name, Binding member, const char* doc) {
    out.push_back({.name = name,
                   .member = std::move(member),
                   .range = {-1, Range::kMaxSize},
                   .doc = fmt::format("Id of the token {}.", doc)});
  };
  token("decoder_start_token_id", bind<&VitGpt2Config::tokens, &CaptionTokens::start>(),
        "before a caption; -1: the tokenizer's that begins a text, or else the one that ends it");
  token("eos_token_id", bind<&VitGpt2Config::tokens, &CaptionTokens::end>(),
        "that ends a caption; -1: the tokenizer's");
  token("pad_token_id", bind<&VitGpt2Config::tokens, &CaptionTokens::pad>(),
        "that fills captions up, which may be the one that ends them; -1: the tokenizer's, or else "
        "the one that ends a caption");
  return out;
}

DataNeeds VitGpt2Config::needs() const {
  return {.inputs = "captioned_images",
          .sequence_length = decoder.n_positions,
          .vocab_size = decoder.vocab_size,
          .vocab_key = "model.decoder.vocab_size",
          .image = {encoder.num_channels, encoder.image_size, encoder.image_size},
          .caption = tokens};
}

void VitGpt2Config::check(const Config& run, const ReportProblem& report) const {
  const auto both = [&](std::string_view key, const std::string& folder) {
    if (folder.empty() || run.model.init_from.empty()) return;
    report({key, "model.init_from", "model.name"},
           fmt::format("'{}' and 'model.init_from' both give its weights; keep one of them", key));
  };
  both("model.encoder.from_pretrained", encoder_folder);
  both("model.decoder.from_pretrained", decoder_folder);
  encoder.check_sizes("model.encoder", report);
  decoder.check_sizes("model.decoder", run, report);
}

std::vector<std::pair<std::string, VitGpt2Config>> VitGpt2Config::sizes() {
  VitGpt2Config base;
  base.decoder.vocab_size = 50257;
  return {{"ViT base of 16 pixels a patch and GPT-2 124M, as nlpconnect/vit-gpt2-image-captioning",
           base}};
}

}  // namespace lockstep

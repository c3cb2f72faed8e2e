// The captioner on the hub: VisionEncoderDecoderModel.
#include "trainer/models/vit_gpt2/vit_gpt2_config.h"

namespace lockstep {
namespace {

/// The names of a half within the whole.
HubValues within(const std::string& half, const HubValues& values) {
  HubValues out;
  const std::string prefix = half + ".";
  for (const auto& [key, value] : values) out[std::string(prefix).append(key)] = value;
  return out;
}

/// Those of a half by its own names, taken out of `values`.
HubValues take_half(const std::string& half, HubValues& values) {
  HubValues out;
  const std::string prefix = half + ".";
  for (const auto& [key, value] : values)
    if (key.starts_with(prefix)) out[key.substr(prefix.size())] = value;
  std::erase_if(values, [&](const auto& value) { return value.first.starts_with(prefix); });
  return out;
}

/// Applies a half's own conversion.
void convert_half(const std::string& half, void (*convert)(HubValues&), HubValues& values) {
  if (convert == nullptr) return;
  HubValues own = take_half(half, values);
  convert(own);
  values.merge(within(half, own));
}

void captioner_from_hub(HubValues& values) {
  convert_half("encoder", VitConfig::hub().from_hub, values);
  convert_half("decoder", Gpt2Config::hub().from_hub, values);
}

void captioner_to_hub(HubValues& values) {
  if (const auto size = values.find("vocab_size"); size != values.end()) {
    values["decoder.vocab_size"] = size->second;
    values.erase(size);
  }
  convert_half("encoder", VitConfig::hub().to_hub, values);
  convert_half("decoder", Gpt2Config::hub().to_hub, values);
}

/// A ViT's folder, of which the encoder takes all but the head.
HubFormat encoder_part() {
  HubFormat out = VitConfig::hub();
  out.architectures.emplace_back("ViTModel");
  out.read.push_back({"vit.*", "encoder.*"});
  out.ignored = {"classifier.*"};
  out.may_lack = {"encoder.pooler.*"};
  out.image_positions = {"encoder.embeddings.position_embeddings"};
  return out;
}

/// A GPT-2's folder, which has a cross-attention only if it was part of a captioner.
HubFormat decoder_part() {
  const std::string body = "decoder.transformer.";
  HubFormat out = Gpt2Config::hub();
  out.read.push_back({"*", body + "*"});
  for (std::string& name : out.ignored) name.insert(0, body);
  out.token_embedding.insert(0, body);
  for (std::string& name : out.text_positions) name.insert(0, body);
  for (HubTied& tied : out.tied)
    tied = {.name = body + tied.name, .parameter = body + tied.parameter};
  out.may_lack = {body + "h.*.crossattention.*", body + "h.*.ln_cross_attn.*"};
  out.fixed.erase("add_cross_attention");
  return out;
}

}  // namespace

HubFormat VitGpt2Config::hub() {
  const HubFormat encoder = VitConfig::hub(), decoder = Gpt2Config::hub();
  HubFormat out{
      .model_type = "vision-encoder-decoder",
      .architectures = {"VisionEncoderDecoderModel"},
      .ignored = {"decoder.transformer.h.*.attn.bias", "decoder.transformer.h.*.attn.masked_bias",
                  "decoder.transformer.h.*.crossattention.bias",
                  "decoder.transformer.h.*.crossattention.masked_bias"},
      .may_lack = {"encoder.pooler.*"},
      .tied = {{"decoder.lm_head.weight", "decoder.transformer.wte.weight", true}},
      .token_embedding = "decoder.transformer.wte.weight",
      .text_positions = {"decoder.transformer.wpe.weight"},
      .image_positions = {"encoder.embeddings.position_embeddings"},
      .own_keys = {"encoder.gradient_checkpointing", "decoder.gradient_checkpointing",
                   "encoder.from_pretrained", "decoder.from_pretrained"},
      .from_hub = captioner_from_hub,
      .to_hub = captioner_to_hub,
      .parts = {{"encoder", encoder_part}, {"decoder", decoder_part}},
      .generates = true,
      .sees_images = true};
  out.fixed = within("decoder", decoder.fixed);
  out.fixed["decoder.add_cross_attention"] = "true";
  out.fixed["decoder.cross_attention_hidden_size"] = "null";
  out.fixed["decoder.model_type"] = "\"gpt2\"";
  out.fixed["encoder.model_type"] = "\"vit\"";
  out.defaults = within("decoder", decoder.defaults);
  out.written = within("encoder", encoder.written);
  out.written.merge(within("decoder", decoder.written));
  out.written.merge(HubValues{{"decoder.add_cross_attention", "true"},
                              {"decoder.is_decoder", "true"},
                              {"decoder.model_type", "\"gpt2\""},
                              {"encoder.model_type", "\"vit\""},
                              {"is_encoder_decoder", "true"},
                              {"tie_word_embeddings", "false"}});
  return out;
}

}  // namespace lockstep

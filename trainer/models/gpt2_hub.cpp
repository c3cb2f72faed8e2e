// GPT-2 on the hub: GPT2LMHeadModel.
#include "trainer/models/gpt2_config.h"

namespace lockstep {
namespace {

// Keys that are called otherwise here.
void from_hub(HubValues& values) {
  if (const auto found = values.find("n_positions"); found != values.end())
    values["block_size"] = found->second;
  if (const auto found = values.find("resid_pdrop"); found != values.end())
    values["dropout"] = found->second;
}

void to_hub(HubValues& values) {
  values["n_positions"] = values.at("block_size");
  values.erase("block_size");
  for (const char* name : {"attn_pdrop", "embd_pdrop", "resid_pdrop"})
    values[name] = values.at("dropout");
  values.erase("dropout");
  values["initializer_range"] = "0.02";
  values["n_inner"] = "null";
  values["reorder_and_upcast_attn"] = "false";
  values["use_cache"] = "true";
}

}  // namespace

HubFormat Gpt2Config::hub() {
  return {.model_type = "gpt2",
          .architectures = {"GPT2LMHeadModel", "GPT2Model"},
          .read = {{"transformer.*", "*"}},
          .write = {{"*", "transformer.*"}},
          // The causal mask, which old files hold for each layer.
          .ignored = {"h.*.attn.bias", "h.*.attn.masked_bias"},
          .tied = {{"lm_head.weight", "wte.weight"}},
          .token_embedding = "wte.weight",
          .fixed = {{"activation_function", "\"gelu_new\""},
                    {"add_cross_attention", "false"},
                    {"layer_norm_epsilon", "1e-05"},
                    {"scale_attn_by_inverse_layer_idx", "false"},
                    {"scale_attn_weights", "true"},
                    {"tie_word_embeddings", "true"}},
          .defaults = {{"resid_pdrop", "0.1"}, {"vocab_size", "50257"}},
          .own_keys = {"gradient_checkpointing"},
          .from_hub = from_hub,
          .to_hub = to_hub,
          .generates = true};
}

}  // namespace lockstep

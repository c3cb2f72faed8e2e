// GPT-2 on the hub: GPT2LMHeadModel.
#include "trainer/models/gpt2/gpt2_config.h"

namespace lockstep {
namespace {

void gpt2_to_hub(HubValues& values) {
  if (values.at("n_inner") == "0") values["n_inner"] = "null";
}

}  // namespace

HubFormat Gpt2Config::hub() {
  return {.model_type = "gpt2",
          .architectures = {"GPT2LMHeadModel", "GPT2Model"},
          .read = {{"transformer.*", "*"}},
          .write = {{"*", "transformer.*"}},
          // The causal mask, which old files have for each layer.
          .ignored = {"h.*.attn.bias", "h.*.attn.masked_bias"},
          .tied = {{"lm_head.weight", "wte.weight"}},
          .token_embedding = "wte.weight",
          .text_positions = {"wpe.weight"},
          .fixed = {{"add_cross_attention", "false"},
                    {"scale_attn_by_inverse_layer_idx", "false"},
                    {"scale_attn_weights", "true"},
                    {"tie_word_embeddings", "true"}},
          .defaults = {{"attn_pdrop", "0.1"},
                       {"embd_pdrop", "0.1"},
                       {"resid_pdrop", "0.1"},
                       {"vocab_size", "50257"}},
          .written = {{"reorder_and_upcast_attn", "false"},
                      {"scale_attn_by_inverse_layer_idx", "false"},
                      {"scale_attn_weights", "true"},
                      {"summary_activation", "null"},
                      {"summary_first_dropout", "0.1"},
                      {"summary_proj_to_labels", "true"},
                      {"summary_type", "\"cls_index\""},
                      {"summary_use_proj", "true"},
                      {"use_cache", "true"}},
          .own_keys = {"gradient_checkpointing"},
          .to_hub = gpt2_to_hub,
          .generates = true};
}

}  // namespace lockstep

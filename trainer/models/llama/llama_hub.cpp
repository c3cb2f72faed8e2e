// Llama on the hub: LlamaForCausalLM.
#include <cstdint>
#include <string>

#include "trainer/models/llama/llama_config.h"

namespace lockstep {
namespace {

constexpr const char* kScaling = "rope_scaling.";

/// Newer files have rope_theta and the scaling as "rope_parameters", older ones call rope_type
/// "type".
void llama_from_hub(HubValues& values) {
  constexpr const char* kNewer = "rope_parameters.";
  const HubValues given = values;
  for (const auto& [key, value] : given) {
    if (!key.starts_with(kNewer)) continue;
    const std::string name = key.substr(std::string(kNewer).size());
    values[name == "rope_theta" ? name : kScaling + name] = value;
  }
  const auto older = values.find("rope_scaling.type");
  if (older != values.end()) values.emplace("rope_scaling.rope_type", older->second);
}

void llama_to_hub(HubValues& values) {
  if (values.at("num_key_value_heads") == "0")
    values["num_key_value_heads"] = values.at("num_attention_heads");
  if (values.at("head_dim") == "0")
    values["head_dim"] = std::to_string(std::stoll(values.at("hidden_size").json) /
                                        std::stoll(values.at("num_attention_heads").json));
  const std::string type = values.at("rope_scaling.rope_type").json;
  if (type == "\"llama3\"") return;
  const std::string factor = values.at("rope_scaling.factor").json;
  std::erase_if(values, [](const auto& value) { return value.first.starts_with(kScaling); });
  if (type == "\"default\"") {
    values["rope_scaling"] = "null";
  } else {
    values["rope_scaling.rope_type"] = type;
    values["rope_scaling.factor"] = factor;
  }
}

}  // namespace

HubFormat LlamaConfig::hub() {
  return {.model_type = "llama",
          .architectures = {"LlamaForCausalLM", "LlamaModel"},
          // The names of a LlamaModel without a head.
          .read = {{"layers.*", "model.layers.*"},
                   {"embed_tokens.*", "model.embed_tokens.*"},
                   {"norm.*", "model.norm.*"}},
          .ignored = {"model.layers.*.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"},
          .tied = {{"lm_head.weight", "model.embed_tokens.weight"}},
          .token_embedding = "model.embed_tokens.weight",
          .token_rows = {"lm_head.weight"},
          .defaults = {{"vocab_size", "32000"}},
          .written = {{"pretraining_tp", "1"}, {"use_cache", "true"}},
          .own_keys = {"gradient_checkpointing"},
          .objects = {"rope_parameters"},
          .from_hub = llama_from_hub,
          .to_hub = llama_to_hub,
          .generates = true};
}

}  // namespace lockstep

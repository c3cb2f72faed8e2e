// The tensors of an exported model, by name and shape, are those that save_pretrained() of the
// transformers library writes for the same config: read off the classes at commit
// 8ec58104181bfb34d824d89bccc009b4f6be6e0e (models/gpt2/modeling_gpt2.py,
// models/bert/modeling_bert.py), 5dd4a63548857797727ae73eeb6a6e886ea02a3e
// (models/llama/modeling_llama.py) and 005db8208dee358fe8fe63ae3cc49dd054aad48d
// (models/vit/modeling_vit.py); of the captioner those of VisionEncoderDecoderModel in
// version 4.46. Weights that are tied are not written, unless the outer config does not tie them,
// nor are buffers that are not persistent. All of them are F32.
#include <gtest/gtest.h>

#include <string>

#include "trainer/config/load.h"
#include "trainer/hub/hub_format.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

/// A line for each tensor that an export of this model writes, in the order of names.
std::string exported_tensors(const std::string& model) {
  const Registry registry = built_in();
  const Config config =
      parse_config("model:\n" + model +
                       "data:\n  type: synthetic\ntraining:\n  global_batch_size: 4\n"
                       "  micro_batch_size: 4\n  max_steps: 1\noptimizer:\n  learning_rate: 0.1\n",
                   "test.yaml", registry)
          .config;
  const HubFormat& format = *registry.at(config.model).hub;
  const std::unique_ptr<Model> made = registry.make_model(config.model, {});
  std::map<std::string, std::string> lines;
  for (const Parameter& p : made->parameters().all()) {
    lines[renamed(p.name, format.write)] = p.shape.to_string();
    for (const HubTied& tied : format.tied)
      if (tied.written && tied.parameter == p.name) lines[tied.name] = p.shape.to_string();
  }
  std::string out;
  for (const auto& [name, shape] : lines) out += fmt::format("{} {}\n", name, shape);
  return out;
}

TEST(HubNames, OfGpt2AreThoseOfGPT2LMHeadModel) {
  EXPECT_EQ(
      exported_tensors("  name: gpt2\n  n_layer: 1\n  n_head: 2\n  n_embd: 4\n  block_size: 8\n"
                       "  vocab_size: 10\n"),
      "transformer.h.0.attn.c_attn.bias [12]\n"
      "transformer.h.0.attn.c_attn.weight [4,12]\n"
      "transformer.h.0.attn.c_proj.bias [4]\n"
      "transformer.h.0.attn.c_proj.weight [4,4]\n"
      "transformer.h.0.ln_1.bias [4]\n"
      "transformer.h.0.ln_1.weight [4]\n"
      "transformer.h.0.ln_2.bias [4]\n"
      "transformer.h.0.ln_2.weight [4]\n"
      "transformer.h.0.mlp.c_fc.bias [16]\n"
      "transformer.h.0.mlp.c_fc.weight [4,16]\n"
      "transformer.h.0.mlp.c_proj.bias [4]\n"
      "transformer.h.0.mlp.c_proj.weight [16,4]\n"
      "transformer.ln_f.bias [4]\n"
      "transformer.ln_f.weight [4]\n"
      "transformer.wpe.weight [8,4]\n"
      "transformer.wte.weight [10,4]\n");
}

const std::string kBert =
    "bert.embeddings.LayerNorm.bias [4]\n"
    "bert.embeddings.LayerNorm.weight [4]\n"
    "bert.embeddings.position_embeddings.weight [8,4]\n"
    "bert.embeddings.token_type_embeddings.weight [2,4]\n"
    "bert.embeddings.word_embeddings.weight [10,4]\n"
    "bert.encoder.layer.0.attention.output.LayerNorm.bias [4]\n"
    "bert.encoder.layer.0.attention.output.LayerNorm.weight [4]\n"
    "bert.encoder.layer.0.attention.output.dense.bias [4]\n"
    "bert.encoder.layer.0.attention.output.dense.weight [4,4]\n"
    "bert.encoder.layer.0.attention.self.key.bias [4]\n"
    "bert.encoder.layer.0.attention.self.key.weight [4,4]\n"
    "bert.encoder.layer.0.attention.self.query.bias [4]\n"
    "bert.encoder.layer.0.attention.self.query.weight [4,4]\n"
    "bert.encoder.layer.0.attention.self.value.bias [4]\n"
    "bert.encoder.layer.0.attention.self.value.weight [4,4]\n"
    "bert.encoder.layer.0.intermediate.dense.bias [6]\n"
    "bert.encoder.layer.0.intermediate.dense.weight [6,4]\n"
    "bert.encoder.layer.0.output.LayerNorm.bias [4]\n"
    "bert.encoder.layer.0.output.LayerNorm.weight [4]\n"
    "bert.encoder.layer.0.output.dense.bias [4]\n"
    "bert.encoder.layer.0.output.dense.weight [4,6]\n";

const std::string kBertSizes =
    "  num_hidden_layers: 1\n  num_attention_heads: 2\n  hidden_size: 4\n  intermediate_size: 6\n"
    "  max_position_embeddings: 8\n  vocab_size: 10\n";

TEST(HubNames, OfBertAreThoseOfBertForMaskedLM) {
  EXPECT_EQ(exported_tensors("  name: bert\n" + kBertSizes),
            kBert +
                "cls.predictions.bias [10]\n"
                "cls.predictions.transform.LayerNorm.bias [4]\n"
                "cls.predictions.transform.LayerNorm.weight [4]\n"
                "cls.predictions.transform.dense.bias [4]\n"
                "cls.predictions.transform.dense.weight [4,4]\n");
}

TEST(HubNames, OfBertClassifierAreThoseOfBertForSequenceClassification) {
  EXPECT_EQ(exported_tensors("  name: bert_classifier\n  num_labels: 3\n" + kBertSizes),
            kBert +
                "bert.pooler.dense.bias [4]\n"
                "bert.pooler.dense.weight [4,4]\n"
                "classifier.bias [3]\n"
                "classifier.weight [3,4]\n");
}

const std::string kLlamaSizes =
    "  name: llama\n  num_hidden_layers: 1\n  num_attention_heads: 4\n  num_key_value_heads: 2\n"
    "  hidden_size: 8\n  intermediate_size: 6\n  max_position_embeddings: 8\n  vocab_size: 10\n";

const std::string kLlama =
    "model.embed_tokens.weight [10,8]\n"
    "model.layers.0.input_layernorm.weight [8]\n"
    "model.layers.0.mlp.down_proj.weight [8,6]\n"
    "model.layers.0.mlp.gate_proj.weight [6,8]\n"
    "model.layers.0.mlp.up_proj.weight [6,8]\n"
    "model.layers.0.post_attention_layernorm.weight [8]\n"
    "model.layers.0.self_attn.k_proj.weight [4,8]\n"
    "model.layers.0.self_attn.o_proj.weight [8,8]\n"
    "model.layers.0.self_attn.q_proj.weight [8,8]\n"
    "model.layers.0.self_attn.v_proj.weight [4,8]\n"
    "model.norm.weight [8]\n";

TEST(HubNames, OfLlamaAreThoseOfLlamaForCausalLM) {
  EXPECT_EQ(exported_tensors(kLlamaSizes), "lm_head.weight [10,8]\n" + kLlama);
  EXPECT_EQ(exported_tensors(kLlamaSizes + "  tie_word_embeddings: true\n"), kLlama);
}

TEST(HubNames, OfVitAreThoseOfViTForImageClassification) {
  const std::string sizes =
      "  name: vit\n  image_size: 6\n  patch_size: 2\n  num_channels: 5\n  num_labels: 3\n"
      "  hidden_size: 4\n  num_attention_heads: 2\n  num_hidden_layers: 1\n"
      "  intermediate_size: 7\n";
  const std::string all = exported_tensors(sizes);
  EXPECT_EQ(all,
            "classifier.bias [3]\n"
            "classifier.weight [3,4]\n"
            "vit.embeddings.cls_token [1,1,4]\n"
            "vit.embeddings.patch_embeddings.projection.bias [4]\n"
            "vit.embeddings.patch_embeddings.projection.weight [4,5,2,2]\n"
            "vit.embeddings.position_embeddings [1,10,4]\n"
            "vit.encoder.layer.0.attention.attention.key.bias [4]\n"
            "vit.encoder.layer.0.attention.attention.key.weight [4,4]\n"
            "vit.encoder.layer.0.attention.attention.query.bias [4]\n"
            "vit.encoder.layer.0.attention.attention.query.weight [4,4]\n"
            "vit.encoder.layer.0.attention.attention.value.bias [4]\n"
            "vit.encoder.layer.0.attention.attention.value.weight [4,4]\n"
            "vit.encoder.layer.0.attention.output.dense.bias [4]\n"
            "vit.encoder.layer.0.attention.output.dense.weight [4,4]\n"
            "vit.encoder.layer.0.intermediate.dense.bias [7]\n"
            "vit.encoder.layer.0.intermediate.dense.weight [7,4]\n"
            "vit.encoder.layer.0.layernorm_after.bias [4]\n"
            "vit.encoder.layer.0.layernorm_after.weight [4]\n"
            "vit.encoder.layer.0.layernorm_before.bias [4]\n"
            "vit.encoder.layer.0.layernorm_before.weight [4]\n"
            "vit.encoder.layer.0.output.dense.bias [4]\n"
            "vit.encoder.layer.0.output.dense.weight [4,7]\n"
            "vit.layernorm.bias [4]\n"
            "vit.layernorm.weight [4]\n");
  const std::string without_bias = exported_tensors(sizes + "  qkv_bias: false\n");
  EXPECT_EQ(without_bias.find("query.bias"), std::string::npos);
  EXPECT_EQ(without_bias.find("key.bias"), std::string::npos);
  EXPECT_EQ(without_bias.find("value.bias"), std::string::npos);
}

TEST(HubNames, OfVitGpt2AreThoseOfVisionEncoderDecoderModel) {
  const std::string all = exported_tensors(
      "  name: vit_gpt2\n"
      "  encoder: {image_size: 6, patch_size: 2, num_channels: 5, hidden_size: 4,\n"
      "            num_attention_heads: 2, num_hidden_layers: 1, intermediate_size: 7}\n"
      "  decoder: {n_layer: 1, n_head: 2, n_embd: 6, n_positions: 8, vocab_size: 10}\n");
  EXPECT_EQ(all,
            "decoder.lm_head.weight [10,6]\n"
            "decoder.transformer.h.0.attn.c_attn.bias [18]\n"
            "decoder.transformer.h.0.attn.c_attn.weight [6,18]\n"
            "decoder.transformer.h.0.attn.c_proj.bias [6]\n"
            "decoder.transformer.h.0.attn.c_proj.weight [6,6]\n"
            "decoder.transformer.h.0.crossattention.c_attn.bias [12]\n"
            "decoder.transformer.h.0.crossattention.c_attn.weight [6,12]\n"
            "decoder.transformer.h.0.crossattention.c_proj.bias [6]\n"
            "decoder.transformer.h.0.crossattention.c_proj.weight [6,6]\n"
            "decoder.transformer.h.0.crossattention.q_attn.bias [6]\n"
            "decoder.transformer.h.0.crossattention.q_attn.weight [6,6]\n"
            "decoder.transformer.h.0.ln_1.bias [6]\n"
            "decoder.transformer.h.0.ln_1.weight [6]\n"
            "decoder.transformer.h.0.ln_2.bias [6]\n"
            "decoder.transformer.h.0.ln_2.weight [6]\n"
            "decoder.transformer.h.0.ln_cross_attn.bias [6]\n"
            "decoder.transformer.h.0.ln_cross_attn.weight [6]\n"
            "decoder.transformer.h.0.mlp.c_fc.bias [24]\n"
            "decoder.transformer.h.0.mlp.c_fc.weight [6,24]\n"
            "decoder.transformer.h.0.mlp.c_proj.bias [6]\n"
            "decoder.transformer.h.0.mlp.c_proj.weight [24,6]\n"
            "decoder.transformer.ln_f.bias [6]\n"
            "decoder.transformer.ln_f.weight [6]\n"
            "decoder.transformer.wpe.weight [8,6]\n"
            "decoder.transformer.wte.weight [10,6]\n"
            "enc_to_dec_proj.bias [6]\n"
            "enc_to_dec_proj.weight [6,4]\n"
            "encoder.embeddings.cls_token [1,1,4]\n"
            "encoder.embeddings.patch_embeddings.projection.bias [4]\n"
            "encoder.embeddings.patch_embeddings.projection.weight [4,5,2,2]\n"
            "encoder.embeddings.position_embeddings [1,10,4]\n"
            "encoder.encoder.layer.0.attention.attention.key.bias [4]\n"
            "encoder.encoder.layer.0.attention.attention.key.weight [4,4]\n"
            "encoder.encoder.layer.0.attention.attention.query.bias [4]\n"
            "encoder.encoder.layer.0.attention.attention.query.weight [4,4]\n"
            "encoder.encoder.layer.0.attention.attention.value.bias [4]\n"
            "encoder.encoder.layer.0.attention.attention.value.weight [4,4]\n"
            "encoder.encoder.layer.0.attention.output.dense.bias [4]\n"
            "encoder.encoder.layer.0.attention.output.dense.weight [4,4]\n"
            "encoder.encoder.layer.0.intermediate.dense.bias [7]\n"
            "encoder.encoder.layer.0.intermediate.dense.weight [7,4]\n"
            "encoder.encoder.layer.0.layernorm_after.bias [4]\n"
            "encoder.encoder.layer.0.layernorm_after.weight [4]\n"
            "encoder.encoder.layer.0.layernorm_before.bias [4]\n"
            "encoder.encoder.layer.0.layernorm_before.weight [4]\n"
            "encoder.encoder.layer.0.output.dense.bias [4]\n"
            "encoder.encoder.layer.0.output.dense.weight [4,7]\n"
            "encoder.layernorm.bias [4]\n"
            "encoder.layernorm.weight [4]\n"
            "encoder.pooler.dense.bias [4]\n"
            "encoder.pooler.dense.weight [4,4]\n");
}

}  // namespace
}  // namespace lockstep

#include "trainer/models/vit_gpt2/vit_gpt2.h"

namespace lockstep {

VitGpt2::Pooler::Pooler(Module& parent, const VitConfig& config)
    : Module(parent, "pooler"),
      dense(*this, "dense", config.hidden_size, config.hidden_size,
            {.weight_init = Initializer::normal(config.initializer_range),
             .bias_init = Initializer::constant(0.0)}) {
  set_trainable(false);
}

VitGpt2::Decoder::Decoder(Module& parent, const Gpt2Config& config, std::int64_t vocab_size)
    : Module(parent, "decoder"),
      transformer(*this, "transformer"),
      body(transformer, config, vocab_size, true, "model.decoder") {}

VitGpt2::VitGpt2(const Config& config, const DataFacts& data)
    : encoder_(*this, "encoder", config.encoder, "model.encoder"),
      pooler_(encoder_, config.encoder),
      decoder_(*this, config.decoder,
               vocabulary_size(config.decoder.vocab_size, data, "model.decoder.vocab_size")) {
  if (config.encoder.hidden_size != config.decoder.n_embd)
    enc_to_dec_proj_.emplace(*this, "enc_to_dec_proj", config.encoder.hidden_size,
                             config.decoder.n_embd);
}

Tensor VitGpt2::memory(const Tensor& image) const {
  const Tensor tokens = encoder_.tokens(image);
  return enc_to_dec_proj_ ? (*enc_to_dec_proj_)(tokens) : tokens;
}

Loss VitGpt2::operator()(const Batch& batch) const {
  // What follows a caption in its row cannot change the logits before it: attention is causal.
  return chosen_token_loss(decoder_.body.logits({batch["tokens"]}, memory(batch["image"])), batch);
}

void VitGpt2::remember(const Batch& inputs, KeyValueCache& cache) const {
  decoder_.body.remember(memory(inputs["image"]), cache);
}

}  // namespace lockstep

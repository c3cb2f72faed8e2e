// The rows of the table of schema.h: the run, the model and its data.
#include "trainer/config/schema_rows.h"

namespace lockstep {
namespace {

std::vector<ConfigKey> run_and_model_keys() {
  return {
      {.path = "run.dir",
       .member = bind<&C::run, &RunConfig::dir>(),
       .doc = "Folder under which every run has a folder of its own."},
      {.path = "run.name",
       .member = bind<&C::run, &RunConfig::name>(),
       .doc = "Folder of this run inside run.dir; by default the config file's name."},
      {.path = "run.seed",
       .member = bind<&C::run, &RunConfig::seed>(),
       .range = counts(),
       .doc = "Seeds initialization, dropout and the order of the data."},

      {.path = "model.name",
       .member = bind<&C::model, &ModelConfig::name>(),
       .doc = "Architecture to train.",
       .required = true},
      {.path = "model.n_layer",
       .member = bind<&C::model, &ModelConfig::n_layer>(),
       .range = {1, 4096},
       .doc = "Transformer blocks.",
       .when = &kGpt2},
      {.path = "model.n_head",
       .member = bind<&C::model, &ModelConfig::n_head>(),
       .range = sizes(),
       .doc = "Attention heads per block; divides n_embd.",
       .when = &kGpt2},
      {.path = "model.n_embd",
       .member = bind<&C::model, &ModelConfig::n_embd>(),
       .range = sizes(),
       .doc = "Width of the residual stream.",
       .when = &kGpt2},
      {.path = "model.block_size",
       .member = bind<&C::model, &ModelConfig::block_size>(),
       .range = sizes(),
       .unit = "tokens",
       .doc = "Positions the model knows: the longest sequence it takes.",
       .when = &kGpt2},
      {.path = "model.vocab_size",
       .member = bind<&C::model, &ModelConfig::vocab_size>(),
       .range = sizes(0),
       .unit = "tokens",
       .doc = "Rows of the token embedding; 0 takes the tokenizer's vocabulary.",
       .when = &kGpt2},
      {.path = "model.dropout",
       .member = bind<&C::model, &ModelConfig::dropout>(),
       .range = fraction(),
       .doc = "Probability of dropping an element of embeddings, attention and residuals.",
       .when = &kGpt2},
      {.path = "model.hidden_sizes",
       .member = bind<&C::model, &ModelConfig::hidden_sizes>(),
       .range = sizes(),
       .doc = "Widths of the hidden layers, first to last; [] makes a linear model.",
       .may_be_empty = true,
       .when = &kMlp},
      {.path = "model.input_size",
       .member = bind<&C::model, &ModelConfig::input_size>(),
       .range = sizes(),
       .doc = "Numbers in one input sample.",
       .when = &kMlp},
      {.path = "model.n_classes",
       .member = bind<&C::model, &ModelConfig::n_classes>(),
       .range = sizes(2),
       .doc = "Classes to tell apart.",
       .when = &kClassifier},
  };
}

std::vector<ConfigKey> data_keys() {
  return {
      {.path = "tokenizer.type",
       .member = bind<&C::tokenizer, &TokenizerConfig::type>(),
       .doc = "How text becomes tokens: one per character of the corpus, or GPT-2's byte-pair "
              "encoding.",
       .when = &kGpt2},
      {.path = "tokenizer.vocab",
       .member = bind<&C::tokenizer, &TokenizerConfig::vocab>(),
       .doc = "GPT-2's vocab.json.",
       .required = true,
       .per_rank = true,
       .when = &kGpt2Tokenizer},
      {.path = "tokenizer.merges",
       .member = bind<&C::tokenizer, &TokenizerConfig::merges>(),
       .doc = "GPT-2's merges.txt.",
       .required = true,
       .per_rank = true,
       .when = &kGpt2Tokenizer},

      {.path = "data.type",
       .member = bind<&C::data, &DataConfig::type>(),
       .doc = "Format of the data: plain text, token shards (.bin), IDX images (.gz too), or "
              "random samples made on the fly.",
       .required = true},
      {.path = "data.path",
       .member = bind<&C::data, &DataConfig::path>(),
       .doc = "File to train on; for text and tokens also a list of files read one after the "
              "other.",
       .required = true,
       .per_rank = true,
       .when = &kFiles},
      {.path = "data.labels",
       .member = bind<&C::data, &DataConfig::labels>(),
       .doc = "IDX file of the labels of data.path.",
       .required = true,
       .per_rank = true,
       .when = &kIdx},
      {.path = "data.val_path",
       .member = bind<&C::data, &DataConfig::val_path>(),
       .doc = "File or files to validate on; without it, a part of data.path is.",
       .may_be_empty = true,
       .per_rank = true,
       .when = &kFiles},
      {.path = "data.val_labels",
       .member = bind<&C::data, &DataConfig::val_labels>(),
       .doc = "IDX file of the labels of data.val_path.",
       .may_be_empty = true,
       .per_rank = true,
       .when = &kIdx},
      {.path = "data.val_fraction",
       .member = bind<&C::data, &DataConfig::val_fraction>(),
       .range = fraction(),
       .doc = "Part at the end of data.path that is kept for validation when there is no val_path.",
       .when = &kTokenFiles},
      {.path = "data.train_range",
       .member = bind<&C::data, &DataConfig::train_range>(),
       .range = counts(),
       .unit = "samples",
       .doc = "Samples of data.path to train on, begin <= i < end; [] means all.",
       .when = &kIdx},
      {.path = "data.val_range",
       .member = bind<&C::data, &DataConfig::val_range>(),
       .range = counts(),
       .unit = "samples",
       .doc = "Samples to validate on, of val_path or else of path; [] means all of val_path.",
       .when = &kIdx},
      {.path = "data.sequence_length",
       .member = bind<&C::data, &DataConfig::sequence_length>(),
       .range = sizes(0),
       .unit = "tokens",
       .doc = "Tokens in one sample; 0 takes model.block_size.",
       .when = &kGpt2},
      {.path = "data.stride",
       .member = bind<&C::data, &DataConfig::stride>(),
       .range = sizes(0),
       .unit = "tokens",
       .doc = "Distance between the starts of neighbouring training samples; 0 takes the sequence "
              "length, 1 with shuffle draws crops at any position.",
       .when = &kTokenFiles},
      {.path = "data.num_samples",
       .member = bind<&C::data, &DataConfig::num_samples>(),
       .range = counts(1),
       .unit = "samples",
       .doc = "Size of the synthetic dataset.",
       .when = &kSynthetic},
      {.path = "data.normalize_mean",
       .member = bind<&C::data, &DataConfig::normalize_mean>(),
       .doc = "Subtracted from pixels, which are first scaled to [0, 1].",
       .when = &kIdx},
      {.path = "data.normalize_std",
       .member = bind<&C::data, &DataConfig::normalize_std>(),
       .range = above(0),
       .doc = "Divides pixels after normalize_mean was subtracted.",
       .when = &kIdx},
  };
}

std::vector<ConfigKey> loader_keys() {
  return {
      {.path = "data.shuffle",
       .member = bind<&C::data, &DataConfig::shuffle>(),
       .doc = "Visit the training samples in a new random order each epoch."},
      {.path = "data.loader_workers",
       .member = bind<&C::data, &DataConfig::loader_workers>(),
       .range = {1, 1024},
       .unit = "threads",
       .doc = "Threads that read and collate batches; results do not depend on it.",
       .per_rank = true},
      {.path = "data.loader_prefetch_size",
       .member = bind<&C::data, &DataConfig::loader_prefetch_size>(),
       .range = {1, 4096},
       .unit = "batches",
       .doc = "Batches kept ready in host memory.",
       .per_rank = true},
      {.path = "data.device_prefetch_size",
       .member = bind<&C::data, &DataConfig::device_prefetch_size>(),
       .range = {1, 4096},
       .unit = "batches",
       .doc = "Batches kept ready in device memory.",
       .per_rank = true},
      {.path = "data.host_to_device_transfer_threads",
       .member = bind<&C::data, &DataConfig::host_to_device_transfer_threads>(),
       .range = {1, 64},
       .unit = "threads",
       .doc = "Threads that copy batches to the device.",
       .per_rank = true},
  };
}

std::vector<ConfigKey> all_keys() {
  std::vector<ConfigKey> out;
  for (auto part : {run_and_model_keys, data_keys, loader_keys, training_keys,
                    evaluation_and_checkpoint_keys, machine_and_output_keys}) {
    const std::vector<ConfigKey> keys = part();
    out.insert(out.end(), keys.begin(), keys.end());
  }
  return out;
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = all_keys();
  return keys;
}

}  // namespace lockstep

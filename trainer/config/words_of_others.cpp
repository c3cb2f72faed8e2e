#include "trainer/config/words_of_others.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

struct KeyOfOthers {
  std::string_view theirs;
  std::string_view ours;  ///< a key, or an explanation with quoted keys
};

/// Hugging Face's TrainingArguments, nanoGPT's config, Lightning's Trainer, PyTorch's optimizers.
constexpr auto kKeysOfOthers = std::to_array<KeyOfOthers>({
    {"lr", "optimizer.learning_rate"},
    {"batch_size",
     "'training.global_batch_size' here, samples of a step over all ranks; "
     "'training.micro_batch_size' is how many of them are computed at once"},
    {"per_device_train_batch_size", "training.micro_batch_size"},
    {"per_gpu_train_batch_size", "training.micro_batch_size"},
    {"per_device_eval_batch_size", "eval.batch_size"},
    {"gradient_accumulation_steps",
     "expressed by 'training.global_batch_size' here: training.micro_batch_size x ranks x "
     "gradient_accumulation_steps"},
    {"accumulate_grad_batches",
     "expressed by 'training.global_batch_size' here: training.micro_batch_size x ranks x "
     "accumulate_grad_batches"},
    {"num_train_epochs", "training.max_epochs"},
    {"epochs", "training.max_epochs"},
    {"num_epochs", "training.max_epochs"},
    {"max_iters", "training.max_steps"},
    {"train_steps", "training.max_steps"},
    {"warmup_ratio", "'scheduler.warmup_steps' here, in steps: warmup_ratio x training.max_steps"},
    {"warmup_iters", "scheduler.warmup_steps"},
    {"lr_decay_iters", "scheduler.decay_steps"},
    {"lr_scheduler_type", "scheduler.name"},
    {"decay_lr", "'scheduler.name' here: constant, or one that decays"},
    {"max_grad_norm", "training.gradient_clip_norm"},
    {"grad_clip", "training.gradient_clip_norm"},
    {"gradient_clip_val", "training.gradient_clip_norm"},
    {"clip_grad_norm", "training.gradient_clip_norm"},
    {"adam_beta1", "'optimizer.betas' here, a list: [adam_beta1, adam_beta2]"},
    {"adam_beta2", "'optimizer.betas' here, a list: [adam_beta1, adam_beta2]"},
    {"beta1", "'optimizer.betas' here, a list: [beta1, beta2]"},
    {"beta2", "'optimizer.betas' here, a list: [beta1, beta2]"},
    {"adam_epsilon", "optimizer.eps"},
    {"optim", "optimizer.name"},
    {"fp16", "'training.precision' here: fp32 or bf16-mixed"},
    {"bf16", "'training.precision' here: bf16-mixed"},
    {"amp", "'training.precision' here: bf16-mixed"},
    {"output_dir", "'run.dir' here, with the folder of the run, 'run.name', in it"},
    {"out_dir", "'run.dir' here, with the folder of the run, 'run.name', in it"},
    {"save_steps", "checkpoint.save_interval"},
    {"save_total_limit", "checkpoint.keep_last"},
    {"load_best_model_at_end", "'checkpoint.keep_best' here; eval and export take --best"},
    {"resume_from_checkpoint", "checkpoint.resume"},
    {"eval_steps", "eval.interval"},
    {"eval_interval", "eval.interval"},
    {"eval_iters", "eval.max_batches"},
    {"metric_for_best_model", "early_stopping.metric"},
    {"early_stopping_patience", "early_stopping.patience"},
    {"logging_steps", "logging.interval"},
    {"log_interval", "logging.interval"},
    {"log_every_n_steps", "logging.interval"},
    {"num_workers", "data.loader_workers"},
    {"dataloader_num_workers", "data.loader_workers"},
    {"prefetch_factor", "data.loader_prefetch_size"},
    {"train_file", "data.path"},
    {"validation_file", "data.val_path"},
    {"max_seq_length", "data.sequence_length"},
    {"max_length", "data.sequence_length"},
    {"group_by_length", "data.group_by_length"},
    {"train_sampling_strategy", "'data.group_by_length' here, or 'data.shuffle'"},
    {"model_name_or_path", "model.init_from"},
    {"devices", "the number of ranks here: lockstep launch -n N -- train CONFIG"},
    {"world_size", "the number of ranks here: lockstep launch -n N -- train CONFIG"},
});

}  // namespace

std::optional<WordOfOthers> word_of_others(std::string_view name) {
  const auto* found = std::ranges::find(kKeysOfOthers, name, &KeyOfOthers::theirs);
  if (found == kKeysOfOthers.end()) return std::nullopt;
  const std::string_view ours = found->ours;
  if (ours.find(' ') == std::string_view::npos)
    return WordOfOthers{fmt::format("this is '{}' here", ours), {std::string(ours)}};
  WordOfOthers out{fmt::format("this is {}", ours)};
  for (std::size_t at = ours.find('\''); at != ours.npos; at = ours.find('\'', at + 1)) {
    const std::size_t end = ours.find('\'', at + 1);
    out.keys.emplace_back(ours.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

}  // namespace lockstep

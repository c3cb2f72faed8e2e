#include "trainer/config/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "trainer/config/batch_plan.h"

namespace lockstep {
namespace {

/// A fresh run moves an earlier one of its name aside: that must never be a folder of other things.
void check_run_name(const Config& c, const ReportProblem& report) {
  const std::string& name = c.run.name;
  if (name == "." || name == ".." || name.find('/') != std::string::npos) {
    report({"run.name"},
           fmt::format("'run.name' must be the name of a folder inside run.dir, not '{}'", name));
  }
}

void check_run_length(const Config& c, const ReportProblem& report) {
  if (c.training.max_steps == -1 && (c.training.max_epochs == -1)) {
    report({"training.max_steps", "training.max_epochs"},
           "missing required key 'training.max_steps' or 'training.max_epochs': without them the "
           "run would never end");
  }
  if (c.training.max_epochs == 0) {
    report({"training.max_epochs"},
           "'training.max_epochs' must be at least 1, or -1 for no limit; training.max_steps: 0 "
           "saves an initialized model");
  }
}

void check_model(const Config& c, const ReportProblem& report) {
  if (c.model.name != ModelName::kGpt2) return;
  const ModelConfig& m = c.model;
  if (m.n_embd % m.n_head != 0) {
    report({"model.n_head", "model.n_embd", "model.name"},
           fmt::format("'model.n_head' {} does not divide 'model.n_embd' {}", m.n_head, m.n_embd));
  }
  if (c.data.sequence_length > m.block_size) {
    report({"data.sequence_length", "model.block_size", "model.name"},
           fmt::format("'data.sequence_length' {} is longer than 'model.block_size' {}",
                       c.data.sequence_length, m.block_size));
  }
  if (c.tokenizer.type == TokenizerType::kNone && m.vocab_size == 0 &&
      c.data.type != DataType::kText) {
    report({"model.vocab_size", "tokenizer.type", "model.name", "data.type"},
           fmt::format("missing required key 'model.vocab_size': {} data has no tokenizer to take "
                       "it from",
                       name_of(c.data.type)));
  }
}

void check_data(const Config& c, const ReportProblem& report) {
  const bool gpt2 = c.model.name == ModelName::kGpt2;
  const bool tokens = c.data.type == DataType::kText || c.data.type == DataType::kTokens;
  if (c.data.type != DataType::kSynthetic && gpt2 != tokens) {
    report(
        {"data.type", "model.name"},
        fmt::format("model '{}' cannot train on {} data; it takes {}", name_of(c.model.name),
                    name_of(c.data.type), gpt2 ? "text, tokens or synthetic" : "idx or synthetic"));
  }
  if (gpt2 && c.data.type == DataType::kText && c.tokenizer.type == TokenizerType::kNone) {
    report({"tokenizer.type", "data.type", "model.name"},
           "missing required key 'tokenizer.type': text data needs one (char or gpt2)");
  }
  if (c.data.type == DataType::kTokens && c.tokenizer.type == TokenizerType::kChar) {
    report({"tokenizer.type", "data.type", "model.name"},
           "'tokenizer.type: char' learns its characters from a text, and tokens data has none");
  }
}

/// IDX data is one file of images and one of labels.
void check_idx_files(const Config& c, const ReportProblem& report) {
  const DataConfig& d = c.data;
  const auto at_most_one = [&](std::string_view key, const std::vector<std::string>& files) {
    if (files.size() <= 1) return;
    report({key, "data.type"},
           fmt::format("'{}' names {} files, but idx data takes one", key, files.size()));
  };
  at_most_one("data.path", d.path);
  at_most_one("data.labels", d.labels);
  at_most_one("data.val_path", d.val_path);
  at_most_one("data.val_labels", d.val_labels);
  if (d.val_path.empty() != d.val_labels.empty()) {
    report({"data.val_path", "data.val_labels", "data.type"},
           "'data.val_path' and 'data.val_labels' must be given together");
  }
  if (d.val_path.empty() && d.val_range) {
    const bool overlap = !d.train_range || (d.train_range->begin < d.val_range->end &&
                                            d.val_range->begin < d.train_range->end);
    if (overlap) {
      report({"data.val_range", "data.train_range", "data.val_path", "data.type"},
             "'data.val_range' overlaps the samples trained on; give a 'data.train_range' apart "
             "from it, or a 'data.val_path'");
    }
  }
}

void check_validation_data(const Config& c, const ReportProblem& report) {
  const DataConfig& d = c.data;
  if (d.type == DataType::kIdx) check_idx_files(c, report);
  if (d.type == DataType::kSynthetic || c.eval.interval == 0 || !d.val_path.empty()) return;
  if (d.type == DataType::kIdx && !d.val_range) {
    report({"eval.interval", "data.val_path", "data.val_range", "data.type"},
           "'eval.interval' asks for evaluation, but there is nothing to evaluate on: give "
           "'data.val_range' or 'data.val_path'");
  }
  if (d.type != DataType::kIdx && d.val_fraction == 0) {
    report({"eval.interval", "data.val_fraction", "data.val_path", "data.type"},
           "'eval.interval' asks for evaluation, but 'data.val_fraction: 0' leaves nothing to "
           "evaluate on");
  }
}

void check_schedule(const Config& c, const ReportProblem& report) {
  const SchedulerConfig& s = c.scheduler;
  if (s.name == SchedulerName::kConstant) return;
  if (s.min_lr > c.optimizer.learning_rate) {
    report({"scheduler.min_lr", "optimizer.learning_rate", "scheduler.name"},
           fmt::format("'scheduler.min_lr' {} is above 'optimizer.learning_rate' {}", s.min_lr,
                       c.optimizer.learning_rate));
  }
  if (s.decay_steps > 0 && s.warmup_steps > s.decay_steps) {
    report({"scheduler.warmup_steps", "scheduler.decay_steps", "scheduler.name"},
           fmt::format("'scheduler.warmup_steps' {} is beyond 'scheduler.decay_steps' {}",
                       s.warmup_steps, s.decay_steps));
  }
}

void check_best_metric(const Config& c, const ReportProblem& report) {
  if (c.eval.interval == 0 && c.early_stopping.patience > 0) {
    report({"early_stopping.patience", "eval.interval"},
           "'early_stopping.patience' counts evaluations, but 'eval.interval: 0' makes none");
  }
  if (c.eval.interval == 0 && c.checkpoint.keep_best) {
    report({"checkpoint.keep_best", "eval.interval"},
           "'checkpoint.keep_best' compares evaluations, but 'eval.interval: 0' makes none");
  }
  if (!c.early_stopping.metric.starts_with("eval/")) {
    report({"early_stopping.metric"},
           fmt::format("'early_stopping.metric' must be eval/<name>, as in eval/loss, not '{}'",
                       c.early_stopping.metric));
  }
}

void check_stall_times(const Config& c, const ReportProblem& report) {
  if (c.distributed.stall_warn_s >= c.distributed.stall_abort_s) {
    report({"distributed.stall_warn_s", "distributed.stall_abort_s"},
           fmt::format("'distributed.stall_warn_s' {} must be below 'distributed.stall_abort_s' {}",
                       c.distributed.stall_warn_s, c.distributed.stall_abort_s));
  }
}

/// A word that other programs take for on or off would be a folder of that name.
void check_compile_cache(const Config& c, const ReportProblem& report) {
  const std::string& choice = c.device.compile_cache;
  if (choice == "off" || choice == "auto") return;
  std::string word = choice;
  std::ranges::transform(word, word.begin(), [](unsigned char x) { return std::tolower(x); });
  const auto is_one_of = [&](const auto& words) {
    return std::ranges::find(words, word) != words.end();
  };
  constexpr std::array<std::string_view, 9> kOff = {"off", "none",     "no",      "false", "null",
                                                    "0",   "disabled", "disable", "never"};
  constexpr std::array<std::string_view, 8> kOn = {"auto", "on",      "yes",    "true",
                                                   "1",    "enabled", "enable", "default"};
  const bool off = is_one_of(kOff);
  if (!off && !is_one_of(kOn)) return;
  report({"device.compile_cache"},
         fmt::format("'device.compile_cache' must be a folder, auto or off, not '{0}'; did you "
                     "mean '{1}'? A folder of that name is ./{0}",
                     choice, off ? "off" : "auto"));
}

void check_batch(const Config& c, const ReportProblem& report) {
  if (c.training.global_batch_size < 1 || c.training.micro_batch_size < 1) return;  // not given
  constexpr std::int64_t kAnyRanks = 1;  // a number of ranks is known only when the job starts
  if (auto problem = batch_problem(c.training, kAnyRanks)) {
    report({"training.global_batch_size", "training.micro_batch_size"}, std::move(*problem));
  }
}

}  // namespace

void check_config(const Config& config, const ReportProblem& report) {
  check_run_name(config, report);
  check_run_length(config, report);
  check_model(config, report);
  check_data(config, report);
  check_validation_data(config, report);
  check_schedule(config, report);
  check_best_metric(config, report);
  check_stall_times(config, report);
  check_compile_cache(config, report);
  check_batch(config, report);
}

}  // namespace lockstep

#include "checkpoint/commands.h"

#include <filesystem>
#include <iterator>

#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "checkpoint/retention.h"
#include "checkpoint/state_hash.h"
#include "checkpoint/verify.h"

namespace lockstep {
namespace {

constexpr int kFailed = static_cast<int>(ErrorKind::kCheckpoint);

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::string folder_argument(const std::string& path) {
  if (!is_folder(path)) {
    raise(ErrorKind::kCheckpoint, "{}: not a run or a folder of checkpoints", path);
  }
  return checkpoint_folder_of(path);
}

struct Examined {
  FileVerdict verdict;
  TrainerState trainer;  ///< if the verdict is ok
};

// Whether a run could be resumed from the file: sealed, and with a structure that can be read.
Examined examine(const std::string& path) {
  try {
    return {{}, CheckpointReader(path).trainer()};
  } catch (const Error& error) {
    return {{without_path(error, path)}, {}};
  }
}

std::string best_text(const TrainerState& trainer) {
  return fmt::format("{} {:.6g}", trainer.best_metric_name, trainer.best_metric);
}

/// The marks of a checkpoint, as the run's `newest` one records them.
std::string marks_of(const TrainerState& trainer, const TrainerState& newest) {
  std::string out;
  if (trainer.step == newest.early_stopping.best_step && !newest.best_metric_name.empty())
    out += fmt::format(", the best: {}", best_text(newest));
  if (trainer.step == newest.good_step)
    out += ", known to be good";
  else if (trainer.confirmation == Confirmation::kDoubtful)
    out += ", in doubt";
  return out;
}

std::string trainer_text(const TrainerState& trainer) {
  std::string schedule = trainer.schedule.name;
  for (const auto& [key, value] : trainer.schedule.values) {
    schedule += fmt::format(" {}={}", key, value);
  }
  return fmt::format(
      "trainer:\n"
      "  step: {}\n  epoch: {}\n  sample_position: {}\n  seed: {}\n  schedule: {}\n"
      "  best_metric: {}\n  best_metric_name: {}\n  best_metric_mode: {}\n  best_step: {}\n"
      "  bad_evaluations: {}\n  good_step: {}\n  dataset_digest: {}\n"
      "  instruction_set: {}\n  cpu_models: {}\n  tokenizer: {} bytes\n",
      trainer.step, trainer.epoch, trainer.sample_position, trainer.seed, schedule,
      trainer.best_metric, trainer.best_metric_name, trainer.best_metric_mode,
      trainer.early_stopping.best_step, trainer.early_stopping.bad_evaluations, trainer.good_step,
      trainer.dataset_digest, trainer.instruction_set, trainer.cpu_models,
      trainer.tokenizer.size());
}

std::string tensors_text(const std::vector<TensorEntry>& tensors) {
  std::string out = fmt::format("tensors: {}\n", tensors.size());
  for (const TensorEntry& entry : tensors) {
    fmt::format_to(std::back_inserter(out), "  {}: {}{}\n", entry.path, name_of(entry.dtype),
                   entry.shape.to_string());
  }
  return out;
}

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += "  " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

CommandResult checkpoint_ls(const std::string& path) {
  const std::string folder = folder_argument(path);
  std::vector<CheckpointFile> files = list_checkpoints(folder);
  const std::size_t sound = files.size();
  const std::vector<CheckpointFile> suspects = list_suspects(folder);
  files.insert(files.end(), suspects.begin(), suspects.end());
  if (files.empty()) return {"no checkpoints\n", 0};
  std::vector<Examined> examined;
  examined.reserve(files.size());
  for (const CheckpointFile& file : files) examined.push_back(examine(file.path));
  TrainerState newest;
  for (std::size_t i = 0; i < sound; ++i)
    if (examined[i].verdict.ok()) newest = examined[i].trainer;
  const std::int64_t best = newest.best_metric_name.empty() ? -1 : newest.early_stopping.best_step;
  bool has_best = best < 0;
  std::string out = fmt::format("{:>10}  {:>14}  {}\n", "step", "bytes", "status");
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(files[i].path, error);
    const Examined& one = examined[i];
    const bool counts = i < sound && one.verdict.ok();
    has_best = has_best || (counts && one.trainer.step == best);
    fmt::format_to(std::back_inserter(out), "{:>10}  {:>14}  {}{}{}\n", files[i].step,
                   error ? 0 : bytes,
                   i < sound ? "" : "suspect: ", one.verdict.ok() ? "ok" : one.verdict.problem,
                   counts ? marks_of(one.trainer, newest) : "");
  }
  if (!has_best)
    out +=
        fmt::format("the best was step {}, which has no checkpoint: {}\n", best, best_text(newest));
  return {out, 0};
}

CommandResult checkpoint_inspect(const std::string& path) {
  const CheckpointReader reader = open_checkpoint(path);
  const TrainerState& trainer = reader.trainer();
  return {fmt::format("{}: {} bytes, format {}, written by lockstep {}\n{}{}config:\n{}",
                      reader.path(), reader.file_bytes(), trainer.format_version,
                      trainer.lockstep_version, trainer_text(trainer),
                      tensors_text(reader.tensors()), indented(reader.config_yaml())),
          0};
}

CommandResult checkpoint_verify(const std::string& path) {
  std::vector<CheckpointFile> files;
  if (is_folder(path)) {
    files = list_checkpoints(checkpoint_folder_of(path));
    if (files.empty()) return {fmt::format("{}: no checkpoints\n", path), kFailed};
  } else {
    files.push_back({0, path});
  }
  CommandResult result{"", 0};
  for (const CheckpointFile& file : files) {
    const FileVerdict verdict = examine(file.path).verdict;
    result.text += fmt::format("{}: {}\n", file.path, verdict.ok() ? "ok" : verdict.problem);
    if (!verdict.ok()) result.status = kFailed;
  }
  return result;
}

CommandResult checkpoint_hash(const std::string& path) {
  const CheckpointReader reader = open_checkpoint(path);
  const TrainerState& trainer = reader.trainer();
  CommandResult out{state_hash(reader) + "\n", 0};
  if (!trainer.instruction_set.empty())
    out.note = fmt::format("computed with {} on {}; elsewhere the same run may have another hash\n",
                           trainer.instruction_set, trainer.cpu_models);
  return out;
}

CommandResult checkpoint_prune(const std::string& path, int keep_last) {
  LS_USER_CHECK(keep_last >= 1, "ckpt prune keeps at least 1 checkpoint, not {}", keep_last);
  const std::string folder = folder_argument(path);
  const CheckpointReader newest = open_checkpoint(folder);
  const std::vector<std::string> removed =
      prune_checkpoints(folder, {.keep_last = keep_last, .keep_best = true},
                        marked_steps(newest.trainer()), newest.path(), Log::null());
  std::string out;
  for (const std::string& file : removed) out += fmt::format("removed {}\n", file);
  out += fmt::format("kept {}\n", list_checkpoints(folder).size());
  return {out, 0};
}

}  // namespace lockstep

#include "checkpoint/commit.h"

#include <filesystem>

#include "checkpoint/file_format.h"
#include "checkpoint/folder.h"
#include "core/base/atomic_file.h"

namespace lockstep {
namespace {

void make_folder(const std::string& folder) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(folder, error);
  if (error) {
    raise(ErrorKind::kCheckpoint, "cannot make the folder {}: {}", folder, error.message());
  }
  if (is_new) sync_folder(parent_folder(folder), ErrorKind::kCheckpoint);
}

[[noreturn]] void raise_out_of_space(const std::string& path, std::uint64_t needed,
                                     const std::string& cause) {
  raise(ErrorKind::kCheckpoint,
        "cannot save the checkpoint {}: {}; it needs {} bytes and {} are free. Earlier checkpoints "
        "are intact. Free space, raise the quota or file size limit, lower keep_last, or save to "
        "another disk",
        path, cause, needed, free_bytes(parent_folder(path)));
}

void write_file(const std::string& path, const CheckpointState& state, PosixFile& file) {
  const std::uint64_t needed = checkpoint_bytes_bound(state);
  try {
    file.reserve(needed);
    file.check_writes();
    write_checkpoint(file, state);
    file.resize(file.size());  // frees reserved but unused space
    file.sync();
  } catch (const Error& e) {
    if (file.ran_out_of_space()) raise_out_of_space(path, needed, e.what());
    if (e.kind() == ErrorKind::kUsage) throw;
    raise(
        ErrorKind::kCheckpoint,
        "cannot save the checkpoint {}: {}. Earlier checkpoints are intact. The disk or the memory "
        "may be faulty",
        path, e.what());
  }
}

// Returns the size of the committed file.
std::uint64_t commit_file(const std::string& path, const CheckpointState& state,
                          Activity activity) {
  AtomicFile target(path, ErrorKind::kCheckpoint);
  target.file().publish_to(activity);
  write_file(path, state, target.file());
  const std::uint64_t bytes = target.file().size();
  target.commit();
  return bytes;
}

SavedCheckpoint save_as(const std::string& folder, const std::string& name,
                        const CheckpointState& state, Log& log, Activity activity) {
  make_folder(folder);
  remove_unfinished_checkpoints(folder, log);
  SavedCheckpoint saved;
  saved.path = (std::filesystem::path(folder) / name).string();
  saved.bytes = commit_file(saved.path, state, activity);
  log.info("saved {} ({} bytes)", saved.path, saved.bytes);
  return saved;
}

void require_step(const CheckpointState& state) {
  LS_USER_CHECK(state.trainer.step >= 0, "a checkpoint cannot be of step {}", state.trainer.step);
}

}  // namespace

SavedCheckpoint save_checkpoint(const std::string& folder, const CheckpointState& state,
                                const Retention& retention, Log& log, Activity activity) {
  require_step(state);
  SavedCheckpoint saved =
      save_as(folder, checkpoint_file_name(state.trainer.step), state, log, activity);
  saved.pruned = prune_checkpoints(folder, retention, marked_steps(state.trainer), saved.path, log);
  for (const std::string& path : saved.pruned) log.debug(1, "pruned {}", path);
  return saved;
}

SavedCheckpoint save_suspect_checkpoint(const std::string& folder, const CheckpointState& state,
                                        Log& log, Activity activity) {
  require_step(state);
  return save_as(folder, suspect_file_name(state.trainer.step), state, log, activity);
}

SavedCheckpoint save_checkpoint(const std::string& folder, const CheckpointState& state, Log& log) {
  return save_checkpoint(folder, state, Retention{}, log);
}

void remove_unfinished_checkpoints(const std::string& folder, Log& log) {
  for (const std::string& name : remove_stale_temporaries(folder, kCheckpointPrefix)) {
    log.info("removed the unfinished checkpoint {}/{} of a writer that died", folder, name);
  }
}

}  // namespace lockstep

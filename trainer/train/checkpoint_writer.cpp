#include "trainer/train/checkpoint_writer.h"

#include <fmt/ranges.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "checkpoint/commit.h"
#include "checkpoint/folder.h"
#include "checkpoint/verify.h"
#include "core/base/span_kinds.h"
#include "core/base/spans.h"
#include "core/engine/nonfinite.h"

namespace lockstep {
namespace {

/// A state that grew so much between two saves has blown up.
constexpr double kAbsurdGrowth = 1e4;
/// Parameters below this are never too large, since some models start with zeros.
constexpr double kMinMagnitude = 1;

/// Only advice, so that a refusal is not an error: the first touch of this memory in pages of 4 KiB
/// takes a second.
void prefer_huge_pages(std::span<std::byte> bytes) {
  constexpr std::uintptr_t kPage = 4096;
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::size_t skipped = (kPage - address % kPage) % kPage;
  if (skipped + kPage <= bytes.size())
    (void)madvise(bytes.data() + skipped, bytes.size() - skipped, MADV_HUGEPAGE);
}

}  // namespace

CheckpointWriter::CheckpointWriter(Options options, TrainingState& state, SpanStream& spans,
                                   Log& log)
    : options_(std::move(options)),
      state_(state),
      spans_(spans),
      log_(log),
      start_(state.progress),
      good_on_file_(state.progress.good_step),
      phase_(options_.reserve ? Phase::kReserving : Phase::kIdle),
      thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), "checkpoint");
}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CheckpointWriter::submit(Engine& engine) {
  std::unique_lock lock(mutex_);
  await_idle(lock);
  if (!problem_.text.empty() && problem_.kind == ErrorKind::kCheckpoint) {
    engine.snapshot({}, {});  // as on all ranks
    return;
  }
  if (staging_.model.empty()) reserve();
  staging_.trainer = state_.progress;
  staging_.config_yaml = options_.config_yaml;
  std::vector<Tensor> values;
  std::vector<HostTensor> places;
  for (const StateTensor& tensor : state_tensors(state_)) {
    if (!is_saved(tensor)) continue;
    values.push_back(*tensor.value);
    places.push_back(staged(tensor));
  }
  values.push_back(state_.state_finite);
  places.push_back(state_finite_);
  copied_ = engine.snapshot(values, std::move(places));
  phase_ = Phase::kSubmitted;
}

void CheckpointWriter::set_judgement(const TrainerState& judged) {
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::kSubmitted) return;
  staging_.trainer.good_step = judged.good_step;
  staging_.trainer.confirmation = judged.confirmation;
  staging_.trainer.losses = judged.losses;
}

void CheckpointWriter::release() {
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::kSubmitted) return;
    phase_ = Phase::kReleased;
  }
  changed_.notify_all();
}

SaveProblem CheckpointWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return phase_ != Phase::kReleased; });
  return problem_;
}

bool CheckpointWriter::failed() const {
  const std::lock_guard lock(mutex_);
  return !problem_.text.empty() && problem_.kind == ErrorKind::kCheckpoint;
}

double CheckpointWriter::last_write_seconds() const {
  const std::lock_guard lock(mutex_);
  return last_write_seconds_;
}

bool CheckpointWriter::is_writing() const {
  const std::lock_guard lock(mutex_);
  return phase_ == Phase::kSubmitted || phase_ == Phase::kReleased;
}

std::int64_t CheckpointWriter::staging_bytes(TrainingState& state) {
  std::int64_t bytes = 0;
  for (const StateTensor& tensor : state_tensors(state))
    if (is_saved(tensor)) bytes += static_cast<std::int64_t>(tensor.type.bytes());
  return bytes;
}

void CheckpointWriter::await_idle(std::unique_lock<std::mutex>& lock) const {
  changed_.wait(lock, [this] { return phase_ == Phase::kIdle; });
}

void CheckpointWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] {
      return stop_ || phase_ == Phase::kReserving || phase_ == Phase::kReleased;
    });
    if (phase_ == Phase::kReserving) {
      lock.unlock();
      try {
        reserve();
      } catch (const std::bad_alloc&) {
        staging_ = {};  // submit() will fail in the same way, and can report it
      }
      lock.lock();
    } else if (phase_ == Phase::kReleased) {
      lock.unlock();
      const std::int64_t begin = spans_.clock().now_ns();
      SaveProblem problem = write();
      lock.lock();
      last_write_seconds_ = seconds_since(spans_.clock(), begin);
      problem_ = std::move(problem);
    } else {
      return;
    }
    phase_ = Phase::kIdle;
    changed_.notify_all();
  }
}

HostTensor& CheckpointWriter::staged(const StateTensor& tensor) {
  return tensor.slot.empty() ? staging_.model[tensor.name]
                             : staging_.optimizer[tensor.slot][tensor.name];
}

// A copy into memory that was never touched would be bound by its page faults.
void CheckpointWriter::reserve() {
  for (const StateTensor& tensor : state_tensors(state_)) {
    if (!is_saved(tensor)) continue;
    HostTensor& out = staged(tensor);
    out = HostTensor(tensor.type.dtype, tensor.type.shape);
    prefer_huge_pages(out.bytes());
    std::memset(out.bytes().data(), 0, out.bytes().size());
    options_.activity.progress();  // the first save may wait for it
  }
  state_finite_ = HostTensor::scalar<bool>(false);
}

SaveProblem CheckpointWriter::write() {
  const std::int64_t step = staging_.trainer.step;
  const ScopedSpan span(spans_, SpanKind::kCheckpoint, step);
  try {
    copied_->wait();
  } catch (const Error&) {
    return {};  // the run ends with it
  }
  if (!state_finite_.as<bool>()[0]) return {};  // also: an earlier step was not finite
  if (const std::string bad = find_nonfinite(); !bad.empty())
    return {ErrorKind::kNonFinite,
            fmt::format("step {}: {} is not finite, so the state was not saved; earlier "
                        "checkpoints are intact",
                        step, bad)};
  double magnitude = 0;
  for (const Parameter& parameter : state_.module.parameters().all())
    magnitude = std::max(magnitude, largest_magnitude(staging_.model.at(parameter.name)));
  const double limit = kAbsurdGrowth * std::max(options_.good_magnitude, kMinMagnitude);
  try {
    if (magnitude > limit) return save_suspect(magnitude);
    save(magnitude);
  } catch (const Error& e) {
    return {ErrorKind::kCheckpoint, fmt::format("step {}: {}", step, e.what())};
  } catch (const std::exception& e) {
    return {ErrorKind::kCheckpoint, fmt::format("step {}: cannot save: {}", step, e.what())};
  }
  return {};
}

// The good state may have been suspect, or its file removed: then the previous one is still kept.
void CheckpointWriter::save(double magnitude) {
  TrainerState& trainer = staging_.trainer;
  if (trainer.good_step != trainer.step && trainer.good_step != start_.step &&
      !has_file(trainer.good_step))
    trainer.good_step = good_on_file_;
  const std::int64_t begin = spans_.clock().now_ns();
  save_checkpoint(options_.folder, staging_, options_.retention, log_, options_.activity);
  if (options_.on_saved) options_.on_saved(trainer.step, seconds_since(spans_.clock(), begin));
  options_.good_magnitude = magnitude;
  good_on_file_ = trainer.good_step;
  if (trainer.confirmation == Confirmation::kDoubtful) save_start(trainer);
}

SaveProblem CheckpointWriter::save_suspect(double magnitude) {
  const std::string path =
      save_suspect_checkpoint(options_.folder, staging_, log_, options_.activity).path;
  remove_other_suspects(path);
  SaveProblem out{
      ErrorKind::kNonFinite,
      fmt::format(
          "step {}: the largest parameter is {:.3g}, in the last good state it was {:.3g}: the "
          "state was saved as {} and is not a checkpoint; earlier checkpoints are intact. Lower {} "
          "or set {}, and resume",
          staging_.trainer.step, magnitude, options_.good_magnitude, path,
          setting_name(options_.settings_of, "optimizer.learning_rate"),
          setting_name(options_.settings_of, "training.gradient_clip_norm"))};
  log_.warn("{}", out.text);
  save_start(staging_.trainer);
  return out;
}

// Uses the memory of the state that was just saved, which is no longer needed.
void CheckpointWriter::save_start(TrainerState now) {
  if (!options_.make_start || has_file(good_on_file_) || has_file(start_.step)) return;
  TrainerState trainer = start_;
  trainer.good_step = start_.step;
  trainer.confirmation = Confirmation::kConfirmed;
  // Members that are not counters are set only when the run begins.
  trainer.seed = now.seed;
  trainer.dataset_digest = std::move(now.dataset_digest);
  trainer.tokenizer = std::move(now.tokenizer);
  trainer.samples = std::move(now.samples);
  try {
    if (staging_.model.empty()) reserve();
    options_.make_start(staging_);
    staging_.trainer = std::move(trainer);
    staging_.config_yaml = options_.config_yaml;
    save_checkpoint(options_.folder, staging_, log_);
    good_on_file_ = start_.step;
  } catch (const std::exception& e) {
    log_.warn("the run's initial state cannot be saved: {}", e.what());
  }
}

bool CheckpointWriter::has_file(std::int64_t step) const {
  const auto path = std::filesystem::path(options_.folder) / checkpoint_file_name(step);
  return verify_header(path.string()).ok();
}

std::string CheckpointWriter::go_back_to_good() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return phase_ == Phase::kIdle || phase_ == Phase::kSubmitted; });
    phase_ = Phase::kIdle;  // the engine is idle, so that nothing writes to the staging memory
  }
  if (has_file(state_.progress.good_step)) good_on_file_ = state_.progress.good_step;
  save_start(state_.progress);
  if (!has_file(good_on_file_)) return "";
  const std::vector<std::string> aside = set_aside_after(options_.folder, good_on_file_, log_);
  return fmt::format(
      "step {} is the newest state that is known to be good, and {} continues from it{}{}",
      good_on_file_, resume_setting(options_.settings_of),
      aside.empty() ? "" : "; set aside, no longer checkpoints: ", fmt::join(aside, ", "));
}

void CheckpointWriter::remove_other_suspects(const std::string& kept) {
  for (const CheckpointFile& file : list_suspects(options_.folder)) {
    std::error_code error;
    if (file.path != kept && !std::filesystem::remove(file.path, error))
      log_.warn("cannot remove {}: {}", file.path, error.message());
  }
}

std::string CheckpointWriter::find_nonfinite() const {
  const auto find = [](const NamedTensors& tensors) -> std::string {
    for (const auto& [name, tensor] : tensors)
      if (!all_finite(tensor.dtype(), tensor.bytes().data(), tensor.shape().elements()))
        return name;
    return "";
  };
  if (std::string name = find(staging_.model); !name.empty()) return "parameter " + name;
  for (const auto& [slot, tensors] : staging_.optimizer)
    if (const std::string name = find(tensors); !name.empty())
      return fmt::format("{} of {}", slot, name);
  return "";
}

}  // namespace lockstep

#include "trainer/train/run_saves.h"

#include <functional>
#include <utility>
#include <vector>

#include "checkpoint/file_format.h"
#include "core/base/duration.h"
#include "trainer/train/rehearsed_deaths.h"

namespace lockstep {

namespace {

/// See CheckpointWriter::Options::make_start.
std::function<void(CheckpointState&)> start_of(const RunSpec& spec, TrainingState& state,
                                               const std::string& resumed_from) {
  if (spec.options.checkpoint.save_interval <= 0) return nullptr;
  if (!resumed_from.empty())
    return [path = resumed_from](CheckpointState& tensors) {
      read_again(CheckpointReader(path), tensors);
    };
  return [&state, seed = spec.options.seed, values = spec.values](CheckpointState& tensors) {
    draw_again(state, seed, values, tensors);
  };
}

}  // namespace

RunSaves::RunSaves(const RunSpec& spec, TrainingState& state, RankRuntime& runtime,
                   RehearsedDeaths& deaths, const std::string& resumed_from)
    : state_(state),
      runtime_(runtime),
      watch_(runtime.watch()),
      settings_of_(spec.settings_of),
      judge_(state.progress) {
  const bool resumed = !resumed_from.empty();
  if (resumed)
    saved_step_ = step();
  else
    state.progress.good_step = step();
  if (!runtime.is_master() || !spec.folder) return;
  const CheckpointConfig& saving = spec.options.checkpoint;
  CheckpointWriter::Options writing;
  writing.folder = spec.folder->checkpoints;
  writing.retention = {.keep_last = static_cast<int>(saving.keep_last),
                       .keep_best = saving.keep_best};
  writing.config_yaml = spec.config_text;
  writing.settings_of = spec.settings_of;
  if (resumed) writing.retention.begun_at = step();
  writing.good_magnitude = state.initial_magnitude;
  writing.make_start = start_of(spec, state, resumed_from);
  writing.activity = runtime.activity();
  writing.on_saved = [&deaths](std::int64_t saved_step, double seconds) {
    deaths.add_save(saved_step, seconds);
  };
  writing.reserve = saving.save_interval > 0 || saving.keep_best;
  writer_.emplace(std::move(writing), state, runtime.spans(), runtime.log());
}

void RunSaves::save() {
  runtime_.activity().begin(Phase::kSnapshot, step());
  saved_step_ = step();
  if (writer_) {
    writer_->submit(runtime_.engine());
  } else {
    runtime_.engine().snapshot({}, {});  // to be compared with what the master copies
  }
}

void RunSaves::judge(const std::optional<StepEvidence>& next) {
  if (const std::string news = judge_.settle(saved_step_, next); !news.empty())
    runtime_.log().warn("{}", news);
}

void RunSaves::release() {
  if (!writer_) return;
  writer_->set_judgement(state_.progress);
  writer_->release();
}

std::string RunSaves::go_back_to_good() {
  runtime_.activity().begin(Phase::kWrite, step());
  const std::string mine = writer_ ? writer_->go_back_to_good() : "";
  return runtime_.communicator().exchange("went back", mine)[0];
}

void RunSaves::wait() {
  if (writer_) writer_->wait();
}

void RunSaves::finish() {
  runtime_.activity().begin(Phase::kWrite, step());
  SaveProblem problem;
  if (writer_) problem = writer_->wait();
  Communicator& communicator = runtime_.communicator();
  const std::string kind = problem.kind == ErrorKind::kNonFinite ? "suspect" : "failed";
  const std::vector<std::string> texts = communicator.exchange("checkpoint saved", problem.text);
  if (texts[0].empty()) return;
  if (communicator.exchange("saved how", kind)[0] != "suspect")
    raise(ErrorKind::kCheckpoint, "{}", texts[0]);
  const std::string back = go_back_to_good();
  raise(ErrorKind::kNonFinite, "{}{}{}", texts[0], back.empty() ? "" : "; ", back);
}

// An interrupted mpirun kills its ranks one second after it has signalled them. A write in progress
// gets that second; a new one starts only if it needs half of it. All ranks decide alike.
bool RunSaves::has_time() {
  constexpr double kHurriedWrite = 0.5;  // seconds
  if (saved_step_ == step()) return true;
  const double last = writer_ ? writer_->last_write_seconds() : 0;
  const std::string mine = fmt::format("{}{}", watch_.stop_is_hurried() ? "hurried" : "",
                                       last < kHurriedWrite ? "" : " slow");
  bool hurried = false;
  bool slow = false;
  for (const std::string& text : runtime_.communicator().exchange("time to save", mine)) {
    hurried = hurried || text.starts_with("hurried");
    slow = slow || text.ends_with("slow");
  }
  if (hurried && writer_) say_what_is_saved(slow);
  return !hurried || !slow;
}

void RunSaves::say_what_is_saved(bool slow) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the caller sees to it
  const std::string_view before = writer_->is_writing() ? "that of step {} is being written"
                                                        : "the last checkpoint is of step {}";
  const std::string saved =
      saved_step_ < 0 ? "nothing was saved" : fmt::format(fmt::runtime(before), saved_step_);
  if (slow)
    runtime_.log().warn(
        "asked to stop by mpirun, which kills the ranks within a second: step {} is NOT saved, as "
        "the last save took {}; {}. Send SIGUSR1 to mpirun{} to save all steps",
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): as above
        step(), readable_time(writer_->last_write_seconds()), saved,
        settings_of_ == SettingsOf::kConfig ? ", or use lockstep launch," : "");
  else
    runtime_.log().info(
        "asked to stop by mpirun, which kills the ranks within a second: saving step {} at once; "
        "{}",
        step(), saved);
}

}  // namespace lockstep

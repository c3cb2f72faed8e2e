#include "checkpoint/trainer_attributes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <span>

#include "checkpoint/header_block.h"

namespace lockstep {
namespace {

constexpr std::string_view kSchedulePrefix = "schedule.";
constexpr char kEvaluatedStep[] = "evaluated_step";
constexpr char kBestMetricName[] = "best_metric_name";
constexpr char kBestMetricMode[] = "best_metric_mode";
constexpr char kGoodStep[] = "good_step";
constexpr char kConfirmation[] = "confirmation";
constexpr char kRecentLosses[] = "recent_losses";
constexpr std::array<std::string_view, 3> kConfirmations = {"open", "confirmed", "doubtful"};

// Visits every attribute with its name, both for writing and for reading.
template <class Trainer, class Visit>
void for_each_attribute(Trainer& trainer, Visit visit) {
  visit("step", trainer.step);
  visit("epoch", trainer.epoch);
  visit("sample_position", trainer.sample_position);
  visit(kEvaluatedStep, trainer.evaluated_step);
  visit("seed", trainer.seed);
  visit("schedule", trainer.schedule.name);
  visit("best_metric", trainer.best_metric);
  visit(kBestMetricName, trainer.best_metric_name);
  visit(kBestMetricMode, trainer.best_metric_mode);
  visit("best_step", trainer.early_stopping.best_step);
  visit("bad_evaluations", trainer.early_stopping.bad_evaluations);
  visit(kGoodStep, trainer.good_step);
  visit("loss_level", trainer.losses.level);
  visit("least_spread", trainer.losses.least_spread);
  visit("largest_norm", trainer.losses.largest_norm);
  visit("lowest_evaluation", trainer.losses.lowest_evaluation);
  visit("dataset_digest", trainer.dataset_digest);
  visit("instruction_set", trainer.instruction_set);
  visit("cpu_models", trainer.cpu_models);
  visit("format_version", trainer.format_version);
  visit("lockstep_version", trainer.lockstep_version);
}

/// Earlier versions of lockstep did not save these; their files are read, too.
bool may_be_missing(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames = {
      "instruction_set", "cpu_models", kEvaluatedStep, kBestMetricName, kBestMetricMode,
      kGoodStep,         "loss_level", "least_spread", "largest_norm",  "lowest_evaluation"};
  return std::ranges::find(kNames, name) != kNames.end();
}

/// Fills in values that files of earlier versions do not have. Their best was most likely that of
/// the default metric, and every kept checkpoint counted as good.
void fill_in(const std::map<std::string, Hdf5Attribute>& attributes, TrainerState& trainer) {
  if (!attributes.contains(kEvaluatedStep)) trainer.evaluated_step = trainer.step;
  if (!attributes.contains(kBestMetricName) && trainer.early_stopping.best_step >= 0) {
    trainer.best_metric_name = "eval/loss";
    trainer.best_metric_mode = "min";
  }
  if (!attributes.contains(kGoodStep)) trainer.good_step = trainer.step;
}

/// Numbers separated by blanks; none if the text has anything else.
std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    double value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || (next != end && *next != ' ')) return {};
    out.push_back(value);
    at = next == end ? end : next + 1;
  }
  return out;
}

/// Attributes that are not scalars, and so are not visited.
void write_judgement(Hdf5File& file, const TrainerState& trainer) {
  file.set_attribute(
      kTrainer, kConfirmation,
      std::string(kConfirmations.at(static_cast<std::size_t>(trainer.confirmation))));
  file.set_attribute(kTrainer, kRecentLosses,
                     fmt::format("{}", fmt::join(trainer.losses.recent, " ")));
}

/// Whether `name` is one of them; reads it.
bool read_judgement(const std::string& name, const Hdf5Attribute& value, TrainerState& trainer,
                    const std::string& path) {
  if (name != kConfirmation && name != kRecentLosses) return false;
  const auto* text = std::get_if<std::string>(&value);
  const auto refuse = [&] {
    raise(ErrorKind::kCheckpoint, "{}: the attribute {} of {} is not what lockstep writes", path,
          name, kTrainer);
  };
  if (text == nullptr) refuse();
  if (name == kRecentLosses) {
    trainer.losses.recent = numbers_of(*text);
    const auto is_finite = [](double loss) { return std::isfinite(loss); };
    if (trainer.losses.recent.empty() != text->empty() ||
        !std::ranges::all_of(trainer.losses.recent, is_finite))
      refuse();
    return true;
  }
  const auto found = std::ranges::find(kConfirmations, *text);
  if (found == kConfirmations.end()) refuse();
  trainer.confirmation = static_cast<Confirmation>(found - kConfirmations.begin());
  return true;
}

void check_ranges(const TrainerState& trainer, const std::string& path) {
  const auto check = [&](const char* name, std::int64_t value, std::int64_t min) {
    if (value >= min) return;
    raise(ErrorKind::kCheckpoint, "{}: the attribute {} of {} is {}, which is below {}", path, name,
          kTrainer, value, min);
  };
  check("step", trainer.step, 0);
  check("epoch", trainer.epoch, 0);
  check("sample_position", trainer.sample_position, 0);
  check("evaluated_step", trainer.evaluated_step, -1);
  check("best_step", trainer.early_stopping.best_step, -1);
  check("bad_evaluations", trainer.early_stopping.bad_evaluations, 0);
  check(kGoodStep, trainer.good_step, -1);
}

}  // namespace

void write_trainer(Hdf5File& file, const TrainerState& trainer) {
  TrainerState stamped = trainer;
  stamped.format_version = kFormatVersion;
  stamped.lockstep_version = LOCKSTEP_VERSION;
  file.create_group(kTrainer);
  for_each_attribute(stamped, [&](const char* name, const auto& value) {
    file.set_attribute(kTrainer, name, value);
  });
  write_judgement(file, stamped);
  for (const auto& [key, value] : stamped.schedule.values) {
    file.set_attribute(kTrainer, std::string(kSchedulePrefix) + key, value);
  }
  const auto write_text = [&](const char* name, const std::string& text) {
    const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    file.write_tensor(name, HostTensor::of({static_cast<std::int64_t>(text.size())}, bytes));
  };
  write_text(kTokenizer, trainer.tokenizer);
  if (!trainer.samples.empty()) write_text(kSamples, trainer.samples);
}

std::string text_of(const HostTensor& bytes, const char* name, const std::string& path) {
  if (bytes.dtype() != DType::kU8 || bytes.shape().rank() != 1) {
    raise(ErrorKind::kCheckpoint, "{}: {} is {}{}, not u8 of one dimension", path, name,
          name_of(bytes.dtype()), bytes.shape().to_string());
  }
  const auto elements = bytes.as<const std::uint8_t>();
  return {elements.begin(), elements.end()};
}

TrainerState read_trainer(const std::map<std::string, Hdf5Attribute>& attributes,
                          const std::string& path) {
  TrainerState trainer;
  std::set<std::string> known;
  for_each_attribute(trainer, [&](const char* name, auto& value) {
    known.insert(name);
    const auto found = attributes.find(name);
    if (found == attributes.end() && may_be_missing(name)) return;
    const auto* stored =
        found == attributes.end()
            ? nullptr
            : std::get_if<std::remove_reference_t<decltype(value)>>(&found->second);
    if (stored == nullptr) {
      raise(ErrorKind::kCheckpoint, "{}: the attribute {} of {} is {}", path, name, kTrainer,
            found == attributes.end() ? "missing" : "of another type");
    }
    value = *stored;
  });
  for (const auto& [name, value] : attributes) {
    if (known.contains(name) || read_judgement(name, value, trainer, path)) continue;
    const auto* number = std::get_if<double>(&value);
    if (!name.starts_with(kSchedulePrefix) || number == nullptr) {
      raise(ErrorKind::kCheckpoint, "{}: the attribute {} of {} is unknown to this lockstep", path,
            name, kTrainer);
    }
    trainer.schedule.values[name.substr(kSchedulePrefix.size())] = *number;
  }
  fill_in(attributes, trainer);
  check_ranges(trainer, path);
  return trainer;
}

}  // namespace lockstep

#include "trainer/config/warnings.h"

#include <fmt/format.h>

#include "trainer/datasets/image_settings.h"

namespace lockstep {
namespace {

class Warnings {
 public:
  explicit Warnings(const LoadedConfig& loaded) : loaded_(loaded) {}

  template <class... Args>
  void add(std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
    all_.push_back(fmt::format("{}: '{}' {}", loaded_.where(key), key,
                               fmt::format(format, std::forward<Args>(args)...)));
  }
  /// For a key that is given with a value other than its default, although it has no effect because
  /// of `reason`.
  template <class T>
  void add_if_given(std::string_view key, const T& value, const T& otherwise,
                    std::string_view reason) {
    if (loaded_.origins.contains(key) && value != otherwise) add(key, "has no effect: {}", reason);
  }
  std::vector<std::string> take() { return std::move(all_); }

 private:
  const LoadedConfig& loaded_;
  std::vector<std::string> all_;
};

void check_warmup(const Config& c, const Registry& registry, std::int64_t steps, Warnings& out) {
  const std::int64_t warmup = c.scheduler.warmup_steps;
  if (warmup == 0 || steps == 0 || warmup < steps) return;
  const double peak = registry.make_optimizer(c.optimizer).learning_rate();
  out.add("scheduler.warmup_steps",
          "{} takes all of the run's {} steps: the learning rate rises to {:.4g} of "
          "'optimizer.learning_rate' {:.4g}, and the run ends; lower it or raise "
          "'training.max_steps'",
          warmup, steps, peak * static_cast<double>(steps) / static_cast<double>(warmup), peak);
}

/// The first evaluation is always the best so far, and a stop at the last step has no effect.
void check_patience(const Config& c, std::int64_t steps, Warnings& out) {
  if (c.early_stopping.patience == 0 || c.eval.interval == 0 || steps == 0) return;
  const std::int64_t before_the_end = (steps - 1) / c.eval.interval;
  if (c.early_stopping.patience < before_the_end) return;
  out.add("early_stopping.patience",
          "{} cannot end the run: 'eval.interval' {} makes {} evaluation{} before its last step, "
          "{}; lower one of them",
          c.early_stopping.patience, c.eval.interval, before_the_end,
          before_the_end == 1 ? "" : "s", steps);
}

void check_lengths(const Config& c, const Registry& registry, Warnings& out) {
  if (!registry.at(c.data).varies) return;
  if (c.data.group_by_length > 0 && c.data.padding == PaddingMode::kMax)
    out.add("data.group_by_length",
            "saves nothing with 'data.padding: max', which pads all samples to one length; choose "
            "longest or bucket");
  if (!c.data.buckets.empty())
    out.add_if_given("data.max_buckets", c.data.max_buckets, Config{}.data.max_buckets,
                     "'data.buckets' gives the lengths");
}

void check_crops(const Config& c, const Registry& registry, Warnings& out) {
  const auto* images = registry.at(c.data).part<ImageSettings>(c.data.keys);
  if (images == nullptr) return;
  const Augmentation& changes = images->augmentation;
  if (changes.random_resized_crop) return;
  constexpr std::string_view kReason = "it is for 'data.random_resized_crop: true'";
  out.add_if_given("data.crop_scale", changes.crop_scale, Augmentation{}.crop_scale, kReason);
  out.add_if_given("data.crop_ratio", changes.crop_ratio, Augmentation{}.crop_ratio, kReason);
}

}  // namespace

std::vector<std::string> config_warnings(const LoadedConfig& loaded, const Registry& registry,
                                         std::int64_t steps) {
  const Config& c = loaded.config;
  const Config otherwise;
  Warnings out(loaded);
  check_warmup(c, registry, steps, out);
  check_patience(c, steps, out);
  check_lengths(c, registry, out);
  check_crops(c, registry, out);
  if (c.training.on_nonfinite == OnNonfinite::kStop)
    out.add_if_given("training.max_skipped_steps", c.training.max_skipped_steps,
                     otherwise.training.max_skipped_steps,
                     "with 'training.on_nonfinite: stop' no step is skipped");
  if (c.device.compile_cache == "off")
    out.add_if_given("device.compile_cache_gb", c.device.compile_cache_gb,
                     otherwise.device.compile_cache_gb, "'device.compile_cache' is off");
  return out.take();
}

}  // namespace lockstep

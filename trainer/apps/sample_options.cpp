#include "trainer/apps/sample_options.h"

#include <fmt/ranges.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Refuses options that have no effect beside the others.
void check_beam_options(const SampleConfig& sample, const GenerateOptions& options) {
  const bool searches = sample.num_beams > 1;
  std::vector<std::string_view> idle;
  const auto note = [&](bool given, std::string_view name) {
    if (given) idle.push_back(name);
  };
  note(searches && options.temperature, "--temperature");
  note(searches && options.top_k, "--top-k");
  note(searches && options.top_p, "--top-p");
  note(searches && options.seed, "--seed");
  LS_USER_CHECK(idle.empty(),
                "beam search ({} beams) draws no tokens: leave out {}, or give --num-beams 1",
                sample.num_beams, fmt::join(idle, ", "));
  note(!searches && options.length_penalty, "--length-penalty");
  note(!searches && options.early_stopping, "--early-stopping");
  LS_USER_CHECK(idle.empty(),
                "without beam search there is no use for {}: give --num-beams 2 or more",
                fmt::join(idle, ", "));
  LS_USER_CHECK(!searches || sample.num_samples <= sample.num_beams,
                "{} samples of {} beams: beam search has as many continuations as beams; change "
                "--num-samples or --num-beams",
                sample.num_samples, sample.num_beams);
}

}  // namespace

SampleConfig sample_options(const SampleConfig& saved, const GenerateOptions& options) {
  SampleConfig out = saved;
  out.prompt = options.prompt.value_or(out.prompt);
  out.max_new_tokens = options.max_new_tokens.value_or(out.max_new_tokens);
  out.temperature = options.temperature.value_or(out.temperature);
  out.top_k = options.top_k.value_or(out.top_k);
  out.top_p = options.top_p.value_or(out.top_p);
  out.num_samples = options.num_samples.value_or(out.num_samples);
  out.seed = options.seed.value_or(out.seed);
  out.num_beams = options.num_beams.value_or(out.num_beams);
  out.length_penalty = options.length_penalty.value_or(out.length_penalty);
  out.early_stopping = options.early_stopping.value_or(out.early_stopping);
  LS_USER_CHECK(out.max_new_tokens >= 0, "the number of new tokens {} must not be negative",
                out.max_new_tokens);
  LS_USER_CHECK(std::isfinite(out.temperature) && out.temperature >= 0,
                "the temperature {} must be 0 or more", out.temperature);
  LS_USER_CHECK(out.top_k >= 0, "top_k {} must be 0 (all tokens) or more", out.top_k);
  LS_USER_CHECK(out.top_p > 0 && out.top_p <= 1, "top_p {} must be above 0 and at most 1 (all)",
                out.top_p);
  LS_USER_CHECK(out.num_samples > 0, "{} samples: there must be at least one", out.num_samples);
  LS_USER_CHECK(out.num_beams > 0, "{} beams: there must be at least one", out.num_beams);
  LS_USER_CHECK(std::isfinite(out.length_penalty), "the length penalty {} must be a number",
                out.length_penalty);
  check_beam_options(out, options);
  return out;
}

}  // namespace lockstep

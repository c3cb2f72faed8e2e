#include "trainer/generation/beam_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// The sum of a beam that is a copy of the first one. Finite, as Hugging Face has it: with few
/// tokens it may become a hypothesis, which is then behind all others.
constexpr float kCopy = -1e9F;

}  // namespace

BeamSearch::BeamSearch(std::int64_t samples, const BeamOptions& options,
                       std::optional<std::int32_t> end)
    : options_(options), end_(end), samples_(static_cast<std::size_t>(samples)) {
  LS_CHECK(samples > 0 && options.num_beams > 0, "{} samples of {} beams", samples,
           options.num_beams);
  for (Sample& sample : samples_) {
    sample.beams.assign(static_cast<std::size_t>(options.num_beams), Beam{.score = kCopy});
    sample.beams[0].score = 0;
  }
}

BeamSearch::Step BeamSearch::advance(std::span<const float> log_probs) {
  const auto beams = static_cast<std::size_t>(options_.num_beams);
  const std::size_t part = log_probs.size() / samples_.size();
  LS_CHECK(part % beams == 0 && part / beams >= 2 && part * samples_.size() == log_probs.size(),
           "{} log-probabilities for {} samples of {} beams", log_probs.size(), samples_.size(),
           beams);
  ++length_;
  Step out;
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    Sample& sample = samples_[s];
    const auto first = static_cast<std::int32_t>(s * beams);
    if (sample.done) {
      for (std::size_t b = 0; b < beams; ++b) {
        out.rows.push_back(first + static_cast<std::int32_t>(b));
        out.tokens.push_back(end_.value_or(0));
      }
      continue;
    }
    const std::vector<Candidate> ranked = candidates(sample, log_probs.subspan(s * part, part));
    for (const Candidate& next : take(sample, ranked)) {
      out.rows.push_back(first + next.beam);
      out.tokens.push_back(next.token);
    }
    const std::vector<Hypothesis>& found = sample.hypotheses;
    sample.done = found.size() == beams &&
                  (options_.early_stopping || found.back().score >= score_of(ranked[0].score));
  }
  return out;
}

std::vector<BeamSearch::Candidate> BeamSearch::candidates(const Sample& sample,
                                                          std::span<const float> log_probs) const {
  const std::size_t count = 2 * sample.beams.size();
  const std::size_t width = log_probs.size() / sample.beams.size();
  const auto is_better = [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    return std::pair(a.beam, a.token) < std::pair(b.beam, b.token);
  };
  std::vector<Candidate> heap;  // its worst first
  for (std::size_t b = 0; b < sample.beams.size(); ++b) {
    for (std::size_t t = 0; t < width; ++t) {
      const float score = log_probs[b * width + t] + sample.beams[b].score;
      if (heap.size() == count) {
        if (!(score > heap.front().score)) continue;  // of equal ones the earlier stays
        std::ranges::pop_heap(heap, is_better);
        heap.pop_back();
      }
      heap.push_back({score, static_cast<std::int32_t>(b), static_cast<std::int32_t>(t)});
      std::ranges::push_heap(heap, is_better);
    }
  }
  std::ranges::sort_heap(heap, is_better);
  return heap;
}

std::vector<BeamSearch::Candidate> BeamSearch::take(Sample& sample,
                                                    const std::vector<Candidate>& from) const {
  const std::size_t beams = sample.beams.size();
  std::vector<Candidate> chosen;
  for (std::size_t rank = 0; rank < from.size() && chosen.size() < beams; ++rank) {
    const Candidate& candidate = from[rank];
    if (candidate.token != end_) {
      chosen.push_back(candidate);
    } else if (rank < beams) {
      add(sample, sample.beams[static_cast<std::size_t>(candidate.beam)].tokens, candidate.score,
          true);
    }
  }
  LS_CHECK(chosen.size() == beams, "{} candidates for {} beams", chosen.size(), beams);
  std::vector<Beam> next;
  for (const Candidate& candidate : chosen) {
    next.push_back(
        {candidate.score, sample.beams[static_cast<std::size_t>(candidate.beam)].tokens});
    next.back().tokens.push_back(candidate.token);
  }
  sample.beams = std::move(next);
  return chosen;
}

void BeamSearch::add(Sample& sample, std::vector<std::int32_t> tokens, float sum,
                     bool ended) const {
  const Hypothesis one{std::move(tokens), score_of(sum), ended};
  std::vector<Hypothesis>& kept = sample.hypotheses;
  kept.insert(std::ranges::upper_bound(kept, one.score, std::greater(), &Hypothesis::score), one);
  if (kept.size() > sample.beams.size()) kept.pop_back();
}

double BeamSearch::score_of(float sum) const {
  return sum /
         std::pow(static_cast<double>(std::max<std::int64_t>(length_, 1)), options_.length_penalty);
}

bool BeamSearch::done() const {
  return std::ranges::all_of(samples_, &Sample::done);
}

std::vector<std::vector<Hypothesis>> BeamSearch::finish() const {
  std::vector<std::vector<Hypothesis>> out;
  for (Sample sample : samples_) {
    for (std::size_t b = 0; !sample.done && b < sample.beams.size(); ++b)
      add(sample, sample.beams[b].tokens, sample.beams[b].score, false);
    out.push_back(std::move(sample.hypotheses));
  }
  return out;
}

}  // namespace lockstep

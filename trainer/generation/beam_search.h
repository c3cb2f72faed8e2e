// Beam search over tokens: of all continuations of a sample the likeliest `num_beams` are kept,
// token by token, and hypotheses, which have ended or are left at the end, are ranked by a score.
//
// The rules are those of Hugging Face's BeamSearchScorer (transformers 4.36 and later), the search
// behind generate(num_beams=N, do_sample=False):
// - A step's candidates are the 2 N likeliest pairs of a beam and a token, by the beam's sum of
//   log-probabilities, in f32. Of equal ones the lower beam is first, then the lower token.
// - An end among the first N candidates makes a hypothesis; one after them is dropped. The first N
//   other candidates are the next beams.
// - A hypothesis' score is its sum / length ** length_penalty; the length is that of the generated
//   tokens, with the end. A sample keeps the N best; of equal ones the earlier.
// - A sample with N hypotheses is done: with `early_stopping` at once, else when the step's best
//   candidate, divided by the present length ** length_penalty, is no better than its worst
//   hypothesis. With a positive penalty a longer sequence could still be better: a heuristic.
// - In the beginning the beams of a sample are equal, so all but the first are worth -1e9.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lockstep {

struct BeamOptions {
  std::int64_t num_beams = 1;
  double length_penalty = 1.0;  ///< above 0 prefers long hypotheses, below 0 short ones
  bool early_stopping = false;  ///< the first num_beams hypotheses are enough
};

struct Hypothesis {
  std::vector<std::int32_t> tokens;  ///< generated ones, without the end
  double score = 0;
  bool ended = false;
};

/// The state of the search for some samples, which do not depend on each other. A sample's beams
/// are consecutive rows: those of sample s begin with row s * num_beams.
class BeamSearch {
 public:
  /// What follows a step: row i becomes what row `rows[i]` of the same sample was, and then has one
  /// more token, tokens[i].
  struct Step {
    std::vector<std::int32_t> rows;
    std::vector<std::int32_t> tokens;
  };

  /// `end`: the token that ends a text; nothing: none does.
  BeamSearch(std::int64_t samples, const BeamOptions& options, std::optional<std::int32_t> end);

  /// Takes the log-probabilities of each row's next token, [rows,V] row after row, V >= 2. Rows of
  /// a sample that is done do not matter and stay in their order.
  Step advance(std::span<const float> log_probs);
  /// Whether all samples are done.
  bool done() const;
  /// Each sample's num_beams best hypotheses, the best first. Beams of samples that are not done
  /// are hypotheses, too.
  std::vector<std::vector<Hypothesis>> finish() const;

 private:
  struct Candidate {
    float score;
    std::int32_t beam;
    std::int32_t token;
  };
  struct Beam {
    float score = 0;  ///< the sum of its tokens' log-probabilities
    std::vector<std::int32_t> tokens = {};
  };
  struct Sample {
    std::vector<Beam> beams;
    std::vector<Hypothesis> hypotheses;  ///< the best first
    bool done = false;
  };

  std::vector<Candidate> candidates(const Sample& sample, std::span<const float> log_probs) const;
  /// Makes hypotheses and the next beams of a step's candidates. Returns the beams' candidates.
  std::vector<Candidate> take(Sample& sample, const std::vector<Candidate>& from) const;
  void add(Sample& sample, std::vector<std::int32_t> tokens, float sum, bool ended) const;
  double score_of(float sum) const;

  BeamOptions options_;
  std::optional<std::int32_t> end_;
  std::vector<Sample> samples_;
  std::int64_t length_ = 0;  ///< steps taken: tokens generated, with the end
};

}  // namespace lockstep

// Learning rates: pure functions of the step, computed in double, so that a resumed run continues
// with exactly the rates it would have had.
//
// With peak = optimizer.learning_rate, w = scheduler.warmup_steps, d = scheduler.decay_steps (the
// length of the run if 0) and m = scheduler.min_lr, step s = 0, 1, ... runs with
//   s < w:         peak * (s + 1) / w                                     (linear warm-up)
//   constant:      peak
//   plateau:       peak, times what evaluations made of it                (trainer/train/plateau.h)
//   inverse_sqrt:  peak * sqrt(t / (t + s - w)), t = timescale, or w if 0, or 10,000 if w is 0, too
//                  (Vaswani et al., "Attention is all you need", 2017; Hugging Face's
//                  get_inverse_sqrt_schedule)
//   step:          peak * gamma ^ (number of milestones <= s)             (PyTorch's MultiStepLR)
//   others:        m + (peak - m) * f(x), x = (s - b) / (d - b), for b <= s < d; m from d on
//     linear       f(x) = 1 - x                        b = w
//     cosine       f(x) = (1 + cos(pi x)) / 2          b = w   (SGDR, Loshchilov & Hutter, 2017)
//     polynomial   f(x) = (1 - x) ^ power              b = w
//     wsd          f of cooldown_shape: linear, cosine, or 1-sqrt: 1 - sqrt(x) (Haegele et al.,
//                  "Scaling laws and compute-optimal training beyond fixed training durations",
//                  2024); b = d - cooldown_steps, a tenth of d (rounded up) if 0; before b the rate
//                  is the peak (warmup-stable-decay: Hu et al., "MiniCPM", 2024)
// so that the rate is the peak at step w and reaches m at step d.
//
// one_cycle has no other warm-up (Smith and Topin, "Super-convergence", 2018; PyTorch's OneCycleLR
// with cosines): with first = peak / div_factor, last = first / final_div_factor and
// a = pct_start * d - 1 it goes from `first` at step 0 to the peak at a, and on to `last` at d - 1,
// where it stays, by half a cosine each. With a <= 0 it begins at the peak.
#pragma once

#include <cstdint>

#include "trainer/settings/config.h"

namespace lockstep {

class Schedule {
 public:
  /// `total_steps` replaces decay_steps if that is 0. Error kUsage for milestones that do not
  /// ascend.
  Schedule(const SchedulerConfig& scheduler, double learning_rate, std::int64_t total_steps);

  /// The rate of the update in 0-based `step`.
  double learning_rate(std::int64_t step) const;

 private:
  double one_cycle(double step) const;
  double after_milestones(std::int64_t step) const;
  double inverse_sqrt(double since_warmup) const;
  double decayed(std::int64_t step) const;

  SchedulerConfig config_;
  double peak_;
  std::int64_t decay_steps_;
};

}  // namespace lockstep

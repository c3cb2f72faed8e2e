// Position encodings that are not learned: rotations of queries and keys, and sines that are added
// to embeddings.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/api.h"
#include "core/nn/module.h"

namespace LOCKSTEP_API lockstep {

/// The frequencies of a rotary embedding: pair i of a head of D elements rotates by base^(-2i/D) a
/// position.
struct Rotary {
  double base = 10000.0;  ///< Hugging Face's rope_theta
  /// Divides all frequencies (Hugging Face's rope_type "linear"). With low_freq_factor below
  /// high_freq_factor it divides only frequencies of wavelengths above original_positions /
  /// low_freq_factor fully, and those between that and original_positions / high_freq_factor in
  /// part ("llama3": Llama 3.1, see its model card and `_compute_llama3_parameters` of
  /// transformers).
  double factor = 1.0;
  double low_freq_factor = 0;     ///< turns within original_positions below which `factor` divides
  double high_freq_factor = 0;    ///< turns above which it does not
  double original_positions = 0;  ///< of the model before its positions were extended

  /// Radians per position, for i < size / 2, in f64.
  std::vector<double> frequencies(std::int64_t size) const;
};

/// Rotary position embedding (Su et al., arXiv:2104.09864) of queries or keys x [B,T,H,D], D even:
/// in every head of position t, elements i and i + D/2 are rotated by the angle t frequency[i]. The
/// pairs are those of Hugging Face's Llama (rotate_half); the paper pairs neighbours, which is the
/// same up to an order of the weights' rows. `positions` integer [B,T]; undefined: 0, 1, ... in
/// every sequence. Computed in f32, the result has the dtype of x. Error kUsage for other shapes.
Tensor rotary_embedding(const Tensor& x, const Rotary& rotary = {}, const Tensor& positions = {},
                        Where where = Where::current());

/// Adds sines and cosines of the position to x [B,T,width] (Vaswani et al., arXiv:1706.03762):
/// position t has sin(t 10000^(-2i/width)) and the cosine of the same. The table is a buffer,
/// "weight" f32 [positions, width] as in Hugging Face's "embed_positions" of Marian and Pegasus,
/// and never changes.
class SinusoidalPositions : public Module {
 public:
  /// The indices of sine and cosine number i.
  enum class Order : std::uint8_t {
    kInterleaved,  ///< 2i and 2i + 1: the paper's
    kHalves,       ///< i and width/2 + i: Hugging Face's Marian and Pegasus
  };
  /// Error kUsage for an odd width.
  SinusoidalPositions(Module& parent, std::string_view name, std::int64_t positions,
                      std::int64_t width, Order order = Order::kInterleaved);
  /// [B,T,width] -> the same, of the same dtype; added in f32. Error kUsage for other shapes, or
  /// more than `positions` of them.
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  ModuleBuffer& weight_;
};

}  // namespace lockstep

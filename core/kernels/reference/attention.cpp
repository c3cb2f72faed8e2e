#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/rng.h"
#include "core/kernels/reference/operations.h"

namespace lockstep::reference {
namespace {

using Int = std::int64_t;

/// The operands and attributes of attention and its gradient, and where their elements are.
class Problem {
 public:
  /// `others` are the operands after the tensors: [key_mask or segments], [seed, step,
  /// micro_batch].
  Problem(const Attrs& attrs, const Value& q, const Value& k, Operands others)
      : batch(q.type.shape[0]),
        queries(q.type.shape[1]),
        keys(k.type.shape[1]),
        heads(q.type.shape[2]),
        kv_heads(k.type.shape[2]),
        depth(q.type.shape[3]),
        scale(attrs.real(Attr::kScale)),
        dropout(attrs.real(Attr::kDropout)),
        causal_(attrs.flag(Attr::kCausal)) {
    if (attrs.flag(Attr::kMasked)) {
      mask_ = &others[0]->integers();
      segmented_ = others[0]->type.dtype == DType::kI32;
      others = others.subspan(1);
    }
    if (dropout > 0) {
      key_.seed = static_cast<std::uint64_t>(others[0]->integers()[0]);
      key_.step = static_cast<std::uint64_t>(others[1]->integers()[0]);
      key_.micro_batch = static_cast<std::uint32_t>(others[2]->integers()[0]);
      key_.stream = static_cast<std::uint64_t>(attrs.integer(Attr::kStream));
    }
  }

  const Int batch, queries, keys, heads, kv_heads, depth;
  const double scale, dropout;

  bool is_visible(Int b, Int i, Int j) const {
    if (causal_ && j > i + keys - queries) return false;
    if (mask_ == nullptr) return true;
    const Int of_key = (*mask_)[static_cast<std::size_t>(b * keys + j)];
    if (!segmented_) return of_key != 0;
    return of_key > 0 && of_key == (*mask_)[static_cast<std::size_t>(b * keys + i)];
  }

  /// What dropout multiplies the weight by: 0 or 1 / (1 - dropout).
  double keep(Int b, Int h, Int i, Int j) const {
    if (dropout == 0) return 1;
    const Int position = ((b * heads + h) * queries + i) * keys + j;
    const float u = uniform_from_bits(random_word(key_, static_cast<std::uint64_t>(position)));
    return static_cast<double>(u) < dropout ? 0 : 1 / (1 - dropout);
  }

  /// The vector of head h of the queries at one position.
  std::size_t query_at(Int b, Int i, Int h) const {
    return static_cast<std::size_t>(((b * queries + i) * heads + h) * depth);
  }
  /// The vector of keys and values that this head sees.
  std::size_t key_at(Int b, Int j, Int h) const {
    const Int of_keys = h / (heads / kv_heads);
    return static_cast<std::size_t>(((b * keys + j) * kv_heads + of_keys) * depth);
  }

  double dot(const Reals& x, std::size_t x_at, const Reals& y, std::size_t y_at) const {
    double sum = 0;
    for (Int d = 0; d < depth; ++d)
      sum += x[x_at + static_cast<std::size_t>(d)] * y[y_at + static_cast<std::size_t>(d)];
    return sum;
  }
  /// to[..] += factor * from[..], over one vector.
  void add_scaled(double factor, const Reals& from, std::size_t from_at, Reals& to,
                  std::size_t to_at) const {
    for (Int d = 0; d < depth; ++d)
      to[to_at + static_cast<std::size_t>(d)] +=
          factor * from[from_at + static_cast<std::size_t>(d)];
  }

  /// softmax(scale * q k^T) of one query over its visible keys; zeros if it sees none.
  Reals weights(const Reals& q, const Reals& k, Int b, Int h, Int i) const {
    Reals out(static_cast<std::size_t>(keys), 0.0);
    double largest = real_range().lowest;
    for (Int j = 0; j < keys; ++j) {
      if (!is_visible(b, i, j)) continue;
      double& score = out[static_cast<std::size_t>(j)];
      score = scale * dot(q, query_at(b, i, h), k, key_at(b, j, h));
      largest = std::max(largest, score);
    }
    double sum = 0;
    for (Int j = 0; j < keys; ++j) {
      if (!is_visible(b, i, j)) continue;
      double& weight = out[static_cast<std::size_t>(j)];
      weight = std::exp(weight - largest);
      sum += weight;
    }
    if (sum != 0)
      for (double& weight : out) weight /= sum;
    return out;
  }

  template <class Visit>
  void for_each_query(const Visit& visit) const {
    for (Int b = 0; b < batch; ++b)
      for (Int h = 0; h < heads; ++h)
        for (Int i = 0; i < queries; ++i) visit(b, h, i);
  }

 private:
  bool causal_;
  const Integers* mask_ = nullptr;  ///< of keys, or segments
  bool segmented_ = false;
  RngKey key_;
};

/// qkv [B,T,3,H,D] as q, k and v, each [B,T,H,D].
std::array<Value, 3> unpack(const Value& qkv) {
  const Shape& s = qkv.type.shape;
  const Type part{qkv.type.dtype, Shape{s[0], s[1], s[3], s[4]}};
  std::array<Value, 3> out{make_value(part), make_value(part), make_value(part)};
  const auto row = static_cast<std::size_t>(s[3] * s[4]);
  for (std::size_t i = 0; i < qkv.reals().size(); ++i)
    out[i / row % 3].reals()[i / row / 3 * row + i % row] = qkv.reals()[i];
  return out;
}

/// The inverse, of q, k and v one after the other.
Value pack(const Value& parts, const Type& type) {
  Value out = make_value(type);
  const Shape& s = type.shape;
  const auto row = static_cast<std::size_t>(s[3] * s[4]);
  const std::size_t part = out.reals().size() / 3;
  for (std::size_t i = 0; i < out.reals().size(); ++i)
    out.reals()[i] = parts.reals()[i / row % 3 * part + i / row / 3 * row + i % row];
  return out;
}

/// The operands with q, k and v in place of qkv.
std::vector<const Value*> with_parts(const std::array<Value, 3>& parts, Operands in) {
  std::vector<const Value*> out{&parts[0], &parts[1], &parts[2]};
  out.insert(out.end(), in.begin() + 1, in.end());
  return out;
}

bool is_packed(Operands in) {
  return in[0]->type.shape.rank() == 5;
}

}  // namespace

Value evaluate_attention(const Node& node, Operands in) {
  if (is_packed(in)) return evaluate_attention(node, with_parts(unpack(*in[0]), in));
  const Problem p(node.attrs, *in[0], *in[1], in.subspan(3));
  const Reals& v = in[2]->reals();
  Value out = make_value(node.type);
  p.for_each_query([&](Int b, Int h, Int i) {
    const Reals weights = p.weights(in[0]->reals(), in[1]->reals(), b, h, i);
    for (Int j = 0; j < p.keys; ++j) {
      if (!p.is_visible(b, i, j)) continue;
      p.add_scaled(weights[static_cast<std::size_t>(j)] * p.keep(b, h, i, j), v, p.key_at(b, j, h),
                   out.reals(), p.query_at(b, i, h));
    }
  });
  return out;
}

Value evaluate_attention_grad(const Node& node, Operands in) {
  if (is_packed(in)) {
    Node flat = node;
    flat.type.shape = Shape{node.type.elements()};
    return pack(evaluate_attention_grad(flat, with_parts(unpack(*in[0]), in)), node.type);
  }
  // out (operand 3) would only save work: everything is recomputed from q, k and v.
  const Problem p(node.attrs, *in[0], *in[1], in.subspan(5));
  const Reals& q = in[0]->reals();
  const Reals& k = in[1]->reals();
  const Reals& v = in[2]->reals();
  const Reals& dout = in[4]->reals();
  Value out = make_value(node.type);
  Reals& gradients = out.reals();  // dq, then dk, then dv
  const std::size_t dk_at = q.size();
  const std::size_t dv_at = q.size() + k.size();
  p.for_each_query([&](Int b, Int h, Int i) {
    const std::size_t query = p.query_at(b, i, h);
    const Reals weights = p.weights(q, k, b, h, i);
    // dv = (dropped weights)^T dout, and the gradient of each weight.
    Reals dweights(weights.size(), 0.0);
    double mean = 0;
    for (Int j = 0; j < p.keys; ++j) {
      if (!p.is_visible(b, i, j)) continue;
      const auto at = static_cast<std::size_t>(j);
      const std::size_t key = p.key_at(b, j, h);
      const double keep = p.keep(b, h, i, j);
      p.add_scaled(weights[at] * keep, dout, query, gradients, dv_at + key);
      dweights[at] = keep * p.dot(dout, query, v, key);
      mean += weights[at] * dweights[at];
    }
    // Softmax: the gradient of a score is weight * (dweight - mean of dweight under the weights).
    for (Int j = 0; j < p.keys; ++j) {
      if (!p.is_visible(b, i, j)) continue;
      const auto at = static_cast<std::size_t>(j);
      const std::size_t key = p.key_at(b, j, h);
      const double dscore = p.scale * weights[at] * (dweights[at] - mean);
      p.add_scaled(dscore, k, key, gradients, query);
      p.add_scaled(dscore, q, query, gradients, dk_at + key);
    }
  });
  return out;
}

}  // namespace lockstep::reference

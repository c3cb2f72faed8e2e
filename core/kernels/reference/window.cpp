#include <array>
#include <cmath>

#include "core/ir/image_layout.h"
#include "core/kernels/reference/operations.h"

namespace lockstep::reference {
namespace {

using Int = std::int64_t;

/// An image as [N,C,H,W], wherever its dimensions are stored.
struct Image {
  Image(const Attrs& attrs, const Shape& stored)
      : sizes(planar_shape(attrs, stored)), strides(image_strides(attrs, stored)) {}
  std::size_t at(Int n, Int c, Int h, Int w) const {
    return static_cast<std::size_t>(n * strides.n + c * strides.c + h * strides.h + w * strides.w);
  }

  Shape sizes;
  ImageStrides strides;
};

/// The places of windows on the last two dimensions of an image.
struct Window {
  std::array<Int, 2> size, stride, low_padding, dilation;
};

Window make_window(const Attrs& attrs, Int height, Int width, bool dilated) {
  const auto& stride = attrs.ints(Attr::kStride);
  const auto& padding = attrs.ints(Attr::kPadding);
  Window w{{height, width}, {stride[0], stride[1]}, {padding[0], padding[2]}, {1, 1}};
  if (dilated) w.dilation = {attrs.ints(Attr::kDilation)[0], attrs.ints(Attr::kDilation)[1]};
  return w;
}

/// visit(row of the image, its column, place in the window) for each tap of the window of output
/// (row, column) that lies on the image, in row-major order.
template <class Visit>
void for_each_tap(const Window& w, const Image& image, Int row, Int column, const Visit& visit) {
  for (Int i = 0; i < w.size[0]; ++i) {
    const Int y = row * w.stride[0] + i * w.dilation[0] - w.low_padding[0];
    if (y < 0 || y >= image.sizes[2]) continue;
    for (Int j = 0; j < w.size[1]; ++j) {
      const Int x = column * w.stride[1] + j * w.dilation[1] - w.low_padding[1];
      if (x < 0 || x >= image.sizes[3]) continue;
      visit(y, x, i * w.size[1] + j);
    }
  }
}

/// visit(n, channel, row, column) for every place of an image.
template <class Visit>
void for_each_place(const Image& image, const Visit& visit) {
  const Shape& s = image.sizes;
  for (Int n = 0; n < s[0]; ++n)
    for (Int c = 0; c < s[1]; ++c)
      for (Int row = 0; row < s[2]; ++row)
        for (Int column = 0; column < s[3]; ++column) visit(n, c, row, column);
}

/// visit(place in x, place in w, place in y) for every product of the convolution x * w -> y, each
/// summed into y (or, for a gradient, into x or w).
template <class Visit>
void for_each_product(const Node& node, const Shape& x, const Shape& w, const Shape& y,
                      const Visit& visit) {
  const Image input(node.attrs, x);
  const Image output(node.attrs, y);
  const Window window = make_window(node.attrs, w[2], w[3], true);
  const Int group_outputs = w[0] / node.attrs.integer(Attr::kGroups);
  for_each_place(output, [&](Int n, Int o, Int row, Int column) {
    for (Int c = 0; c < w[1]; ++c) {
      const Int channel = o / group_outputs * w[1] + c;
      const Int filter = (o * w[1] + c) * w[2] * w[3];
      for_each_tap(window, input, row, column, [&](Int in_row, Int in_column, Int in_window) {
        visit(input.at(n, channel, in_row, in_column), static_cast<std::size_t>(filter + in_window),
              output.at(n, o, row, column));
      });
    }
  });
}

/// visit_window(place in y, taps) for every window of a pooling of x -> y, where taps(visit_tap)
/// calls visit_tap(place in x) for every element of the window that is not padding.
template <class VisitWindow>
void for_each_window(const Node& node, const Shape& x, const Shape& y,
                     const VisitWindow& visit_window) {
  const Image input(node.attrs, x);
  const Image output(node.attrs, y);
  const auto& size = node.attrs.ints(Attr::kWindow);
  const Window window = make_window(node.attrs, size[0], size[1], false);
  for_each_place(output, [&](Int n, Int c, Int row, Int column) {
    visit_window(output.at(n, c, row, column), [&](const auto& visit_tap) {
      for_each_tap(window, input, row, column, [&](Int in_row, Int in_column, Int) {
        visit_tap(input.at(n, c, in_row, in_column));
      });
    });
  });
}

double window_elements(const Node& node) {
  const auto& size = node.attrs.ints(Attr::kWindow);
  return static_cast<double>(size[0] * size[1]);
}

/// Larger, or a NaN where there was none.
bool exceeds(double candidate, double best) {
  return !std::isnan(best) && (std::isnan(candidate) || candidate > best);
}

}  // namespace

Value evaluate_convolution(const Node& node, Operands in) {
  Value out = make_value(node.type);
  const Reals& x = in[0]->reals();
  const Reals& w = in[1]->reals();
  Reals& y = out.reals();
  for_each_product(node, in[0]->type.shape, in[1]->type.shape, node.type.shape,
                   [&](std::size_t i, std::size_t f, std::size_t o) { y[o] += x[i] * w[f]; });
  return out;
}

Value evaluate_convolution_grad_input(const Node& node, Operands in) {
  Value out = make_value(node.type);
  const Reals& dy = in[0]->reals();
  const Reals& w = in[1]->reals();
  Reals& dx = out.reals();
  for_each_product(node, node.type.shape, in[1]->type.shape, in[0]->type.shape,
                   [&](std::size_t i, std::size_t f, std::size_t o) { dx[i] += dy[o] * w[f]; });
  return out;
}

Value evaluate_convolution_grad_weight(const Node& node, Operands in) {
  Value out = make_value(node.type);
  const Reals& x = in[0]->reals();
  const Reals& dy = in[1]->reals();
  Reals& dw = out.reals();
  for_each_product(node, in[0]->type.shape, node.type.shape, in[1]->type.shape,
                   [&](std::size_t i, std::size_t f, std::size_t o) { dw[f] += x[i] * dy[o]; });
  return out;
}

Value evaluate_max_pool(const Node& node, Operands in) {
  Value out = make_value(node.type);
  const Reals& x = in[0]->reals();
  for_each_window(node, in[0]->type.shape, node.type.shape,
                  [&](std::size_t o, const auto& for_each_element) {
                    double best = real_range().lowest;
                    for_each_element([&](std::size_t i) {
                      if (exceeds(x[i], best)) best = x[i];
                    });
                    out.reals()[o] = best;
                  });
  return out;
}

Value evaluate_max_pool_grad(const Node& node, Operands in) {
  Value out = make_value(node.type);
  const Reals& x = in[0]->reals();
  const Reals& dy = in[1]->reals();
  for_each_window(node, node.type.shape, in[1]->type.shape,
                  [&](std::size_t o, const auto& for_each_element) {
                    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
                    std::size_t best = kNone;
                    for_each_element([&](std::size_t i) {
                      if (best == kNone || exceeds(x[i], x[best])) best = i;
                    });
                    if (best != kNone) out.reals()[best] += dy[o];
                  });
  return out;
}

Value evaluate_avg_pool(const Node& node, Operands in) {
  Value out = make_value(node.type);
  const Reals& x = in[0]->reals();
  for_each_window(node, in[0]->type.shape, node.type.shape,
                  [&](std::size_t o, const auto& for_each_element) {
                    double sum = 0;
                    for_each_element([&](std::size_t i) { sum += x[i]; });
                    out.reals()[o] = sum / window_elements(node);
                  });
  return out;
}

Value evaluate_avg_pool_grad(const Node& node, Operands in) {
  Value out = make_value(node.type);
  const Reals& dy = in[0]->reals();
  for_each_window(
      node, node.type.shape, in[0]->type.shape, [&](std::size_t o, const auto& for_each_element) {
        for_each_element([&](std::size_t i) { out.reals()[i] += dy[o] / window_elements(node); });
      });
  return out;
}

}  // namespace lockstep::reference

#include "bench/limits/best_rate.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "bench/compiled_graph.h"
#include "bench/target.h"
#include "core/base/error.h"
#include "core/kernels/cpu/base/onednn.h"
#include "core/kernels/cpu/convolution_shape.h"
#include "core/kernels/cpu/product/tile_product.h"
#include "trainer/calibrate/busy_cores.h"

namespace lockstep {
namespace {

using product::TileProduct;

/// Memory of one product whose elements are ones, or close to it in 16 bits.
struct Operands {
  explicit Operands(const DotShape& shape)
      : a(ones(shape.batch * shape.m * shape.k, shape.operands)),
        b(ones(shape.batch * shape.k * shape.n, shape.operands)),
        c(ones(shape.batch * shape.m * shape.n, shape.result)) {}

  static BufferPtr ones(std::int64_t count, DType dtype) {
    const std::size_t bytes = static_cast<std::size_t>(count) * size_of(dtype);
    BufferPtr out = allocate_host(bytes);
    // 1.0 is 0x3F80 in bf16 and 0x3F800000 in f32; 0x3F3F is about 0.75 in both.
    std::fill(out->data(), out->data() + bytes, std::byte{0x3F});
    return out;
  }

  BufferPtr a, b, c;
};

/// The layout of operands: transposed ones are column-major.
struct Layout {
  bool a_transposed = false;
  bool b_transposed = false;
};

MatmulShape matmul_shape(const DotShape& s, Layout layout) {
  MatmulShape out{};
  out.batch = s.batch;
  out.m = s.m;
  out.n = s.n;
  out.k = s.k;
  out.operands = s.operands;
  out.result = s.result;
  out.a_batch = s.m * s.k;
  out.b_batch = s.k * s.n;
  out.c_batch = s.m * s.n;
  out.a = layout.a_transposed ? MatrixStrides{1, s.m} : MatrixStrides{s.k, 1};
  out.b = layout.b_transposed ? MatrixStrides{1, s.k} : MatrixStrides{s.n, 1};
  out.ldc = s.n;
  return out;
}

MakeWork run_alone(const DotShape& shape, const std::shared_ptr<Matmul>& matmul) {
  if (matmul == nullptr) return nullptr;
  matmul->generate();
  return [shape, matmul] {
    const BufferPtr scratch = allocate_host(matmul->scratch_bytes());
    const auto prepared_bytes = static_cast<std::int64_t>(matmul->prepared_bytes());
    const BufferPtr prepared = Operands::ones(prepared_bytes, DType::kU8);
    return [operands = Operands(shape), matmul, scratch, prepared] {
      const BufferPtr& b = matmul->prepared_bytes() > 0 ? prepared : operands.b;
      matmul->run(operands.a->data(), b->data(), operands.c->data(), scratch->data());
    };
  };
}

/// Null if oneDNN does not support it.
MakeWork primitive_work(const DotShape& shape, Layout layout) {
  return run_alone(shape, Matmul::describe(matmul_shape(shape, layout)));
}

/// With b in the layout that oneDNN prefers; null if unsupported, or if the layout would not
/// change.
MakeWork packed_work(const DotShape& shape, Layout layout) {
  if (shape.batch != 1 || layout.b_transposed) return nullptr;
  return run_alone(shape, Matmul::describe_prepared(matmul_shape(shape, layout)));
}

MakeWork gemm_work(const DotShape& shape, Layout layout) {
  if (shape.batch != 1) return nullptr;
  const MatmulShape s = matmul_shape(shape, layout);
  return [shape, s] {
    return [operands = Operands(shape), s] {
      const auto at = [](const BufferPtr& b) { return reinterpret_cast<float*>(b->data()); };
      gemm_f32(s.m, s.n, s.k, 1, at(operands.a), s.a, at(operands.b), s.b, 0, at(operands.c),
               s.ldc);
    };
  };
}

/// Null if AMX does not support it. Results stay in the cache here. Large results of training do
/// not: they are not read soon.
MakeWork tiles_work(const DotShape& shape, Layout layout) {
  const bool fits = bench_target().bf16 == Bf16Units::kTiles && TileProduct::available() &&
                    shape.batch == 1 && shape.operands == DType::kBF16;
  if (!fits) return nullptr;
  const MatmulShape s = matmul_shape(shape, layout);
  const TileProduct tiles(s.a, s.b, s.k, s.result, s.ldc, TileProduct::Stores::kCached);
  return [shape, tiles] {
    const BufferPtr scratch = allocate_host(tiles.scratch_bytes(shape.m, shape.n));
    return [operands = Operands(shape), tiles, scratch, m = shape.m, n = shape.n] {
      tiles.run(m, n, operands.a->data(), operands.b->data(), operands.c->data(), scratch->data());
    };
  };
}

/// The node's convolution; null if oneDNN does not support it.
MakeWork convolution_work(const Graph& graph) {
  const Node& node = graph[graph.outputs[0]];
  const std::vector<Type> types{graph[node.operands[0]].type, graph[node.operands[1]].type};
  const ConvolutionShape shape = convolution_shape(node, types, bench_target());
  const std::shared_ptr<Convolution> convolution = Convolution::describe(node.op, shape, shape);
  if (convolution == nullptr) return nullptr;
  convolution->generate();
  return [=, result = node.type] {
    struct Memory {
      BufferPtr first, second, result, scratch;
    };
    // The layout of weights that oneDNN prefers may need more memory.
    const auto filled = [](std::size_t bytes) {
      return Operands::ones(static_cast<std::int64_t>(bytes), DType::kU8);
    };
    const Memory memory{
        filled(types[0].bytes()), filled(std::max(types[1].bytes(), convolution->prepared_bytes())),
        filled(
            std::max(result.bytes(), static_cast<std::size_t>(result.elements()) * sizeof(float))),
        allocate_host(convolution->scratch_bytes())};
    return [=] {
      convolution->run(memory.first->data(), memory.second->data(), memory.result->data(),
                       memory.scratch->data());
    };
  };
}

/// The product on a processor without fast bf16 units; the widening itself is not counted.
DotShape widened(DotShape shape) {
  shape.operands = shape.result = DType::kF32;
  return shape;
}

}  // namespace

Timing best_product(const DotShape& shape, int threads, double seconds_each) {
  Timing best{1e30, ""};
  DotShape turned = shape;
  std::swap(turned.m, turned.n);
  for (const DotShape& sizes : {shape, turned})
    for (const Layout layout : {Layout{false, false}, {false, true}, {true, false}, {true, true}})
      for (const auto& [name, work] :
           {std::pair{"oneDNN matmul", primitive_work(sizes, layout)},
            {"oneDNN matmul of a packed b", packed_work(sizes, layout)},
            {"oneDNN f32 matmul", primitive_work(widened(sizes), layout)},
            {"oneDNN f32 sgemm", gemm_work(widened(sizes), layout)},
            {"tiles", tiles_work(sizes, layout)}}) {
        if (work == nullptr) continue;
        const double seconds = min_seconds(work, threads, seconds_each);
        if (seconds >= best.seconds) continue;
        best = {seconds,
                fmt::format("{} m={} n={} {}{}", name, sizes.m, sizes.n,
                            layout.a_transposed ? 't' : 'n', layout.b_transposed ? 't' : 'n')};
      }
  return best;
}

Timing best_convolution(const DotNode& node, int threads, double seconds_each) {
  Timing best = own_kernel(node, threads, seconds_each);
  const MakeWork work = convolution_work(node.graph);
  if (work == nullptr) return best;
  const double seconds = min_seconds(work, threads, seconds_each);
  if (seconds < best.seconds) best = {seconds, "oneDNN convolution"};
  return best;
}

Timing own_kernel(const DotNode& node, int threads, double seconds) {
  const MakeWork make = [&node] {
    return [graph = std::make_shared<CompiledGraph>(node.graph)] { graph->run(); };
  };
  return {min_seconds(make, threads, seconds), "lockstep"};
}

}  // namespace lockstep

#include "core/kernels/cpu/base/onednn.h"

#include <algorithm>
#include <dnnl.hpp>
#include <initializer_list>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/host_memory.h"
#include "core/kernels/base/kernel.h"
#include "core/kernels/cpu/base/onednn_limit.h"

namespace lockstep {
namespace {

/// oneDNN crashes if it gets no memory for the code that it generates, so this much is checked
/// first. One call takes less.
constexpr std::size_t kCodeBytes = std::size_t{16} << 20;

/// Calls `generate`, in which oneDNN generates code, after a check of the memory for it.
template <class Generate>
void generate_code(const Generate& generate) {
  enter_onednn();
  require_host_memory(kCodeBytes);
  try {
    generate();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw;
  }
}

/// Lets oneDNN generate all code for products of f32.
void prepare_gemm() {
  // Address space: a thread's first allocation may reserve 128 MiB of it.
  constexpr std::size_t kHeapOfThread = std::size_t{128} << 20;
  require_host_memory(kHeapOfThread + 2 * kCodeBytes);
  constexpr std::int64_t kSide = 16;
  const std::vector<float> x(kSide * kSide, 0.0F);
  std::vector<float> y(x);
  for (const char a : {'N', 'T'})
    for (const char b : {'N', 'T'})
      for (const std::int64_t m : {std::int64_t{1}, kSide})
        for (const std::int64_t n : {std::int64_t{1}, kSide})
          (void)dnnl_sgemm(a, b, m, n, kSide, 1.0F, x.data(), kSide, x.data(), kSide, 0.0F,
                           y.data(), kSide);
}

/// Stateless.
const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::data_type type_of(DType dtype) {
  LS_CHECK(dtype == DType::kF32 || dtype == DType::kBF16, "oneDNN is not used for {}",
           name_of(dtype));
  return dtype == DType::kF32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

/// Scratch memory is passed at execution, so that one primitive can run on several threads.
dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

struct Argument {
  dnnl::memory::desc description;
  const std::byte* data;  ///< results are written through it
};

/// Executes a primitive on the calling thread and waits for it.
void execute(const dnnl::primitive& primitive,
             std::initializer_list<std::pair<int, Argument>> arguments) {
  enter_onednn();
  std::unordered_map<int, dnnl::memory> memories;
  for (const auto& [index, argument] : arguments)
    memories.emplace(index, dnnl::memory(argument.description, cpu_engine(),
                                         const_cast<std::byte*>(argument.data)));
  dnnl::stream stream(cpu_engine());
  primitive.execute(stream, memories);
  stream.wait();
}

/// Transposition flag and leading dimension of an operand with `rows` x `columns` elements. Where a
/// size is 1 its stride may be anything, and the other must be the unit one.
struct MatrixLayout {
  char trans;
  dnnl_dim_t ld;
};
MatrixLayout layout_of(MatrixStrides s, std::int64_t rows, std::int64_t columns) {
  if (s.column == 1 || columns == 1)
    return {'N', rows == 1 ? std::max<std::int64_t>(columns, 1) : s.row};
  LS_CHECK(s.row == 1 || rows == 1, "a matrix needs a unit stride, not {} and {}", s.row, s.column);
  return {'T', s.column};
}

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

Desc any(const Dims& dims, DType dtype) {
  return Desc(dims, type_of(dtype), dnnl::memory::format_tag::any);
}
Desc channels_last(const Dims& dims, DType dtype) {
  return Desc(dims, type_of(dtype), dnnl::memory::format_tag::nhwc);
}
Dims dense_strides(const Dims& dims) {
  Dims out(dims.size(), 1);
  for (std::size_t d = dims.size() - 1; d-- > 0;) out[d] = out[d + 1] * dims[d + 1];
  return out;
}

}  // namespace

void gemm_f32(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
              MatrixStrides a_strides, const float* b, MatrixStrides b_strides, float beta,
              float* c, std::int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        c[i * ldc + j] = beta == 0.0F ? 0.0F : beta * c[i * ldc + j];
    return;
  }
  enter_onednn();
  static std::once_flag prepared;  // as oneDNN's code is
  std::call_once(prepared, prepare_gemm);
  const MatrixLayout la = layout_of(a_strides, m, k);
  const MatrixLayout lb = layout_of(b_strides, k, n);
  const dnnl_status_t status =
      dnnl_sgemm(la.trans, lb.trans, m, n, k, alpha, a, la.ld, b, lb.ld, beta, c, ldc);
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  LS_CHECK(status == dnnl_success, "dnnl_sgemm failed with status {}", static_cast<int>(status));
}

struct Matmul::State {
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;  ///< empty until it is generated
  /// From b to run()'s copy of it; empty if run() reads b itself.
  dnnl::reorder::primitive_desc preparation;
  dnnl::reorder reorder;  ///< empty until it is generated
};

namespace {

/// A matrix for each batch. One alone is of two dimensions: oneDNN multiplies up to 6 % faster then
/// (Zen 4, 1576x768x3072 by w^T in f32).
Desc matrices(std::int64_t batch, std::int64_t batch_stride, const Dims& sizes, DType dtype,
              MatrixStrides strides) {
  if (batch == 1) return Desc(sizes, type_of(dtype), Dims{strides.row, strides.column});
  return Desc(Dims{batch, sizes[0], sizes[1]}, type_of(dtype),
              Dims{batch_stride, strides.row, strides.column});
}

Desc stored_b(const MatmulShape& s) {
  return matrices(s.batch, s.b_batch, {s.k, s.n}, s.operands, s.b);
}

/// Null if oneDNN has none.
std::optional<dnnl::matmul::primitive_desc> describe_product(const MatmulShape& s, const Desc& b) {
  enter_onednn();
  const Desc a = matrices(s.batch, s.a_batch, {s.m, s.k}, s.operands, s.a);
  const Desc c = matrices(s.batch, s.c_batch, {s.m, s.n}, s.result, {s.ldc, 1});
  try {
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), user_scratchpad(),
                                        cpu_engine());
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return std::nullopt;
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw;
  }
}

}  // namespace

Matmul::Matmul(std::unique_ptr<State> state) : state_(std::move(state)) {}
Matmul::~Matmul() = default;

std::unique_ptr<Matmul> Matmul::describe(const MatmulShape& shape) {
  const auto description = describe_product(shape, stored_b(shape));
  if (!description) return nullptr;
  return std::unique_ptr<Matmul>(
      new Matmul(std::make_unique<State>(State{*description, {}, {}, {}})));
}

std::unique_ptr<Matmul> Matmul::describe_prepared(const MatmulShape& shape, const Matmul* like) {
  const Desc stored = stored_b(shape);
  const auto description =
      describe_product(shape, like != nullptr ? like->state_->description.weights_desc()
                                              : any({shape.k, shape.n}, shape.operands));
  if (!description) return nullptr;
  auto state = std::make_unique<State>(State{*description, {}, {}, {}});
  if (description->weights_desc() != stored)
    state->preparation = dnnl::reorder::primitive_desc(
        cpu_engine(), stored, cpu_engine(), description->weights_desc(), user_scratchpad());
  return std::unique_ptr<Matmul>(new Matmul(std::move(state)));
}

void Matmul::generate() {
  generate_code([&] {
    state_->primitive = dnnl::matmul(state_->description);
    if (state_->preparation) state_->reorder = dnnl::reorder(state_->preparation);
  });
}

std::size_t Matmul::scratch_bytes() const {
  const std::size_t bytes = state_->description.scratchpad_desc().get_size();
  if (!state_->preparation) return bytes;
  return std::max(bytes, state_->preparation.scratchpad_desc().get_size());
}

std::size_t Matmul::prepared_bytes() const {
  return state_->preparation ? scratch_aligned(state_->description.weights_desc().get_size()) : 0;
}

void Matmul::prepare(const std::byte* b, std::byte* prepared, std::byte* scratch) const {
  const auto& d = state_->preparation;
  execute(state_->reorder, {{DNNL_ARG_FROM, {d.src_desc(), b}},
                            {DNNL_ARG_TO, {d.dst_desc(), prepared}},
                            {DNNL_ARG_SCRATCHPAD, {d.scratchpad_desc(), scratch}}});
}

void Matmul::run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) const {
  const auto& d = state_->description;
  execute(state_->primitive, {{DNNL_ARG_SRC, {d.src_desc(), a}},
                              {DNNL_ARG_WEIGHTS, {d.weights_desc(), b}},
                              {DNNL_ARG_DST, {d.dst_desc(), c}},
                              {DNNL_ARG_SCRATCHPAD, {d.scratchpad_desc(), scratch}}});
}

struct Convolution::State {
  State(Op op, const ConvolutionShape& part, const ConvolutionShape& whole);
  void generate();
  void prepare(const std::byte* weights, std::byte* prepared, std::byte* scratch) const;
  void run(const std::byte* first, const std::byte* second, std::byte* result,
           std::byte* scratch) const;

  struct Array {
    Desc plain;
    Desc preferred;
    dnnl::reorder::primitive_desc description;  ///< of the reorder; empty if both are the same
    dnnl::reorder reorder;                      ///< empty until it is generated
    Desc reorder_scratch;
    std::size_t offset = 0;  ///< of the preferred copy in scratch
    bool converts() const { return plain != preferred; }
  };
  void set_arrays(const std::array<Desc, 3>& plain, const std::array<Desc, 3>& preferred);
  void reorder(const Array& array, const std::byte* from, const std::byte* to,
               std::byte* working) const;
  /// Whether operand i is copied before run().
  bool is_prepared(std::size_t i) const { return names[i] == DNNL_ARG_WEIGHTS; }

  dnnl::primitive_desc description;
  dnnl::primitive primitive;   ///< empty until it is generated
  std::array<int, 3> names{};  ///< oneDNN's argument names of both operands and the result
  std::array<Array, 3> arrays;
  Desc primitive_scratch;
  std::size_t copies_bytes = 0;   ///< all preferred copies except prepared ones
  std::size_t working_bytes = 0;  ///< what the primitive and its reorders need after them
};

/// Images of `part` in the memory of those of `whole`.
Desc image_window(const Dims& part, const Dims& whole, const ConvolutionShape& shape, DType dtype) {
  if (!shape.channels_last) return Desc(part, type_of(dtype), dense_strides(whole));
  return Desc(part, type_of(dtype),
              {whole[1] * whole[2] * whole[3], 1, whole[3] * whole[1], whole[1]});
}

Convolution::State::State(Op op, const ConvolutionShape& p, const ConvolutionShape& whole) {
  enter_onednn();
  const auto& engine = cpu_engine();
  const auto attr = user_scratchpad();
  const bool of_input = op == Op::kConvolutionGradInput;
  const bool of_weight = op == Op::kConvolutionGradWeight;
  const DType x_type = of_input ? p.result : p.operands;
  const DType w_type = of_weight ? p.result : p.operands;
  const DType y_type = of_input || of_weight ? p.operands : p.result;
  const Desc x = image_window(p.x_sizes(), whole.x_sizes(), p, x_type);
  const Desc w(p.w_sizes(), type_of(w_type), dense_strides(whole.w_sizes()));
  const Desc y = image_window(p.y_sizes(), whole.y_sizes(), p, y_type);
  const auto dims = [](const std::array<std::int64_t, 2>& a) { return Dims{a[0], a[1]}; };
  const Dims stride = dims(p.stride);
  const Dims dilation = {p.dilation[0] - 1, p.dilation[1] - 1};  // oneDNN counts the gaps
  const Dims low = dims(p.padding_low);
  const Dims high = dims(p.padding_high);
  const auto image = p.channels_last ? channels_last : any;
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  // Gradients ask for the forward primitive as a hint: it is of their operands' dtype.
  const bool is_forward = op == Op::kConvolution;
  const dnnl::convolution_forward::primitive_desc forward(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, kDirect,
                                      image(p.x_sizes(), p.operands), any(p.w_sizes(), p.operands),
                                      image(p.y_sizes(), is_forward ? y_type : p.operands), stride,
                                      dilation, low, high),
      attr, engine);
  if (is_forward) {
    names = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    description = forward;
    primitive_scratch = forward.scratchpad_desc();
    set_arrays({x, w, y}, {forward.src_desc(), forward.weights_desc(), forward.dst_desc()});
  } else if (of_input) {
    const dnnl::convolution_backward_data::primitive_desc backward(
        dnnl::convolution_backward_data::desc(kDirect, image(p.x_sizes(), x_type),
                                              any(p.w_sizes(), w_type), image(p.y_sizes(), y_type),
                                              stride, dilation, low, high),
        attr, engine, forward);
    names = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC};
    description = backward;
    primitive_scratch = backward.scratchpad_desc();
    set_arrays({y, w, x},
               {backward.diff_dst_desc(), backward.weights_desc(), backward.diff_src_desc()});
  } else {
    const dnnl::convolution_backward_weights::primitive_desc backward(
        dnnl::convolution_backward_weights::desc(
            kDirect, image(p.x_sizes(), x_type), any(p.w_sizes(), w_type),
            image(p.y_sizes(), y_type), stride, dilation, low, high),
        attr, engine, forward);
    names = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS};
    description = backward;
    primitive_scratch = backward.scratchpad_desc();
    set_arrays({x, y, w},
               {backward.src_desc(), backward.diff_dst_desc(), backward.diff_weights_desc()});
  }
}

void Convolution::State::set_arrays(const std::array<Desc, 3>& plain,
                                    const std::array<Desc, 3>& preferred) {
  working_bytes = primitive_scratch.get_size();
  for (std::size_t i = 0; i < 3; ++i) {
    arrays[i] = {plain[i], preferred[i], {}, {}, {}, copies_bytes};
    if (!arrays[i].converts()) continue;
    const bool result = i == 2;
    const auto& from = result ? preferred[i] : plain[i];
    const auto& to = result ? plain[i] : preferred[i];
    arrays[i].description =
        dnnl::reorder::primitive_desc(cpu_engine(), from, cpu_engine(), to, user_scratchpad());
    arrays[i].reorder_scratch = arrays[i].description.scratchpad_desc();
    working_bytes = std::max(working_bytes, arrays[i].reorder_scratch.get_size());
    if (!is_prepared(i)) copies_bytes += scratch_aligned(preferred[i].get_size());
  }
}

void Convolution::State::generate() {
  primitive = dnnl::primitive(description);
  for (Array& array : arrays)
    if (array.converts()) array.reorder = dnnl::reorder(array.description);
}

void Convolution::State::reorder(const Array& array, const std::byte* from, const std::byte* to,
                                 std::byte* working) const {
  const bool result = &array == &arrays[2];
  execute(array.reorder, {{DNNL_ARG_FROM, {result ? array.preferred : array.plain, from}},
                          {DNNL_ARG_TO, {result ? array.plain : array.preferred, to}},
                          {DNNL_ARG_SCRATCHPAD, {array.reorder_scratch, working}}});
}

void Convolution::State::prepare(const std::byte* weights, std::byte* prepared,
                                 std::byte* scratch) const {
  reorder(arrays[1], weights, prepared, scratch + copies_bytes);
}

void Convolution::State::run(const std::byte* first, const std::byte* second, std::byte* result,
                             std::byte* scratch) const {
  const std::array<const std::byte*, 3> data = {first, second, result};
  std::byte* working = scratch + copies_bytes;
  std::array<Argument, 3> used;
  for (std::size_t i = 0; i < 3; ++i) {
    const Array& array = arrays[i];
    const bool copies = array.converts() && !is_prepared(i);
    used[i] = {array.preferred, copies ? scratch + array.offset : data[i]};
    if (copies && i < 2) reorder(array, data[i], used[i].data, working);
  }
  execute(primitive, {{names[0], used[0]},
                      {names[1], used[1]},
                      {names[2], used[2]},
                      {DNNL_ARG_SCRATCHPAD, {primitive_scratch, working}}});
  if (arrays[2].converts()) reorder(arrays[2], used[2].data, data[2], working);
}

Convolution::Convolution(std::unique_ptr<State> state) : state_(std::move(state)) {}
Convolution::~Convolution() = default;

std::unique_ptr<Convolution> Convolution::describe(Op op, const ConvolutionShape& part,
                                                   const ConvolutionShape& whole) {
  try {
    return std::unique_ptr<Convolution>(new Convolution(std::make_unique<State>(op, part, whole)));
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments)
      return nullptr;
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw;
  }
}

void Convolution::generate() {
  generate_code([&] { state_->generate(); });
}

std::size_t Convolution::prepared_bytes() const {
  const auto& weights = state_->arrays[1];
  return state_->is_prepared(1) && weights.converts()
             ? scratch_aligned(weights.preferred.get_size())
             : 0;
}

std::size_t Convolution::scratch_bytes() const {
  return state_->copies_bytes + state_->working_bytes;
}

void Convolution::prepare(const std::byte* weights, std::byte* prepared, std::byte* scratch) const {
  state_->prepare(weights, prepared, scratch);
}

void Convolution::run(const std::byte* first, const std::byte* second, std::byte* result,
                      std::byte* scratch) const {
  state_->run(first, second, result, scratch);
}

}  // namespace lockstep

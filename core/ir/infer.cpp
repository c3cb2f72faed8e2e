#include "core/ir/infer.h"

#include <algorithm>
#include <bitset>
#include <string>

#include "core/base/error.h"
#include "core/ir/infer_window.h"
#include "core/ir/type_list.h"

namespace lockstep {
namespace {

bool is_index(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64;
}

/// One call of infer_type, with the data that its rules need for checks and messages.
struct Inference {
  Op op;
  std::span<const Type> in;
  const Attrs& attrs;

  template <class... Args>
  void check(bool ok, fmt::format_string<Args...> expected, Args&&... args) const {
    if (!ok) fail(fmt::format(expected, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail(const std::string& expected) const {
    raise(ErrorKind::kUsage, "{}: {}", describe_application(op, in), expected);
  }
  void check_accepted() const {
    if (in.empty()) return;
    const auto need = [this](bool ok, std::string_view allowed) {
      check(ok, "operands must be {}", allowed);
    };
    const DType dtype = in[0].dtype;
    switch (info_of(op).accepts) {
      case Accepts::kAny: return;
      case Accepts::kNumbers: return need(dtype != DType::kBool, "numbers (convert bool first)");
      case Accepts::kFloats: return need(is_float(dtype), "floats");
      case Accepts::kIntegers: return need(is_integer(dtype), "integers");
      case Accepts::kBits: return need(!is_float(dtype), "bool or integers");
      case Accepts::kSummable:
        return need(dtype == DType::kF32 || dtype == DType::kF64 || is_index(dtype),
                    "f32, f64, i32 or i64");
    }
  }
  DType result_dtype() const {
    switch (info_of(op).gives) {
      case Gives::kFirst: return in[0].dtype;
      case Gives::kSecond: return in[1].dtype;
      case Gives::kBool: return DType::kBool;
      case Gives::kI32: return DType::kI32;
      case Gives::kStated: return attrs.has(Attr::kTo) ? attrs.dtype() : in[0].dtype;
      case Gives::kListed: return listed()[0].dtype;
      case Gives::kNode: fail("the type of this op is stated by its node, not inferred");
    }
    __builtin_unreachable();
  }
  void check_same() const {
    for (const Type& type : in) {
      check(type.dtype == in[0].dtype, "operands must have one dtype (use convert)");
      check(type.shape == in[0].shape, "operands must have one shape");
    }
  }
  /// A list attribute of unique dimensions of `rank`.
  void check_dims(IntView dims, int rank) const {
    std::bitset<Shape::kMaxRank> seen;
    for (const std::int64_t d : dims) {
      check(d >= 0 && d < rank, "dimension {} is out of range", d);
      check(!seen[static_cast<std::size_t>(d)], "dimension {} is named twice", d);
      seen.set(static_cast<std::size_t>(d));
    }
  }
  int axis(int rank) const {
    const std::int64_t a = attrs.integer(Attr::kAxis);
    check(a >= 0 && a < rank, "axis {} is out of range", a);
    return static_cast<int>(a);
  }
  Shape shape() const { return Shape(attrs.ints(Attr::kShape)); }
  std::vector<Type> listed() const { return read_type_list(attrs.ints(Attr::kResults)); }
};

Shape infer_select(const Inference& f) {
  f.check(f.in[0].dtype == DType::kBool, "the first operand must be bool");
  f.check(f.in[1].dtype == f.in[2].dtype, "both choices must have one dtype (use convert)");
  f.check(f.in[0].shape == f.in[1].shape && f.in[1].shape == f.in[2].shape,
          "operands must have one shape");
  return f.in[1].shape;
}

Shape infer_broadcast(const Inference& f) {
  const Shape result = f.shape();
  const auto& dims = f.attrs.ints(Attr::kDims);
  const Shape& from = f.in[0].shape;
  f.check(static_cast<int>(dims.size()) == from.rank(),
          "dims needs one entry for each of the {} dimensions", from.rank());
  for (int i = 0; i < from.rank(); ++i) {
    const std::int64_t to = dims[static_cast<std::size_t>(i)];
    f.check(to >= 0 && to < result.rank(), "dimension {} is out of range of {}", to, result);
    f.check(i == 0 || to > dims[static_cast<std::size_t>(i) - 1], "dims must increase");
    f.check(from[i] == 1 || from[i] == result[static_cast<int>(to)],
            "dimension {} has size {} and cannot become {} of {}", i, from[i],
            result[static_cast<int>(to)], result);
  }
  return result;
}

Shape infer_reshape(const Inference& f) {
  const Shape result = f.shape();
  f.check(result.elements() == f.in[0].elements(), "{} elements do not fit the shape {}",
          f.in[0].elements(), result);
  return result;
}

Shape infer_transpose(const Inference& f) {
  const auto& dims = f.attrs.ints(Attr::kDims);
  const Shape& from = f.in[0].shape;
  f.check(static_cast<int>(dims.size()) == from.rank(),
          "dims must be a permutation of {} dimensions", from.rank());
  f.check_dims(dims, from.rank());
  Shape result;
  for (const std::int64_t d : dims) result.push_back(from.dim(static_cast<int>(d)));
  return result;
}

Shape infer_slice(const Inference& f) {
  const auto& start = f.attrs.ints(Attr::kStart);
  const auto& limit = f.attrs.ints(Attr::kLimit);
  const auto& stride = f.attrs.ints(Attr::kStride);
  const Shape& from = f.in[0].shape;
  const auto rank = static_cast<std::size_t>(from.rank());
  f.check(start.size() == rank && limit.size() == rank && stride.size() == rank,
          "start, limit and stride need {} entries", rank);
  Shape result;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = from[static_cast<int>(i)];
    f.check(stride[i] >= 1, "stride {} of dimension {} must be positive", stride[i], i);
    f.check(0 <= start[i] && start[i] <= limit[i] && limit[i] <= size,
            "range {}:{} of dimension {} is not within 0:{}", start[i], limit[i], i, size);
    result.push_back((limit[i] - start[i] + stride[i] - 1) / stride[i]);
  }
  return result;
}

/// Checks the trailing one-index-per-dimension operands of the dynamic ops.
void check_starts(const Inference& f, std::size_t first) {
  const int rank = f.in[0].shape.rank();
  f.check(static_cast<int>(f.in.size() - first) == rank,
          "one start index for each of {} dimensions is needed", rank);
  for (std::size_t i = first; i < f.in.size(); ++i)
    f.check(f.in[i].dtype == DType::kI64 && f.in[i].shape.rank() == 0,
            "start indices must be i64[]");
}

Shape infer_dynamic_slice(const Inference& f) {
  check_starts(f, 1);
  const Shape result = f.shape();
  f.check(result.rank() == f.in[0].shape.rank(), "the slice {} must have the operand's rank",
          result);
  for (int i = 0; i < result.rank(); ++i)
    f.check(result[i] <= f.in[0].shape[i], "the slice {} is larger than the operand", result);
  return result;
}

Shape infer_dynamic_update_slice(const Inference& f) {
  check_starts(f, 2);
  f.check(f.in[0].dtype == f.in[1].dtype, "the update must have the operand's dtype");
  f.check(f.in[0].shape.rank() == f.in[1].shape.rank(), "the update must have the operand's rank");
  for (int i = 0; i < f.in[0].shape.rank(); ++i)
    f.check(f.in[1].shape[i] <= f.in[0].shape[i], "the update is larger than the operand");
  return f.in[0].shape;
}

Shape infer_pad(const Inference& f) {
  const auto& low = f.attrs.ints(Attr::kLow);
  const auto& high = f.attrs.ints(Attr::kHigh);
  const Shape& from = f.in[0].shape;
  f.check(f.in[1].dtype == f.in[0].dtype && f.in[1].shape.rank() == 0,
          "the value must be a scalar of the operand's dtype");
  f.check(static_cast<int>(low.size()) == from.rank() && low.size() == high.size(),
          "low and high need {} entries", from.rank());
  Shape result;
  for (int i = 0; i < from.rank(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    f.check(low[k] >= 0 && high[k] >= 0, "padding must not be negative");
    result.push_back(low[k] + from[i] + high[k]);
  }
  return result;
}

Shape infer_concatenate(const Inference& f) {
  const int axis = f.axis(f.in[0].shape.rank());
  Shape result = f.in[0].shape;
  std::int64_t total = 0;
  for (const Type& type : f.in) {
    f.check(type.dtype == f.in[0].dtype, "operands must have one dtype (use convert)");
    f.check(type.shape.rank() == result.rank(), "operands must have one rank");
    for (int i = 0; i < result.rank(); ++i)
      f.check(i == axis || type.shape[i] == result[i],
              "operands must agree in all but dimension {}", axis);
    total += type.shape[axis];
  }
  result.set_dim(axis, total);
  return result;
}

/// The shape of gather(x, indices): x's with the axis replaced by the indices' shape.
Shape gathered_shape(const Inference& f) {
  const Shape& x = f.in[0].shape;
  const int axis = f.axis(x.rank());
  f.check(is_index(f.in[1].dtype), "indices must be i32 or i64");
  Shape result;
  for (int i = 0; i < axis; ++i) result.push_back(x.dim(i));
  for (int i = 0; i < f.in[1].shape.rank(); ++i) result.push_back(f.in[1].shape.dim(i));
  for (int i = axis + 1; i < x.rank(); ++i) result.push_back(x.dim(i));
  f.check(x[axis] > 0 || f.in[1].elements() == 0, "the axis is empty, but there are indices");
  return result;
}

Shape infer_scatter_add(const Inference& f) {
  const Shape updates = gathered_shape(f);
  f.check(f.in[0].dtype == f.in[2].dtype, "updates must have the operand's dtype");
  f.check(f.in[2].shape == updates, "updates must have the shape {}", updates);
  return f.in[0].shape;
}

Shape infer_reduce(const Inference& f) {
  const auto& dims = f.attrs.ints(Attr::kDims);
  const Shape& from = f.in[0].shape;
  f.check_dims(dims, from.rank());
  Shape result;
  for (int i = 0; i < from.rank(); ++i)
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) result.push_back(from.dim(i));
  return result;
}

Shape infer_arg_reduce(const Inference& f) {
  const int axis = f.axis(f.in[0].shape.rank());
  f.check(f.in[0].shape[axis] > 0, "the axis is empty");
  Shape result;
  for (int i = 0; i < f.in[0].shape.rank(); ++i)
    if (i != axis) result.push_back(f.in[0].shape.dim(i));
  return result;
}

Shape infer_movement(const Inference& f) {
  switch (as<MovementOp>(f.op)) {
    case Op::kBroadcast: return infer_broadcast(f);
    case Op::kReshape: return infer_reshape(f);
    case Op::kTranspose: return infer_transpose(f);
    case Op::kSlice: return infer_slice(f);
    case Op::kDynamicSlice: return infer_dynamic_slice(f);
    case Op::kDynamicUpdateSlice: return infer_dynamic_update_slice(f);
    case Op::kPad: return infer_pad(f);
    case Op::kConcatenate: return infer_concatenate(f);
    case Op::kGather: return gathered_shape(f);
    case Op::kScatterAdd: return infer_scatter_add(f);
  }
  __builtin_unreachable();
}

Shape infer_leaf(const Inference& f) {
  switch (as<LeafOp>(f.op)) {
    case Op::kIota: {
      const Shape shape = f.shape();
      f.axis(shape.rank());
      f.check(f.attrs.dtype() != DType::kBool, "iota cannot make bool");
      return shape;
    }
    case Op::kRandomBits:
      for (const Type& type : f.in)
        f.check(type.dtype == DType::kI64 && type.shape.rank() == 0,
                "seed, step and micro_batch must be i64[]");
      return f.shape();
    case Op::kReplicaId: return Shape{};
    case Op::kInput:
    case Op::kConstant: break;
  }
  f.fail("the type of this op is stated, not inferred");
}

/// The shape of an op that divides over ranks, or joins divided parts.
Shape infer_divided(const Inference& f) {
  const Type& x = f.in[0];
  const std::int64_t ranks = f.attrs.integer(Attr::kRanks);
  f.check(ranks >= 1, "ranks must be positive");
  f.check(x.shape.rank() >= 1, "the operand must have a dimension to divide over ranks");
  Shape result = x.shape;
  if (f.op == Op::kAllGather) {
    result.set_dim(0, x.shape[0] * ranks);
  } else {
    f.check(x.shape[0] % ranks == 0, "dimension 0 does not divide over {} ranks", ranks);
    result.set_dim(0, x.shape[0] / ranks);
  }
  return result;
}

Shape infer_collective(const Inference& f) {
  switch (as<CollectiveOp>(f.op)) {
    case Op::kAllReduce: return f.in[0].shape;
    case Op::kCollectiveBroadcast:
      f.check(f.attrs.integer(Attr::kRoot) >= 0, "root must not be negative");
      return f.in[0].shape;
    case Op::kReduceScatter:
    case Op::kAllGather: return infer_divided(f);
  }
  __builtin_unreachable();
}

Shape infer_shape(const Inference& f) {
  switch (info_of(f.op).op_class) {
    case OpClass::kLeaf: return infer_leaf(f);
    case OpClass::kUnary:
    case OpClass::kBinary:
    case OpClass::kCompare:
    case OpClass::kConvert: return f.in[0].shape;
    case OpClass::kSelect: return infer_select(f);
    case OpClass::kMovement: return infer_movement(f);
    case OpClass::kReduction: return is_arg_reduction(f.op) ? infer_arg_reduce(f) : infer_reduce(f);
    case OpClass::kContraction: return infer_contraction(f.op, f.in, f.attrs);
    case OpClass::kWindow: return infer_pool(f.op, f.in, f.attrs);
    case OpClass::kAttention: return infer_attention(f.op, f.in, f.attrs);
    case OpClass::kControl:
      if (f.op == Op::kHostCall) return f.listed()[0].shape;
      f.check(f.op == Op::kOptimizationBarrier, "the type of this op is its body's");
      return f.in[0].shape;
    case OpClass::kCollective: return infer_collective(f);
  }
  __builtin_unreachable();
}

void check_operand_count(const Inference& f) {
  const OpInfo& info = info_of(f.op);
  const auto count = static_cast<int>(f.in.size());
  if (count >= info.min_operands && (info.max_operands < 0 || count <= info.max_operands)) return;
  f.fail(fmt::format("takes {} operands, but {} are given",
                     info.max_operands == info.min_operands ? std::to_string(info.min_operands)
                     : info.max_operands < 0
                         ? fmt::format("at least {}", info.min_operands)
                         : fmt::format("{} to {}", info.min_operands, info.max_operands),
                     count));
}

}  // namespace

std::string describe_application(Op op, std::span<const Type> operands) {
  std::string out = std::string(name_of(op)) + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::string(name_of(operands[i].dtype)) + operands[i].shape.to_string(true);
  }
  return out + ")";
}

Type infer_type(Op op, std::span<const Type> operands, const Attrs& attrs) {
  const Inference f{op, operands, attrs};
  check_operand_count(f);
  const OpClass op_class = info_of(op).op_class;
  if (op_class == OpClass::kBinary || op_class == OpClass::kCompare) f.check_same();
  f.check_accepted();
  const Shape shape = infer_shape(f);
  return {f.result_dtype(), shape};
}

}  // namespace lockstep

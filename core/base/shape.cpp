#include "core/base/shape.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {

Shape::Shape(std::initializer_list<Dim> dims) {
  for (const Dim& dim : dims) push_back(dim);
}

Shape::Shape(ArrayRef<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) push_back(size);
}

std::vector<std::int64_t> Shape::strides() const {
  std::vector<std::int64_t> out(static_cast<std::size_t>(rank_));
  std::int64_t stride = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    out[static_cast<std::size_t>(i)] = stride;
    stride *= (*this)[i];
  }
  return out;
}

std::string Shape::to_string(bool with_names) const {
  std::string out = "[";
  for (int i = 0; i < rank_; ++i) {
    const Dim d = dim(i);
    if (i > 0) out += ",";
    if (with_names && d.name != nullptr) out += std::string(d.name) + "=";
    out += std::to_string(d.size);
  }
  return out + "]";
}

void Shape::raise_index(int i) const {
  raise(ErrorKind::kUsage, "dimension {} is out of range for the shape {}", i, to_string());
}

void Shape::raise_rank() {
  raise(ErrorKind::kUsage, "a shape can have at most {} dimensions", kMaxRank);
}

void Shape::raise_size(std::size_t at, std::int64_t size) {
  raise(ErrorKind::kUsage, "dimension {} of a shape has the negative size {}", at, size);
}

void Shape::raise_elements(std::size_t at, const Dim& dim) const {
  Shape refused = *this;
  refused.sizes_[at] = dim.size;
  refused.names_[at] = dim.name;
  refused.rank_ = std::max(rank_, static_cast<int>(at) + 1);
  raise(ErrorKind::kUsage,
        "a tensor of shape {} would have more than {} (2^59) elements, not counting sizes of 0",
        refused.to_string(true), kMaxElements);
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const Dim da = ia >= 0 ? a.dim(ia) : Dim(1);
    const Dim db = ib >= 0 ? b.dim(ib) : Dim(1);
    LS_USER_CHECK(da.size == db.size || da.size == 1 || db.size == 1,
                  "shapes {} and {} cannot be broadcast together: dimension {} is {} and {}",
                  a.to_string(true), b.to_string(true), i, da.size, db.size);
    out.push_back(da.size == 1 ? db : da);
  }
  return out;
}

}  // namespace lockstep

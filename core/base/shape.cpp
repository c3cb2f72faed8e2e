#include "core/base/shape.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {

Shape::Shape(std::initializer_list<Dim> dims) {
  for (const Dim& dim : dims) push_back(dim);
}

Shape::Shape(std::span<const std::int64_t> sizes) {
  for (const std::int64_t size : sizes) push_back(size);
}

void Shape::set_dim(int i, Dim dim) {
  LS_USER_CHECK(dim.size >= 0, "dimension {} of a shape has the negative size {}", i, dim.size);
  dims_[static_cast<std::size_t>(index(i))] = dim;
}

void Shape::push_back(Dim dim) {
  LS_USER_CHECK(rank_ < kMaxRank, "a shape can have at most {} dimensions", kMaxRank);
  LS_USER_CHECK(dim.size >= 0, "dimension {} of a shape has the negative size {}", rank_, dim.size);
  dims_[static_cast<std::size_t>(rank_++)] = dim;
}

std::int64_t Shape::elements() const {
  std::int64_t count = 1;
  for (int i = 0; i < rank_; ++i) count *= dims_[static_cast<std::size_t>(i)].size;
  return count;
}

std::vector<std::int64_t> Shape::sizes() const {
  std::vector<std::int64_t> out(static_cast<std::size_t>(rank_));
  for (int i = 0; i < rank_; ++i) out[static_cast<std::size_t>(i)] = (*this)[i];
  return out;
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
    const Dim& d = dims_[static_cast<std::size_t>(i)];
    if (i > 0) out += ",";
    if (with_names && d.name != nullptr) out += std::string(d.name) + "=";
    out += std::to_string(d.size);
  }
  return out + "]";
}

bool operator==(const Shape& a, const Shape& b) {
  return a.rank_ == b.rank_ &&
         std::equal(a.dims_.begin(), a.dims_.begin() + a.rank_, b.dims_.begin());
}

int Shape::index(int i) const {
  const int out = i < 0 ? i + rank_ : i;
  LS_USER_CHECK(out >= 0 && out < rank_, "dimension {} is out of range for the shape {}", i,
                to_string());
  return out;
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

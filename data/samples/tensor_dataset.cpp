#include "data/samples/tensor_dataset.h"

#include <algorithm>

#include "core/base/error.h"
#include "data/samples/digest.h"

namespace lockstep {
namespace {

Shape row_shape(const HostTensor& tensor) {
  Shape out;
  for (int i = 1; i < tensor.shape().rank(); ++i) out.push_back(tensor.shape().dim(i));
  return out;
}

class TensorDataset final : public Dataset {
 public:
  explicit TensorDataset(std::map<std::string, HostTensor> fields) : tensors_(std::move(fields)) {
    LS_USER_CHECK(!tensors_.empty(), "a dataset of tensors needs at least one field");
    for (const auto& [name, tensor] : tensors_) {
      const bool has_rows = tensor.shape().rank() > 0 && tensor.shape()[0] > 0;
      LS_USER_CHECK(has_rows, "field '{}' of shape {} has no rows", name,
                    tensor.shape().to_string());
      const std::int64_t rows = tensor.shape()[0];
      LS_USER_CHECK(size_ == 0 || rows == size_, "field '{}' has {} rows, others have {}", name,
                    rows, size_);
      size_ = rows;
    }
  }

  std::int64_t size() const override { return size_; }

  std::vector<FieldSpec> fields() const override {
    std::vector<FieldSpec> out;
    out.reserve(tensors_.size());
    for (const auto& [name, tensor] : tensors_)
      out.push_back({.name = name, .dtype = tensor.dtype(), .shape = row_shape(tensor)});
    return out;
  }

  Sample get(std::int64_t index) const override {
    check_index(*this, index);
    Sample out;
    for (const auto& [name, tensor] : tensors_) {
      HostTensor row(tensor.dtype(), row_shape(tensor));
      const std::size_t bytes = row.bytes().size();
      const auto from = tensor.bytes().subspan(static_cast<std::size_t>(index) * bytes, bytes);
      std::ranges::copy(from, row.bytes().begin());
      out.emplace(name, std::move(row));
    }
    return out;
  }

  std::string digest() const override {
    Sha256 out;
    for (const auto& [name, tensor] : tensors_) {
      const std::string head =
          fmt::format("{} {} {}\n", name, name_of(tensor.dtype()), tensor.shape().to_string());
      out.update(head.data(), head.size());
      out.update(tensor.bytes().data(), tensor.bytes().size());
    }
    return finish_hex(out);
  }

  std::string describe() const override { return fmt::format("{} samples in memory", size_); }
  std::string source(std::int64_t /*index*/) const override { return ""; }

 private:
  std::map<std::string, HostTensor> tensors_;
  std::int64_t size_ = 0;
};

}  // namespace

DatasetPtr tensor_dataset(std::map<std::string, HostTensor> fields) {
  return std::make_shared<TensorDataset>(std::move(fields));
}

}  // namespace lockstep

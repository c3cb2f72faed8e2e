// Memory. A Buffer is a block of bytes in one memory space; a HostTensor is a typed, shaped view of
// a host buffer, which loader, checkpoint and device copies exchange.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/api.h"
#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/base/shape.h"

namespace LOCKSTEP_API lockstep {

/// Where a buffer's bytes live. Device memory may be touched only by the device and its copies.
enum class MemorySpace : std::uint8_t {
  kHost,    ///< memory of the process
  kDevice,  ///< memory of the device, with its limit
};

/// Owned bytes, 64-byte aligned. Not copyable; shared by shared_ptr. The release hook lets an
/// allocator take its accounting (or the memory itself) back.
class Buffer {
 public:
  /// Called once with the bytes and their number when the buffer ends.
  using Release = std::function<void(std::byte*, std::size_t)>;
  static constexpr std::size_t kAlignment = 64;  ///< bytes

  /// Takes over `bytes` bytes at `data`, aligned to kAlignment; `release` gives them back.
  Buffer(std::byte* data, std::size_t bytes, MemorySpace space, Release release)
      : data_(data), bytes_(bytes), space_(space), release_(std::move(release)) {}
  ~Buffer() { release_(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }     ///< the first byte
  std::size_t bytes() const { return bytes_; }  ///< the number of bytes
  MemorySpace space() const { return space_; }  ///< where they live

 private:
  std::byte* data_;
  std::size_t bytes_;
  MemorySpace space_;
  Release release_;
};

/// A buffer with several holders; the last one releases it.
using BufferPtr = std::shared_ptr<Buffer>;

/// Uninitialized host memory. Throws std::bad_alloc.
BufferPtr allocate_host(std::size_t bytes);

/// A dense row-major tensor in host memory. Copies share the bytes.
class HostTensor {
 public:
  HostTensor() = default;  ///< without elements: empty() is true
  /// Uninitialized elements.
  HostTensor(DType dtype, Shape shape)
      : dtype_(dtype),
        shape_(shape),
        buffer_(allocate_host(static_cast<std::size_t>(shape.elements()) * size_of(dtype))) {}

  /// A copy of `values`; error kUsage if their number is not the shape's.
  template <class T>
  static HostTensor of(Shape shape, std::span<const T> values) {
    HostTensor out(DTypeOf<T>::value, shape);
    LS_USER_CHECK(static_cast<std::int64_t>(values.size()) == shape.elements(),
                  "{} values given for a tensor of shape {}", values.size(), shape.to_string());
    if (!values.empty()) std::memcpy(out.bytes().data(), values.data(), values.size_bytes());
    return out;
  }
  /// The same of a vector.
  template <class T>
  static HostTensor of(Shape shape, const std::vector<T>& values) {
    return of(shape, std::span<const T>(values));
  }
  /// A tensor of shape [] with this element.
  template <class T>
  static HostTensor scalar(T value) {
    return of(Shape{}, std::span<const T>(&value, 1));
  }

  DType dtype() const { return dtype_; }         ///< the element type
  const Shape& shape() const { return shape_; }  ///< its dimensions
  /// Whether it has no memory, as a default-constructed one.
  bool empty() const { return buffer_ == nullptr; }
  /// The elements as bytes, row-major; none if empty().
  std::span<std::byte> bytes() const {
    return buffer_ == nullptr ? std::span<std::byte>{}
                              : std::span<std::byte>(buffer_->data(), buffer_->bytes());
  }

  /// The elements. Error kUsage if T is not the storage type of dtype().
  template <class T>
  std::span<T> as() const {
    LS_USER_CHECK(DTypeOf<std::remove_const_t<T>>::value == dtype_, "a {} tensor was read as {}",
                  name_of(dtype_), name_of(DTypeOf<std::remove_const_t<T>>::value));
    return {reinterpret_cast<T*>(bytes().data()), static_cast<std::size_t>(shape_.elements())};
  }

 private:
  DType dtype_ = DType::kF32;
  Shape shape_;
  BufferPtr buffer_;
};

/// The elements of any dtype as doubles, in order (bool as 0 or 1).
std::vector<double> to_doubles(const HostTensor& tensor);

/// A tensor of `dtype` from doubles, each rounded once, to nearest even. Integers are clamped to
/// their range; NaN becomes integer 0; anything but zero is true.
HostTensor from_doubles(DType dtype, Shape shape, std::span<const double> values);

}  // namespace lockstep

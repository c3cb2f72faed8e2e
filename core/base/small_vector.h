// A vector that holds up to N numbers without an allocation: for operands and attributes of graph
// nodes, of which a step makes thousands. It has the subset of std::vector that they need.
// Iterators are pointers; the operations that invalidate them are those of std::vector.
//
// Boost's small_vector does more, but public headers include no foreign header except fmt's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <type_traits>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// A vector of trivially copyable elements, of which N need no allocation.
template <class T, std::size_t N>
requires std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>
class SmallVector {
 public:
  /// As std::vector's members of the same names; indices are not checked.
  /// @{
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() noexcept {
  }  // NOLINT(modernize-use-equals-default): does not initialize the elements
  explicit SmallVector(std::size_t count, T value = T()) { resize(count, value); }
  SmallVector(std::initializer_list<T> list) : SmallVector(list.begin(), list.end()) {}
  template <std::input_iterator It>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): iterators are passed by value
  SmallVector(It first, It last) {
    insert(end(), first, last);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~SmallVector() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + std::size_t{1});
    data_[size_++] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(std::size_t count, T value = T()) {
    if (count > capacity_) grow(count);
    if (count > size_) std::fill(data_ + size_, data_ + count, value);
    size_ = static_cast<std::uint32_t>(count);
  }
  template <std::input_iterator It>
  void assign(It first, It last) {
    clear();
    insert(end(), first, last);
  }

  T* insert(const T* at, T value) { return insert(at, &value, &value + 1); }
  /// [first, last) must not point into this vector.
  template <std::input_iterator It>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): iterators are passed by value
  T* insert(const T* at, It first, It last) {
    const auto index = static_cast<std::size_t>(at - data_);
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    if (size_ + count > capacity_) grow(size_ + count);
    std::copy_backward(data_ + index, data_ + size_, data_ + size_ + count);
    std::copy(first, last, data_ + index);
    size_ += static_cast<std::uint32_t>(count);
    return data_ + index;
  }
  T* erase(const T* at) { return erase(at, at + 1); }
  T* erase(const T* first, const T* last) {
    T* const to = data_ + (first - data_);
    std::copy(last, static_cast<const T*>(end()), to);
    size_ -= static_cast<std::uint32_t>(last - first);
    return to;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  /// @}

 private:
  /// Room for at least `count` elements, and for twice as many as before.
  void grow(std::size_t count) {
    const std::size_t capacity = std::max<std::size_t>(count, std::size_t{2} * capacity_);
    T* const data = new T[capacity];
    std::copy(data_, data_ + size_, data);
    release();
    data_ = data;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  void release() {
    if (data_ != inline_) delete[] data_;
  }
  /// Takes other's elements and leaves it empty. This vector's own memory must have been released.
  void take(SmallVector& other) noexcept {
    size_ = other.size_;
    if (other.data_ == other.inline_) {
      data_ = inline_;
      capacity_ = N;
      std::copy(other.inline_, other.inline_ + size_, inline_);
    } else {
      data_ = other.data_;
      capacity_ = other.capacity_;
      other.data_ = other.inline_;
      other.capacity_ = N;
    }
    other.size_ = 0;
  }

  T* data_ = inline_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  T inline_[N];
};

}  // namespace lockstep

// A list as a parameter of a function: the caller passes braces, a contiguous container or a view.
// Refers to the elements, which must outlive the call.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// A view of constant elements that any list of them converts to.
template <class T>
class ArrayRef : public std::span<const T> {
 public:
  ArrayRef() = default;
  /// Of `count` elements from `first` on.
  ArrayRef(const T* first, std::size_t count) : std::span<const T>(first, count) {}
  /// Of the elements in braces, until the end of the full expression.
  ArrayRef(std::initializer_list<T> list)  // NOLINT(google-explicit-constructor)
      : std::span<const T>(list.begin(), list.size()) {}
  /// Of a container with data() and size(): std::vector, std::span, SmallVector.
  template <class List>
  requires requires(const List& list) {
    { list.data() } -> std::convertible_to<const T*>;
    list.size();
  }
  ArrayRef(const List& list)  // NOLINT(google-explicit-constructor)
      : std::span<const T>(list.data(), list.size()) {}
};

}  // namespace lockstep

// The settings of one model, dataset or optimizer, as a type-erased value.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <typeindex>
#include <utility>

#include "core/base/api.h"
#include "core/base/error.h"

namespace LOCKSTEP_API lockstep {

/// A struct of settings of any type.
class OwnConfig {
 public:
  /// Empty: stands for the defaults.
  OwnConfig() = default;
  /// Holds a copy of a struct.
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, OwnConfig>) explicit OwnConfig(T&& value)
      : held_(std::make_unique<Held<std::remove_cvref_t<T>>>(std::forward<T>(value))) {}
  /// Copies the struct.
  OwnConfig(const OwnConfig& other) : held_(other.held_ ? other.held_->clone() : nullptr) {}
  OwnConfig(OwnConfig&&) noexcept = default;
  /// Holds what `other` holds.
  OwnConfig& operator=(OwnConfig other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }

  bool empty() const { return held_ == nullptr; }  ///< whether it holds nothing

  /// The struct. Error kInternal if it has another type.
  template <class T>
  const T& as() const {
    check(typeid(T));
    return *static_cast<const T*>(held_->object());
  }
  /// Likewise.
  template <class T>
  T& as() {
    check(typeid(T));
    return *static_cast<T*>(held_->object());
  }

  /// The struct that holds the members of its keys; null if empty.
  void* object() const { return held_ ? held_->object() : nullptr; }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual std::unique_ptr<Any> clone() const = 0;
    virtual void* object() = 0;
    virtual std::type_index type() const = 0;
  };
  template <class T>
  struct Held final : Any {
    template <class From>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a Held is never copied or moved
    explicit Held(From&& from) : value(std::forward<From>(from)) {}
    std::unique_ptr<Any> clone() const override { return std::make_unique<Held>(value); }
    void* object() override { return &value; }
    std::type_index type() const override { return typeid(T); }
    T value;
  };

  void check(std::type_index wanted) const {
    LS_CHECK(held_ != nullptr && held_->type() == wanted, "a config of {}, not of {}",
             held_ ? held_->type().name() : "nothing", wanted.name());
  }

  std::unique_ptr<Any> held_;
};

}  // namespace lockstep

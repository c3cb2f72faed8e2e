#include "core/base/event.h"

#include <utility>

namespace lockstep {

EventPtr Event::completed() {
  auto out = std::make_shared<Event>();
  out->set();
  return out;
}

void Event::set() {
  finish(nullptr);
}

void Event::fail(std::exception_ptr error) {
  finish(std::move(error));
}

void Event::finish(std::exception_ptr error) {
  std::vector<std::function<void()>> callbacks;
  {
    const std::lock_guard lock(mutex_);
    if (ready_) return;
    ready_ = true;
    error_ = std::move(error);
    callbacks = std::move(callbacks_);
  }
  changed_.notify_all();
  for (const auto& callback : callbacks) callback();
}

bool Event::is_ready() const {
  const std::lock_guard lock(mutex_);
  return ready_;
}

std::exception_ptr Event::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void Event::wait_quietly() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_; });
}

void Event::wait() const {
  wait_quietly();
  if (const auto failure = error()) std::rethrow_exception(failure);
}

void Event::on_ready(std::function<void()> f) {
  {
    const std::lock_guard lock(mutex_);
    if (!ready_) {
      callbacks_.push_back(std::move(f));
      return;
    }
  }
  f();
}

}  // namespace lockstep

#include "watch/announcer.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace lockstep {

Announcer::~Announcer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Announcer::set_log(Log* log, bool is_console) {
  const std::lock_guard lock(log_mutex_);
  log_ = log;
  log_is_console_ = is_console;
}

void Announcer::say(Weight weight, std::string message, bool aloud) {
  const std::lock_guard lock(mutex_);
  messages_.push_back({weight, std::move(message), aloud});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void Announcer::wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return messages_.empty() && !writing_; });
}

void Announcer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !messages_.empty(); });
    if (messages_.empty()) return;
    const Message message = std::move(messages_.front());
    messages_.pop_front();
    writing_ = true;
    lock.unlock();
    write(message);
    lock.lock();
    writing_ = false;
    changed_.notify_all();
  }
}

void Announcer::write(const Message& message) {
  const bool error = message.weight == Weight::kError;
  if (message.weight == Weight::kNote) {
    fmt::print(stderr, "lockstep: {}\n", message.text);
    std::fflush(stderr);
    return;
  }
  const std::lock_guard lock(log_mutex_);
  // Standard error first: mpirun forwards it at once.
  if (message.aloud && (error || log_ == nullptr || !log_is_console_)) {
    fmt::print(stderr, "lockstep: {}: {}\n", error ? "error" : "warning", message.text);
    std::fflush(stderr);
  }
  if (log_ == nullptr) return;
  if (error) {
    log_->error("{}", message.text);
  } else {
    log_->warn("{}", message.text);
  }
}

}  // namespace lockstep

#include "trainer/device_feed.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {
namespace {

DeviceBatch start_copies(StepBatch batch, Device& device) {
  DeviceBatch out;
  out.step = batch.step;
  for (const auto& [name, first] : batch.shards[0]) {
    std::vector<HostTensor> shards;
    for (const Batch& shard : batch.shards) shards.push_back(shard.at(name));
    out.fields[name] = device.copy_to_device(std::move(shards), "batch." + name);
  }
  return out;
}

}  // namespace

DeviceFeed::DeviceFeed(Loader& loader, Device& device, std::int64_t depth)
    : loader_(loader),
      device_(device),
      depth_(static_cast<std::size_t>(std::max<std::int64_t>(depth, 1))),
      thread_([this] { run(); }) {}

DeviceFeed::~DeviceFeed() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

DeviceBatch DeviceFeed::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || error_; });
  if (ready_.empty()) std::rethrow_exception(error_);
  DeviceBatch out = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return out;
}

void DeviceFeed::run() {
  try {
    while (loader_.has_next()) {
      DeviceBatch batch = start_copies(loader_.next(), device_);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || ready_.size() < depth_; });
      if (stop_) return;
      ready_.push_back(std::move(batch));
      changed_.notify_all();
    }
    raise(ErrorKind::kInternal, "the loader has no more batches");
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

}  // namespace lockstep

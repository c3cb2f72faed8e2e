#include "trainer/train/device_feed.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {
namespace {

DeviceBatch start_copies(StepBatch batch, Device& device,
                         const std::shared_ptr<Reservation>& room) {
  DeviceBatch out;
  out.step = batch.step;
  out.skipped = std::move(batch.skipped);
  out.cpu_ns = batch.cpu_ns;
  for (const auto& [name, first] : batch.micro_batches[0]) {
    std::vector<HostTensor> micro_batches;
    micro_batches.reserve(batch.micro_batches.size());
    for (const HostBatch& micro_batch : batch.micro_batches)
      micro_batches.push_back(micro_batch.at(name));
    for (const HostTensor& micro_batch : micro_batches)
      out.bytes += static_cast<std::int64_t>(micro_batch.bytes().size());
    out.fields[name] = device.copy_to_device(std::move(micro_batches), "batch." + name, room);
  }
  return out;
}

}  // namespace

std::int64_t batches_on_device(const DeviceOptions& device, std::int64_t depth) {
  return depth + device.steps_in_flight();
}

DeviceFeed::DeviceFeed(Loader& loader, Device& device, std::int64_t depth, std::int64_t step_bytes)
    : loader_(loader),
      device_(device),
      depth_(static_cast<std::size_t>(std::max<std::int64_t>(depth, 1))),
      room_(std::make_shared<Reservation>(device.allocator(), "batches on the device")) {
  room_->grow_to(static_cast<std::size_t>(batches_on_device(device.options(), depth) * step_bytes));
  thread_ = std::thread([this] { run(); });
}

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
  tell_prefetched();
  changed_.notify_all();
  return out;
}

void DeviceFeed::tell_prefetched() {
  device_.spans().level(LevelKind::kPrefetched, static_cast<std::int64_t>(ready_.size()));
}

void DeviceFeed::run() {
  try {
    while (loader_.has_next()) {
      StepBatch loaded = [this] {
        const ScopedSpan span(device_.spans(), SpanKind::kLoaderWait);
        return loader_.next();
      }();
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || ready_.size() < depth_; });
        if (stop_) return;
      }
      DeviceBatch batch = start_copies(std::move(loaded), device_, room_);
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::move(batch));
      tell_prefetched();
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

#include "core/runtime/device.h"

#include <cstring>

#include "core/base/error.h"
#include "core/runtime/counted_copy.h"

namespace lockstep {

class Device::Worker {
 public:
  explicit Worker(std::size_t depth, CoreWait* core_wait = nullptr)
      : depth_(depth), thread_([this, core_wait] { run(core_wait); }) {}
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void push(std::function<void()> command) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.size() < depth_; });
    queue_.push_back(std::move(command));
    changed_.notify_all();
  }

  std::thread::id thread_id() const { return thread_.get_id(); }

  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return queue_.size();
  }

 private:
  void run(CoreWait* core_wait) {
    flush_denormals();
    if (core_wait != nullptr) core_wait->add_this_thread();
    while (true) {
      std::function<void()> command;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        if (queue_.empty()) return;
        command = std::move(queue_.front());
        queue_.pop_front();
      }
      changed_.notify_all();
      command();
    }
  }

  std::size_t depth_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stop_ = false;
  std::thread thread_;
};

namespace {
// Transfers are bounded by the loader's prefetch; the queue only has to be finite.
constexpr std::size_t kTransferQueue = 1024;

DeviceOptions checked(const DeviceOptions& options) {
  LS_USER_CHECK(options.threads >= 1 && options.queue_depth >= 1 && options.transfer_threads >= 1,
                "a device needs at least 1 thread, 1 place in its queue and 1 transfer thread, not "
                "{}, {} and {}",
                options.threads, options.queue_depth, options.transfer_threads);
  return options;
}

}  // namespace

Device::Device(const DeviceOptions& options, SpanStream& spans)
    : options_(checked(options)),
      spans_(spans),
      allocator_(options.memory_bytes, options.host_bytes),
      pool_(std::make_unique<ThreadPool>(
          options.threads, PoolOptions{.on_start = [this] { core_wait_.add_this_thread(); },
                                       .activity = options.activity,
                                       .spin = options.may_spin})),
      stream_(
          std::make_unique<Worker>(static_cast<std::size_t>(options.queue_depth), &core_wait_)) {
  for (int i = 0; i < options.transfer_threads; ++i)
    transfers_.push_back(std::make_unique<Worker>(kTransferQueue));
}

Device::~Device() = default;

void Device::enqueue(std::function<void()> command) {
  {
    const ScopedSpan span(spans_, SpanKind::kQueueWait);
    stream_->push(std::move(command));
  }
  if (spans_.wants_levels()) tell_queue_depth();
}

std::thread::id Device::thread_id() const {
  return stream_->thread_id();
}

bool Device::has_drained() const {
  return stream_->waiting() == 0;
}

void Device::tell_queue_depth() {
  spans_.level(LevelKind::kQueueDepth, static_cast<std::int64_t>(stream_->waiting()));
}

void Device::synchronize() {
  const auto done = std::make_shared<Event>();
  stream_->push([done] { done->set(); });
  done->wait();
}

DeviceTensorPtr Device::copy_to_device(std::vector<HostTensor> micro_batches, std::string label,
                                       std::shared_ptr<Reservation> room) {
  LS_USER_CHECK(!micro_batches.empty(), "nothing to copy to the device for {}", label);
  const Type type{micro_batches[0].dtype(), micro_batches[0].shape()};
  for (const HostTensor& micro_batch : micro_batches)
    LS_USER_CHECK((Type{micro_batch.dtype(), micro_batch.shape()} == type),
                  "micro-batches of {} differ: {} and {}{}", label, type.to_string(),
                  name_of(micro_batch.dtype()), micro_batch.shape().to_string());
  auto out = std::make_shared<DeviceTensor>(type, std::move(label));
  Worker& worker = *transfers_[next_transfer_++ % transfers_.size()];
  worker.push([this, out, micro_batches = std::move(micro_batches),
               room = std::move(room)]() mutable {
    const auto ready = out->ready;
    try {
      const std::string what =
          spans_.is_heard(SpanKind::kTransferToDevice) ? out->label.to_string() : "";
      const std::size_t each = micro_batches[0].bytes().size();
      const ScopedSpan span(spans_,
                            {.kind = SpanKind::kTransferToDevice,
                             .name = what,
                             .args = {static_cast<std::int64_t>(each * micro_batches.size())}});
      for (const HostTensor& micro_batch : micro_batches) {
        const std::size_t bytes = micro_batch.bytes().size();
        AllocationLabel what = fmt::format("{} {}", out->type.to_string(), out->label.to_string());
        BufferPtr buffer = room ? room->allocate(bytes, std::move(what))
                                : allocator_.allocate(bytes, std::move(what));
        copy_to_device_memory(buffer->data(), micro_batch, spans_.metrics());
        out->buffers.push_back(std::move(buffer));
        options_.activity.progress();
      }
      out.reset();   // a thread that waits for the tensor may be its last holder
      room.reset();  // and may rely on its reserved memory being free with the last block
      ready->set();
    } catch (...) {
      out->buffers.clear();
      ready->fail(std::current_exception());
    }
  });
  return out;
}

DeviceTensorPtr Device::make_zeros(const Type& type, std::string label) {
  auto out = std::make_shared<DeviceTensor>(type, std::move(label));
  transfers_[next_transfer_++ % transfers_.size()]->push([this, out]() mutable {
    const auto ready = out->ready;
    try {
      out->buffers.push_back(allocator_.allocate(
          out->type.bytes(), fmt::format("{} {}", out->type.to_string(), out->label.to_string())));
      std::memset(out->buffers[0]->data(), 0, out->type.bytes());
      options_.activity.progress();
      out.reset();
      ready->set();
    } catch (...) {
      out->buffers.clear();
      ready->fail(std::current_exception());
    }
  });
  return out;
}

HostTensor Device::copy_to_host(const DeviceTensor& tensor) {
  {
    const std::string what =
        spans_.is_heard(SpanKind::kDeviceLockWait) ? tensor.label.to_string() : "";
    const ScopedSpan span(spans_, {.kind = SpanKind::kDeviceLockWait, .name = what});
    tensor.ready->wait();
  }
  LS_CHECK(!tensor.is_taken(), "{} is read after a step has taken its memory",
           tensor.label.to_string());
  if (has_drained()) spans_.metrics().count("DrainingRead");
  LS_USER_CHECK(tensor.buffers.size() == 1,
                "{} {} has one value for each of {} micro-batches: all_reduce it before reading",
                tensor.type.to_string(), tensor.label.to_string(), tensor.buffers.size());
  HostTensor out(tensor.type.dtype, tensor.type.shape);
  const ScopedSpan span(spans_, {.kind = SpanKind::kTransferFromDevice,
                                 .args = {static_cast<std::int64_t>(out.bytes().size())}});
  copy_from_device_memory(out, tensor.buffers[0]->data(), spans_.metrics());
  if (virtual_clock_ != nullptr)
    virtual_clock_->read(tensor.exists_ns, static_cast<std::int64_t>(out.bytes().size()));
  return out;
}

}  // namespace lockstep

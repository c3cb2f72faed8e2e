#include "core/runtime/reduction.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// to[i] = left[i] + right[i]; `to` may be either. Blocks have a fixed size, so that threads divide
/// outputs only.
template <class T>
void add_blocks(T* to, const T* left, const T* right, std::int64_t count, ThreadPool& pool) {
  constexpr std::int64_t kBlock = 1 << 16;
  pool.parallel_for((count + kBlock - 1) / kBlock, [&](std::int64_t block) {
    const std::int64_t end = std::min(count, (block + 1) * kBlock);
    for (std::int64_t i = block * kBlock; i < end; ++i) to[i] = left[i] + right[i];
  });
}

void add_bucket(const Bucket& bucket, std::byte* to, const std::byte* left, const std::byte* right,
                ThreadPool& pool) {
  const auto add = [&]<class T>(T) {
    add_blocks(reinterpret_cast<T*>(to + bucket.offset),
               reinterpret_cast<const T*>(left + bucket.offset),
               reinterpret_cast<const T*>(right + bucket.offset), bucket.count, pool);
  };
  switch (bucket.dtype) {
    case DType::kF32: add(float{}); return;
    case DType::kF64: add(double{}); return;
    // Unsigned arithmetic wraps, as integer ops do.
    case DType::kI32: add(std::uint32_t{}); return;
    case DType::kI64: add(std::uint64_t{}); return;
    case DType::kBF16:
    case DType::kF16:
    case DType::kU8:
    case DType::kBool: break;
  }
  LS_CHECK(false, "{} values cannot be summed over ranks", name_of(bucket.dtype));
}

}  // namespace

Reduction::Reduction(const ReductionLayout& layout, const Context& context,
                     std::int64_t micro_batches)
    : layout_(layout), context_(context), micro_batches_(micro_batches) {
  reserve();
  take_buffer();
  for (const Bucket& bucket : layout.buckets)
    open_values_.push_back(static_cast<int>(bucket.values.size()));
}

void Reduction::reserve() {
  const auto bytes = static_cast<std::size_t>(layout_.bytes);
  for (int i = 1; i < reduction_buffers(micro_batches_); ++i)
    free_.push_back(context_.allocator.allocate(bytes, fmt::format("gradient sums, buffer {}", i)));
  const AllocationLabel label = "gradient sums, buffer 0";
  // A reduction without sums, such as that of an evaluation's batch, requests no buffer: not every
  // rank has one.
  if (context_.communicator.size() > 1 && bytes > 0) {
    last_ = context_.allocator.adopt(bytes, label, [&]() -> std::shared_ptr<std::byte> {
      shared_ = context_.communicator.shared_buffer(bytes);
      if (shared_ == nullptr) return nullptr;
      return {shared_, shared_->data()};
    });
  }
  if (last_ == nullptr) last_ = context_.allocator.allocate(bytes, label);
}

// Before the last micro-batch another buffer is always free, or will be: the content of the last
// micro-batch's buffer is then added to a subtree and not kept.
void Reduction::take_buffer() {
  if (is_last_micro_batch() || free_.empty()) {
    current_ = last_;
    return;
  }
  current_ = std::move(free_.back());
  free_.pop_back();
}

void Reduction::free_buffer(BufferPtr buffer) {
  if (buffer != last_) free_.push_back(std::move(buffer));
}

void Reduction::begin_writing() {
  if (shared_ != nullptr && current_ == last_) {
    const ScopedSpan span(context_.spans, exposed());
    shared_->wait_until_writable();
  }
  clear_padding(current_->data());
}

// The padding between values is summed and sent too.
void Reduction::clear_padding(std::byte* buffer) const {
  for (std::size_t i = 0; i < layout_.sizes.size(); ++i)
    std::memset(buffer + layout_.offsets[i] + layout_.sizes[i], 0,
                static_cast<std::size_t>(slot_bytes(layout_.sizes[i]) - layout_.sizes[i]));
}

Reduction::~Reduction() {
  for (const EventPtr& event : events_) event->wait_quietly();
}

std::byte* Reduction::slot(std::int32_t value) const {
  return current_->data() + layout_.offsets[static_cast<std::size_t>(value)];
}

const std::byte* Reduction::result(std::int32_t value) const {
  if (shared_ == nullptr) return slot(value);
  return shared_->sums() + layout_.offsets[static_cast<std::size_t>(value)];
}

void Reduction::finish_value(std::int32_t value) {
  if (!is_last_micro_batch() || !context_.overlap) return;
  const auto bucket = static_cast<std::size_t>(layout_.bucket_of[static_cast<std::size_t>(value)]);
  if (--open_values_[bucket] > 0) return;
  // All ranks submit in the buckets' order, in whatever order their values finish.
  while (events_.size() < layout_.buckets.size() && open_values_[events_.size()] == 0)
    finish_bucket(events_.size());
}

void Reduction::finish_micro_batch() {
  if (!is_last_micro_batch()) {
    push_partial_sum();
    ++micro_batch_;
    take_buffer();
    return;
  }
  while (events_.size() < layout_.buckets.size()) finish_bucket(events_.size());
}

void Reduction::wait() {
  const ScopedSpan span(context_.spans, exposed());
  for (const EventPtr& event : events_) context_.communicator.wait(event);
}

Span Reduction::exposed() const {
  return {
      .kind = SpanKind::kExposedComm, .step = context_.step, .correlation = context_.correlation};
}

Span Reduction::gradient_sums(std::int64_t bucket) const {
  return {.kind = SpanKind::kGradientSums,
          .step = context_.step,
          .correlation = context_.correlation,
          .args = {bucket}};
}

void Reduction::push_partial_sum() {
  const ScopedSpan span(context_.spans, gradient_sums(-1));
  Partial sum{std::move(current_), 1};
  while (!partials_.empty() && partials_.back().micro_batches == sum.micro_batches) {
    Partial left = std::move(partials_.back());
    partials_.pop_back();
    for (const Bucket& bucket : layout_.buckets)
      add_bucket(bucket, left.sum->data(), left.sum->data(), sum.sum->data(), context_.pool);
    free_buffer(std::move(sum.sum));
    sum = {std::move(left.sum), left.micro_batches * 2};
  }
  partials_.push_back(std::move(sum));
}

void Reduction::finish_bucket(std::size_t index) {
  const ScopedSpan span(context_.spans, gradient_sums(static_cast<std::int64_t>(index)));
  const Bucket& bucket = layout_.buckets[index];
  // The last leaf closes every open subtree, smallest first.
  for (std::size_t i = partials_.size(); i-- > 0;)
    add_bucket(bucket, current_->data(), partials_[i].sum->data(), current_->data(), context_.pool);
  if (context_.communicator.size() == 1) {
    events_.push_back(Event::completed());
    return;
  }
  CollectiveRequest request;
  request.kind = CollectiveKind::kAllReduce;
  request.data = current_->data() + bucket.offset;
  request.dtype = bucket.dtype;
  request.count = bucket.count;
  request.step = context_.step;
  request.bucket = static_cast<int>(index);
  request.signature = layout_.signature;
  if (index == 0) request.carried = context_.carried;
  if (VirtualExecution* times = context_.virtual_time) {
    request.virtual_ns = times->ready_ns[index];
    request.latest_virtual_ns = &times->latest_ns[index];
  }
  // Waiters see the bucket's end only after its span was recorded: the stream of spans may be gone
  // as soon as the last one has been waited for.
  const auto done = std::make_shared<Event>();
  Span whole{
      .kind = SpanKind::kAllReduce,
      .begin_ns = context_.spans.clock().now_ns(),
      .step = context_.step,
      .correlation = context_.correlation,
      .args = {request.bucket, request.count * static_cast<std::int64_t>(size_of(request.dtype))}};
  const EventPtr sum = context_.communicator.submit(std::move(request));
  sum->on_ready([&sum = *sum, done, whole, &spans = context_.spans]() mutable {
    whole.end_ns = spans.clock().now_ns();
    spans.record(whole);
    if (const std::exception_ptr error = sum.error()) {
      done->fail(error);
    } else {
      done->set();
    }
  });
  events_.push_back(done);
}

}  // namespace lockstep

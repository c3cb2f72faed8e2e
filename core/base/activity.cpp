#include "core/base/activity.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace lockstep {
namespace {

void begin_in(ActivityPage::Lane& lane, Phase phase, std::int64_t step,
              std::string_view what) noexcept {
  lane.what.store(what);
  lane.step_plus_one.store(step + 1, std::memory_order_relaxed);
  lane.phase.store(static_cast<std::uint32_t>(phase), std::memory_order_release);
}

}  // namespace

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::kStart: return "the start of the process";
    case Phase::kConfig: return "the reading of the config";
    case Phase::kData: return "the opening of the data";
    case Phase::kConnect: return "MPI_Init";
    case Phase::kAgree: return "the comparison of ranks";
    case Phase::kPrepare: return "the preparation of the run";
    case Phase::kProgram: return "the program's own code";
    case Phase::kInputWait: return "the wait for the loader";
    case Phase::kTrace: return "the recording of the step";
    case Phase::kCompile: return "a compilation";
    case Phase::kRead: return "the reading of its numbers";
    case Phase::kDeviceWait: return "the wait for the device";
    case Phase::kForward: return "forward and backward";
    case Phase::kReduce: return "all_reduce";
    case Phase::kUpdate: return "the update";
    case Phase::kEvaluate: return "an evaluation";
    case Phase::kSnapshot: return "a checkpoint's snapshot";
    case Phase::kWrite: return "the write of a checkpoint";
    case Phase::kGenerate: return "sampling";
    case Phase::kFinish: return "the end of the run";
    case Phase::kGoodbye: return "the goodbye";
    case Phase::kDisconnect: return "MPI_Finalize";
    case Phase::kExit: return "the end of the process";
    case Phase::kIdle: return "idleness";
  }
  return "an unknown phase";  // of a page that another build wrote
}

void SharedText::store(std::string_view text) noexcept {
  const std::uint32_t version = version_.load(std::memory_order_relaxed) | 1;
  version_.store(version, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  const std::size_t bytes = std::min(text.size(), kBytes - 1);
  for (std::size_t at = 0; at < bytes + 1; at += 8) {  // the last word ends in a zero
    std::uint64_t word = 0;
    if (at < bytes) std::memcpy(&word, text.data() + at, std::min<std::size_t>(8, bytes - at));
    words_[at / 8].store(word, std::memory_order_relaxed);
  }
  version_.store(version + 1, std::memory_order_release);
}

std::string SharedText::load() const {
  constexpr int kTries = 100;
  std::array<std::uint64_t, kBytes / 8> words{};
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::uint32_t before = version_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = words_[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if ((before & 1) == 0 && version_.load(std::memory_order_relaxed) == before) break;
    std::this_thread::yield();
  }
  const auto* text = reinterpret_cast<const char*>(words.data());
  return {text, strnlen(text, kBytes)};
}

void Activity::begin(Phase phase, std::int64_t step, std::string_view what) const noexcept {
  if (page_ == nullptr) return;
  begin_in(page_->host, phase, step, what);
  progress();
}

void Activity::begin_on_device(Phase phase, std::int64_t step) const noexcept {
  if (page_ == nullptr) return;
  begin_in(page_->device, phase, step, {});
  progress();
}

ForeignCall::ForeignCall(Activity activity, std::string_view name) noexcept : activity_(activity) {
  ActivityPage* page = activity.page();
  if (page == nullptr) return;
  activity.progress();
  for (int slot = 0; slot < ActivityPage::kForeignCalls; ++slot) {
    ActivityPage::Foreign& call = page->foreign[static_cast<std::size_t>(slot)];
    if (call.used.load(std::memory_order_relaxed) != 0 || call.used.exchange(1) != 0) continue;
    call.name.store(name);
    slot_ = slot;
    return;
  }
}

ForeignCall::~ForeignCall() {
  if (slot_ < 0) return;
  activity_.page()->foreign[static_cast<std::size_t>(slot_)].used.store(0);
  activity_.progress();
}

PeerWait::PeerWait(Activity activity, std::string_view what, std::int64_t step) noexcept
    : activity_(activity) {
  ActivityPage* page = activity.page();
  if (page == nullptr) return;
  page->peer_wait.store(what);
  page->peer_step_plus_one.store(step + 1, std::memory_order_relaxed);
  page->peer_waiters.fetch_add(1, std::memory_order_release);
  activity.progress();
}

PeerWait::~PeerWait() {
  ActivityPage* page = activity_.page();
  if (page == nullptr) return;
  page->peer_waiters.fetch_sub(1, std::memory_order_release);
  activity_.progress();
}

}  // namespace lockstep

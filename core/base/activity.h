// The current activity of this rank, in memory that the other processes of its node can read. Code
// that does long work publishes it here. The watch (folder watch/) decides from it which rank is
// stuck, and reports what that rank was doing.
//
// A rank is stuck if its progress counter does not change while another rank, or its own loop,
// waits for it. So every loop that may run for minutes calls progress() regularly: device commands,
// batches of evaluation, passes and functions of a compilation, bytes read and written. Work that
// cannot be counted (one fsync, a function of the user) is declared with ForeignCall, and a wait
// for other ranks with PeerWait.
//
// An Activity is a handle of one pointer, passed by value; a default one publishes nothing, for
// library users and tests. All functions are thread-safe, never wait and never throw.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

/// The phase that a thread of a rank is in. The folder watch/ defines which phases the watch
/// judges, and how strictly.
enum class Phase : std::uint8_t {
  kStart,       ///< the process begins
  kConfig,      ///< reads the config
  kData,        ///< opens datasets and tokenizers
  kConnect,     ///< MPI_Init, and the connections of ranks
  kAgree,       ///< compares itself with the other ranks
  kPrepare,     ///< makes the run folder, restores or draws parameters
  kProgram,     ///< runs code of the program that uses the library
  kInputWait,   ///< waits for the loader
  kTrace,       ///< records a step and queues it, or waits until the device takes it
  kCompile,     ///< compiles, or waits for another process that does
  kRead,        ///< waits for a step's numbers
  kDeviceWait,  ///< waits for a value that the program reads, or for all queued work
  kForward,     ///< device: forward and backward of micro-batches
  kReduce,      ///< device: waits for sums over ranks
  kUpdate,      ///< device: the optimizer
  kEvaluate,    ///< runs an evaluation
  kSnapshot,    ///< copies the state for a checkpoint
  kWrite,       ///< writes a checkpoint
  kGenerate,    ///< samples text
  kFinish,      ///< reports, writes the last files
  kGoodbye,     ///< waits for the others before the end
  kDisconnect,  ///< MPI_Finalize
  kExit,        ///< the process ends
  kIdle,        ///< device: nothing is queued
};

/// "training data", "an evaluation": text that can follow "in".
std::string_view name_of(Phase phase);

/// A short text that one process writes while others read it: a reader gets one of the written
/// texts or, after several tries, a mixture of them.
class SharedText {
 public:
  static constexpr std::size_t kBytes = 64;  ///< longer texts are cut
  void store(std::string_view text) noexcept;
  std::string load() const;

 private:
  std::atomic<std::uint32_t> version_;  ///< odd while it is written
  std::array<std::atomic<std::uint64_t>, kBytes / 8> words_;
};

/// The memory behind an Activity. Fixed layout, valid when all bytes but `magic` are zero; mapped
/// by processes of the same build (the magic number changes with the layout).
struct ActivityPage {
  static constexpr std::uint64_t kMagic = 0x32'54'43'41'50'53'4c'00;  // "\0LSPACT2"
  static constexpr int kForeignCalls = 16;  ///< further calls at the same time have no name

  struct Lane {  ///< of one thread
    std::atomic<std::uint32_t> phase;
    std::atomic<std::int64_t> step_plus_one;  ///< 0: outside of steps
    SharedText what;                          ///< a command, a file; may be empty
  };
  struct Foreign {
    std::atomic<std::uint32_t> used;
    SharedText name;
  };

  std::atomic<std::uint64_t> magic;
  std::atomic<std::int64_t> pid;
  alignas(64) std::atomic<std::uint64_t> progress;
  alignas(64) Lane host;                    ///< the thread that runs the loop
  Lane device;                              ///< the device's thread
  std::atomic<std::uint32_t> peer_waiters;  ///< threads that wait for other ranks
  std::atomic<std::int64_t> peer_step_plus_one;
  SharedText peer_wait;  ///< what the last of them waits for: "all_reduce bucket 4"
  std::array<Foreign, kForeignCalls> foreign;
  std::atomic<std::uint64_t> beat;           ///< grows while this process's own watch runs
  std::atomic<std::uint32_t> code_plus_one;  ///< the process's exit code
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class Activity {
 public:
  Activity() = default;
  explicit Activity(ActivityPage* page) : page_(page) {}

  /// Counts work that this rank has done: a command, a task, a batch, some bytes.
  void progress(std::uint64_t amount = 1) const noexcept {
    if (page_ != nullptr) page_->progress.fetch_add(amount, std::memory_order_relaxed);
  }

  /// The thread that runs the loop begins a phase. This counts as progress. `step` -1: outside of
  /// steps.
  void begin(Phase phase, std::int64_t step = -1, std::string_view what = {}) const noexcept;
  /// The device's thread begins a phase.
  void begin_on_device(Phase phase, std::int64_t step) const noexcept;
  /// The device begins a command: "dot_general".
  void command(std::string_view name) const noexcept {
    if (page_ == nullptr) return;
    page_->device.what.store(name);
    progress();
  }

  ActivityPage* page() const { return page_; }

 private:
  ActivityPage* page_ = nullptr;
};

/// While alive, this thread is in a call of foreign code whose progress cannot be counted. The
/// watch warns of it by name, and ends the process only after distributed.foreign_call_abort_s.
class ForeignCall {
 public:
  ForeignCall(Activity activity, std::string_view name) noexcept;
  ~ForeignCall();
  ForeignCall(const ForeignCall&) = delete;
  ForeignCall& operator=(const ForeignCall&) = delete;

 private:
  Activity activity_;
  int slot_ = -1;
};

/// While alive, this thread waits for other ranks: a lack of progress is then not this rank's
/// fault.
class PeerWait {
 public:
  /// `what`: "all_reduce bucket 4"; `step` -1: outside of steps.
  PeerWait(Activity activity, std::string_view what, std::int64_t step = -1) noexcept;
  ~PeerWait();
  PeerWait(const PeerWait&) = delete;
  PeerWait& operator=(const PeerWait&) = delete;

 private:
  Activity activity_;
};

}  // namespace lockstep

#include "watch/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/help_pages.h"
#include "watch/announcer.h"
#include "watch/judge.h"
#include "watch/other_nodes.h"
#include "watch/page_file.h"
#include "watch/peers.h"
#include "watch/side_hub.h"
#include "watch/stop_signals.h"

namespace lockstep {
namespace {

constexpr double kLongestPeriod = 1;      // seconds
constexpr double kShortestPeriod = 0.05;  // seconds
constexpr double kSearchPeriod = 0.1;     // while the node's ranks are starting
constexpr double kSearchTime = 3;
constexpr double kLeavePeriod = 0.002;  // while the processes end
constexpr auto kAnnouncePatience = std::chrono::milliseconds(1000);
/// Time for mpirun to answer a rank that introduces itself. It sends SIGKILL a second after
/// SIGTERM.
constexpr double kHandshakePatience = 0.8;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

constexpr double kTellPeriod = 1;    // seconds between frames to other nodes
constexpr double kHubPatience = 30;  // until a warning that no hub answers

/// The lowest rank that can speak: it prints for all ranks what all of them found.
int speaker(const std::vector<RankReport>& ranks) {
  for (const RankReport& report : ranks) {
    const bool can = !is_halted(report.state) && report.state != ProcessState::kUnknown;
    if (!report.exit_code && can) return report.rank;
  }
  return -1;
}

}  // namespace

/// The thread and its data.
class Watch::WatchThread {
 public:
  explicit WatchThread(MappedPages pages);
  ~WatchThread();
  WatchThread(const WatchThread&) = delete;
  WatchThread& operator=(const WatchThread&) = delete;

  ActivityPage* page() const { return &pages_.activity(); }
  Announcer& announcer() { return announcer_; }
  bool stop_is_hurried() const;
  void set_limits(const WatchLimits& limits);
  void on_stop(OnStop action) { on_stop_ = action; }
  std::string hold_hub(const std::string& token, const std::vector<std::string>& addresses);
  void join_other_nodes(const std::vector<std::string>& hubs, const std::string& token);
  int leave(int code);

 private:
  void run();
  void look();
  void search_for_peers();
  double period() const;
  int own_rank() const { return identity_ ? identity_->rank : 0; }
  std::vector<RankReport> ranks_of_this_node();
  Scene scene();
  void talk_to_other_nodes(const std::vector<RankReport>& own_node);
  void judge_hubs(Judgement& judgement);
  void follow_stop_request();
  void announce(const Judgement& judgement, const Scene& scene);
  bool others_have_left();
  void sleep(double seconds);
  void await_handshake();
  [[noreturn]] void end_process(int code);

  SteadyClock clock_;
  MappedPages pages_;
  std::optional<JobIdentity> identity_;
  std::optional<Peers> peers_;  ///< of the thread
  Judge judge_;                 ///< of the thread
  Announcer announcer_;
  std::int64_t start_ns_;
  std::int64_t searched_ns_ = 0;
  int wake_;
  std::atomic<OnStop> on_stop_{OnStop::kLeave};
  std::optional<SideHub> hub_;        ///< of the thread that runs the loop
  std::optional<OtherNodes> others_;  ///< of the thread; on the node's speaker only
  std::int64_t told_ns_ = 0;
  bool told_leaving_ = false;
  std::int64_t looked_ns_ = 0;
  std::int64_t hubs_heard_ns_ = 0;  ///< or suspended
  bool warned_of_hubs_ = false;
  bool is_stopping_ = false;
  std::mutex mutex_;  ///< of limits_, hubs_ and token_
  WatchLimits limits_;
  std::vector<std::string> hubs_;
  SideToken token_{};
  std::atomic<bool> stop_{false};
  std::atomic<bool> leaving_{false};
  std::atomic<bool> others_left_{false};
  std::thread thread_;
};

Watch::Watch() = default;
Watch::~Watch() = default;

std::unique_ptr<Watch> Watch::of_this_process() {
  auto out = std::make_unique<Watch>();
  try {
    if (MappedPages pages = make_own_pages())
      out->watch_thread_ = std::make_unique<WatchThread>(std::move(pages));
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): nothing is to be done
    // No thread is available: a command that needs none can still do its work, unwatched.
  }
  return out;
}

Activity Watch::activity() const {
  return Activity(watch_thread_ == nullptr ? nullptr : watch_thread_->page());
}

void Watch::set_limits(const WatchLimits& limits) {
  if (watch_thread_ != nullptr) watch_thread_->set_limits(limits);
}

void Watch::set_log(Log* log, bool is_console) {
  if (watch_thread_ != nullptr) watch_thread_->announcer().set_log(log, is_console);
}

std::string Watch::hold_hub(const std::string& token, const std::vector<std::string>& addresses) {
  return watch_thread_ == nullptr ? "" : watch_thread_->hold_hub(token, addresses);
}

void Watch::join_other_nodes(const std::vector<std::string>& hubs, const std::string& token) {
  if (watch_thread_ != nullptr) watch_thread_->join_other_nodes(hubs, token);
}

void Watch::on_stop(OnStop action) {
  if (watch_thread_ != nullptr) watch_thread_->on_stop(action);
}

bool Watch::stop_requested() const {
  return watch_thread_ != nullptr && StopSignals::requested();
}

bool Watch::stop_is_hurried() const {
  return watch_thread_ != nullptr && watch_thread_->stop_is_hurried();
}

int Watch::leave(int code) {
  return watch_thread_ == nullptr ? code : watch_thread_->leave(code);
}

Watch::WatchThread::WatchThread(MappedPages pages)
    : pages_(std::move(pages)),
      identity_(job_identity_of(::getpid())),
      start_ns_(clock_.now_ns()),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (identity_ && identity_->size > 1) peers_.emplace(*identity_);
  StopSignals::set_wake_descriptor(wake_);
  // Signals are for the other threads: `lockstep launch` blocks them in its main thread and takes
  // them when it is ready.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watch::WatchThread::~WatchThread() {
  stop_ = true;
  StopSignals::set_wake_descriptor(-1);
  (void)!eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
}

void Watch::WatchThread::set_limits(const WatchLimits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

std::string Watch::WatchThread::hold_hub(const std::string& token,
                                         const std::vector<std::string>& addresses) {
  hub_.emplace(parse_side_token(token), addresses);
  return hub_->addresses();
}

void Watch::WatchThread::join_other_nodes(const std::vector<std::string>& hubs,
                                          const std::string& token) {
  const SideToken parsed = parse_side_token(token);
  if (identity_ && identity_->local_size == identity_->size) return;
  const std::lock_guard lock(mutex_);
  hubs_ = hubs;
  token_ = parsed;
}

bool Watch::WatchThread::stop_is_hurried() const {
  return StopSignals::requested() && StopSignals::sent_by_parent() && identity_ &&
         identity_->job.starts_with("ompi");
}

int Watch::WatchThread::leave(int code) {
  on_stop_ = OnStop::kEnd;
  const Activity activity(&pages_.activity());
  activity.begin(Phase::kExit);
  const bool well = code == 0 || code == static_cast<int>(ErrorKind::kPreempted);
  if (well && peers_) {
    const PeerWait wait(activity, "the end of all processes");
    leaving_ = true;
    (void)!eventfd_write(wake_, 1);
    while (!others_left_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pages_.activity().code_plus_one.store(static_cast<std::uint32_t>(code) + 1);
  return code;
}

void Watch::WatchThread::run() {
  pthread_setname_np(pthread_self(), "lockstep-watch");
  while (!stop_) {
    look();
    sleep(period());
  }
  // The remaining processes must not wait for these ranks, and must not leave the reports to them.
  if (others_) others_->tell(host_name(), ranks_of_this_node());
}

void Watch::WatchThread::look() {
  pages_.activity().beat.fetch_add(1, std::memory_order_relaxed);
  follow_stop_request();
  {
    const std::lock_guard lock(mutex_);
    judge_.set_limits(limits_);
  }
  search_for_peers();
  const Scene now = scene();
  Judgement judgement = judge_.judge(clock_.now_ns(), now);
  judge_hubs(judgement);
  for (const RankReport& report : now.ranks)
    if (judgement.fatal.empty()) judgement.fatal = report.verdict;
  announce(judgement, now);
  if (leaving_ && others_have_left()) others_left_ = true;
}

void Watch::WatchThread::search_for_peers() {
  if (!peers_ || peers_->all_found()) return;
  const std::int64_t now = clock_.now_ns();
  if (searched_ns_ > 0 && seconds(now - searched_ns_) < kSearchPeriod / 2) return;
  searched_ns_ = now;
  peers_->look();
}

double Watch::WatchThread::period() const {
  if (leaving_) return kLeavePeriod;
  const bool searching = peers_ && !peers_->all_found();
  if (searching && seconds(clock_.now_ns() - start_ns_) < kSearchTime) return kSearchPeriod;
  const WatchLimits& limits = judge_.limits();
  return std::clamp(std::min(limits.warn_s, limits.abort_s) / 4, kShortestPeriod, kLongestPeriod);
}

std::vector<RankReport> Watch::WatchThread::ranks_of_this_node() {
  std::vector<RankReport> out;
  if (peers_) out = peers_->read();
  RankReport own = read_page(pages_.activity());
  own.rank = own_rank();
  own.host = host_name();
  const auto place =
      std::find_if(out.begin(), out.end(), [&](const RankReport& r) { return r.rank > own.rank; });
  out.insert(place, std::move(own));
  return out;
}

Scene Watch::WatchThread::scene() {
  Scene out;
  out.ranks = ranks_of_this_node();
  for (const RankReport& report : out.ranks)
    out.others_see_them = out.others_see_them || report.sees_other_nodes;
  talk_to_other_nodes(out.ranks);
  if (others_) {
    const std::vector<RankReport> others = others_->read(clock_.now_ns());
    out.ranks.insert(out.ranks.end(), others.begin(), others.end());
    std::sort(out.ranks.begin(), out.ranks.end(),
              [](const RankReport& a, const RankReport& b) { return a.rank < b.rank; });
  }
  auto seen = out.ranks.begin();
  for (int rank = 0; identity_ && rank < identity_->size; ++rank) {
    if (seen != out.ranks.end() && seen->rank == rank)
      ++seen;
    else
      out.unseen.push_back(rank);
  }
  return out;
}

// The lowest rank that can reports for its node; if it no longer can, the next one does.
void Watch::WatchThread::talk_to_other_nodes(const std::vector<RankReport>& own_node) {
  if (speaker(own_node) != own_rank()) return;
  const std::int64_t now = clock_.now_ns();
  if (!others_) {
    const std::lock_guard lock(mutex_);
    if (hubs_.empty()) return;
    others_.emplace(hubs_, token_);
    hubs_heard_ns_ = now;
  }
  const bool leaving = leaving_;  // perhaps the last report: sent at once
  if (told_ns_ == 0 || leaving != told_leaving_ || seconds(now - told_ns_) >= kTellPeriod) {
    told_ns_ = now;
    told_leaving_ = leaving;
    others_->tell(host_name(), own_node);
  }
  pages_.watch().sees_other_nodes = others_->was_connected() ? 1 : 0;
}

// No message of any hub: this node is cut off, or all the others are.
void Watch::WatchThread::judge_hubs(Judgement& judgement) {
  const std::int64_t now = clock_.now_ns();
  const bool suspended = looked_ns_ > 0 && seconds(now - looked_ns_) > Judge::kSuspended;
  looked_ns_ = now;
  if (!others_ || leaving_) return;
  if (suspended || others_->silence() < 2 * kTellPeriod + kLongestPeriod) hubs_heard_ns_ = now;
  const double silent = seconds(now - hubs_heard_ns_);
  if (others_->was_connected() && silent > judge_.limits().abort_s && judgement.fatal.empty())
    judgement.fatal = fmt::format(
        "{} has received nothing from the other nodes for {:.0f} s: the network "
        "is cut, or they have ended",
        host_name(), silent);
  if (others_->was_connected() || warned_of_hubs_ || silent < kHubPatience) return;
  warned_of_hubs_ = true;
  std::string where;
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& hub : hubs_) where += (where.empty() ? "" : ",") + hub;
  }
  judgement.warnings.push_back(fmt::format(
      "{} cannot reach the watch of other nodes at {}: a wait for their ranks ends after {:g} s "
      "(distributed.stall_abort_s), whatever they do; OMPI_MCA_btl_tcp_if_include names the "
      "interfaces between nodes",
      host_name(), where, judge_.limits().abort_s));
}

void Watch::WatchThread::follow_stop_request() {
  if (!StopSignals::requested()) return;
  if (on_stop_ != OnStop::kLeave) {
    // Whatever waits for ever would keep the loop from its save.
    if (!std::exchange(is_stopping_, true)) judge_.begin_stop();
    return;
  }
  const int code = static_cast<int>(ErrorKind::kPreempted);
  // mpirun ends ranks in this way when another one has failed: then that rank gives the reason.
  if (!stop_is_hurried()) {
    announcer_.say(
        Announcer::Weight::kNote,
        fmt::format(
            "{}asked to stop by {}: there is nothing to save",
            identity_ && identity_->rank > 0 ? fmt::format("rank {}: ", identity_->rank) : "",
            StopSignals::name()),
        true);
    announcer_.wait(kAnnouncePatience);
  }
  end_process(code);
}

void Watch::WatchThread::announce(const Judgement& judgement, const Scene& scene) {
  const bool aloud = speaker(scene.ranks) == own_rank();
  for (const std::string& warning : judgement.warnings)
    announcer_.say(Announcer::Weight::kWarning, warning, aloud);
  if (judgement.fatal.empty()) return;
  pages_.watch().publish_verdict(judgement.fatal);
  announcer_.say(Announcer::Weight::kError,
                 judgement.fatal + see_help_page(ErrorKind::kPeer, judgement.fatal), aloud);
  announcer_.wait(kAnnouncePatience);
  // The first rank that ends makes mpirun end all: each gets the time to write its log.
  std::this_thread::sleep_for(std::chrono::duration<double>(period() + 0.2));
  end_process(static_cast<int>(ErrorKind::kPeer));
}

// The lowest rank of the node waits until the others are gone; the others wait until it waits. So
// if one is stuck while it ends, another is still there to report it.
bool Watch::WatchThread::others_have_left() {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): who has no peers does not wait for them
  for (const RankReport& report : peers_->read()) {
    const bool is_lockstep = report.beat > 0 || is_halted(report.state);  // not a script around it
    if (!is_lockstep || report.state == ProcessState::kGone) continue;
    if (report.rank > identity_->rank) return false;
    return report.exit_code.has_value() || report.host_lane.phase == Phase::kExit;
  }
  return true;
}

void Watch::WatchThread::sleep(double seconds) {
  std::vector<pollfd> waits{{wake_, POLLIN, 0}};
  if (peers_)
    for (const int death : peers_->death_descriptors()) waits.push_back({death, POLLIN, 0});
  ::poll(waits.data(), waits.size(), static_cast<int>(seconds * 1000) + 1);
  eventfd_t ignored = 0;
  (void)!eventfd_read(wake_, &ignored);
}

// Early in MPI_Init a rank introduces itself to mpirun. If it ends before the answer, libpmix 4.2
// releases its record of the rank twice, and when all ranks have ended, mpirun waits for ever for a
// lock in freed memory. So a rank that leaves waits for the answer.
void Watch::WatchThread::await_handshake() {
  const auto connects = static_cast<std::uint32_t>(Phase::kConnect);
  const std::int64_t start = clock_.now_ns();
  while (pages_.activity().host.phase == connects &&
         seconds(clock_.now_ns() - start) < kHandshakePatience)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// Not through destructors: threads of this process may hang anywhere.
void Watch::WatchThread::end_process(int code) {
  await_handshake();
  pages_.activity().code_plus_one.store(static_cast<std::uint32_t>(code) + 1);
  std::_Exit(code);
}

}  // namespace lockstep

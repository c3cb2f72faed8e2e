#include "trainer/job/report_errors.h"

#include <chrono>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/error.h"
#include "core/base/help_pages.h"
#include "core/base/host_memory.h"

namespace lockstep {
namespace {

/// Long enough for rank 0 to find the same error; mpirun then ends this rank while it waits.
constexpr std::chrono::seconds kTimeOfRankZero{2};

/// Longer than a rank that left needs to print its error, which is more useful than that it left.
constexpr std::chrono::seconds kTimeOfCause{4};

/// Errors in what all ranks read: every rank finds them by itself.
bool is_seen_by_all_ranks(ErrorKind kind) {
  return kind == ErrorKind::kUsage || kind == ErrorKind::kData || kind == ErrorKind::kCheckpoint;
}

int report(const Settings& settings, std::ostream& err, ErrorKind kind, std::string_view message) {
  std::string rank;
  if (settings.world_rank > 0 && is_seen_by_all_ranks(kind))
    std::this_thread::sleep_for(kTimeOfRankZero);
  if (settings.world_size > 1 && kind == ErrorKind::kPeer)
    std::this_thread::sleep_for(kTimeOfCause);
  if (settings.world_size > 1) rank = fmt::format("rank {}: ", settings.world_rank);
  err << fmt::format("lockstep: error: {}{}{}\n", rank, message, see_help_page(kind, message))
      << std::flush;
  return static_cast<int>(kind);
}

}  // namespace

int report_errors(const Settings& settings, std::ostream& err, const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& e) {
    return report(settings, err, e.kind(), e.what());
  } catch (const std::exception& e) {
    if (const auto error = memory_error(e))
      return report(settings, err, error->kind(), error->what());
    return report(
        settings, err, ErrorKind::kInternal,
        fmt::format("internal error: {} (an exception that lockstep did not expect)", e.what()));
  } catch (...) {
    return report(settings, err, ErrorKind::kInternal, "internal error: an unknown exception");
  }
}

}  // namespace lockstep

// Runs a host_call of a plan: operands are copied to the host, the function runs there on the
// device's thread, results are copied back.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/activity.h"
#include "core/base/spans.h"
#include "core/ir/graph.h"
#include "core/ir/host_function.h"
#include "core/kernels/kernel.h"

namespace lockstep {

/// What host calls took, by function and source line. Thread-safe: the device adds, who gives
/// advice takes.
class HostCallTimes {
 public:
  struct Times {
    std::string what;  ///< "match_boxes detector.cpp:41 (head)"
    std::int64_t calls = 0;
    std::int64_t ns = 0;
  };
  void add(const Node& host_call, std::int64_t ns);
  /// The function and line that took the longest since the last take(), all its calls together;
  /// nullopt if there was none.
  std::optional<Times> take_longest();

 private:
  std::mutex mutex_;
  std::map<std::string, Times> times_;
};

struct HostCallContext {
  SpanStream& spans;
  Activity activity = {};
  std::int64_t step = -1;
  HostCallTimes* times = nullptr;  ///< null: nobody takes them
};

/// Counts HostCall and samples HostCallTime (with the copies), TransferFromDevice and
/// TransferToDevice (each copy). While the function runs it is a ForeignCall: it may take long, and
/// only it knows whether it gets on. `operands` are the types of the call's.
void run_host_call(const HostFunction& function, const Node& node, std::span<const Type> operands,
                   const KernelCall& memory, const HostCallContext& context);

}  // namespace lockstep

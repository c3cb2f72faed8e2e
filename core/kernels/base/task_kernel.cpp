#include "core/kernels/base/task_kernel.h"

#include <algorithm>
#include <vector>

namespace lockstep {

void TaskKernel::run(const KernelCall& call) const {
  begin(call);
  call.pool.parallel_for(tasks(), [&](std::int64_t task) { run_task(call, task); });
  finish(call);
}

void run_together(std::span<const TaskCall> calls, ThreadPool& pool) {
  std::vector<std::int64_t> ends;  // of each call's tasks among all tasks
  ends.reserve(calls.size());
  std::int64_t count = 0;
  for (const TaskCall& call : calls) {
    call.kernel.begin(call.call);
    ends.push_back(count += call.kernel.tasks());
  }
  pool.parallel_for(count, [&](std::int64_t task) {
    const auto end = std::upper_bound(ends.begin(), ends.end(), task);
    const TaskCall& call = calls[static_cast<std::size_t>(end - ends.begin())];
    call.kernel.run_task(call.call, task - (*end - call.kernel.tasks()));
  });
  for (const TaskCall& call : calls) call.kernel.finish(call.call);
}

}  // namespace lockstep

#include "core/cost/bucket_work.h"

#include <algorithm>

#include "core/cost/kernel_work.h"
#include "core/ir/cost.h"

namespace lockstep {
namespace {

/// What a program has done up to each of its nodes, itself included.
struct DoneWork {
  std::vector<double> flops, bytes;

  explicit DoneWork(const Graph& program) {
    double all_flops = 0, all_bytes = 0;
    for (ValueId id = 0; id < program.size(); ++id) {
      const Node& node = program[id];
      if (is_heavy_kernel(node)) {
        all_flops += cost_of(program, id).flops;
      } else if (is_other_kernel(node)) {
        const Cost cost = cost_of(program, id);
        all_bytes += cost.bytes_read + cost.bytes_written;
      }
      flops.push_back(all_flops);
      bytes.push_back(all_bytes);
    }
  }
};

double share(double part, double all) {
  return all > 0 ? part / all : 1;
}

}  // namespace

std::vector<BucketWork> bucket_work(const Graph& program, std::span<const std::int32_t> bucket_of,
                                    std::span<const double> bucket_bytes) {
  const DoneWork done(program);
  std::vector<BucketWork> out(bucket_bytes.size());
  for (std::size_t b = 0; b < out.size(); ++b) out[b].bytes = bucket_bytes[b];
  for (std::size_t i = 0; i < bucket_of.size(); ++i) {
    const auto at = index_of(shown_value(program, program.outputs[i]));
    BucketWork& bucket = out[static_cast<std::size_t>(bucket_of[i])];
    bucket.heavy_share = std::max(bucket.heavy_share, share(done.flops[at], done.flops.back()));
    bucket.traffic_share = std::max(bucket.traffic_share, share(done.bytes[at], done.bytes.back()));
  }
  return out;
}

}  // namespace lockstep

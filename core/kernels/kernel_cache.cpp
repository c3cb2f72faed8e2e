#include "core/kernels/kernel_cache.h"

#include "core/ir/structure.h"

namespace lockstep {
namespace {

/// The node alone: its operands become inputs.
Graph key_graph(const Node& node, std::span<const Type> operands) {
  Graph out;
  Node alone = node;
  for (std::size_t i = 0; i < operands.size(); ++i)
    alone.operands[i] = out.add_input(operands[i], InputKind::kState, {});
  out.outputs.push_back(out.append(std::move(alone)));
  return out;
}

}  // namespace

std::shared_ptr<const Kernel> KernelCache::get(const Node& node, std::span<const Type> operands) {
  Graph key = key_graph(node, operands);
  const Hash128 hash = structural_hash(key);
  const std::lock_guard lock(mutex_);
  std::vector<Entry>& bucket = entries_[hash];
  for (const Entry& entry : bucket) {
    if (!structurally_equal(entry.key, key)) continue;
    ++shared_;
    return entry.kernel;
  }
  ++built_;
  bucket.push_back({std::move(key), make_kernel(node, operands, target_)});
  return bucket.back().kernel;
}

std::int64_t KernelCache::built() const {
  const std::lock_guard lock(mutex_);
  return built_;
}

std::int64_t KernelCache::shared() const {
  const std::lock_guard lock(mutex_);
  return shared_;
}

}  // namespace lockstep

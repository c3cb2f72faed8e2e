#include "core/kernels/kernel_cache.h"

#include <algorithm>

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
  const auto offer = offers_.find(hash);
  const std::string_view code = offer == offers_.end() ? std::string_view() : offer->second;
  auto kernel =
      make_kernel(node, operands, target_, {.codes = &codes_, .log = &log_, .object_code = code});
  bucket.push_back({std::move(key), kernel});
  if (++kernels_ > drop_at_) {
    drop_unheld();
    drop_at_ = std::max(kFewest, 2 * kernels_);
  }
  return kernel;
}

Hash128 KernelCache::key_of(const Graph& graph, ValueId node) {
  std::vector<Type> operands;
  for (const ValueId operand : graph[node].operands) operands.push_back(graph[operand].type);
  return structural_hash(key_graph(graph[node], operands));
}

void KernelCache::offer(const Hash128& key, std::string object_code) {
  const std::lock_guard lock(mutex_);
  offers_.insert_or_assign(key, std::move(object_code));
}

void KernelCache::drop_offers() {
  const std::lock_guard lock(mutex_);
  offers_.clear();
}

void KernelCache::drop_unused() {
  const std::lock_guard lock(mutex_);
  drop_unheld();
}

void KernelCache::drop_unheld() {
  for (auto& [hash, bucket] : entries_)
    kernels_ -=
        std::erase_if(bucket, [](const Entry& entry) { return entry.kernel.use_count() == 1; });
  std::erase_if(entries_, [](const auto& bucket) { return bucket.second.empty(); });
  codes_.drop_unused();
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

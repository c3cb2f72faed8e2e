#include "core/kernels/kernel_cache.h"

#include <algorithm>

#include "core/ir/structure.h"
#include "core/kernels/codegen/code_cache.h"
#include "core/kernels/plan_kernel.h"

namespace lockstep {
namespace {

std::vector<Type> operand_types(const Graph& graph, ValueId node) {
  std::vector<Type> out;
  for (const ValueId operand : graph[node].operands) out.push_back(graph[operand].type);
  return out;
}

/// A graph of the node alone: its operands become inputs.
Graph key_graph(const Node& node, std::span<const Type> operands) {
  Graph out;
  Node alone = node;
  for (std::size_t i = 0; i < operands.size(); ++i)
    alone.operands[i] = out.add_input(operands[i], InputKind::kState, {});
  out.outputs.push_back(out.append(std::move(alone)));
  return out;
}

}  // namespace

KernelCache::KernelCache(const Target& target, Log& log)
    : target_(target), log_(log), codes_(std::make_unique<codegen::CodeCache>(target.isa)) {}

KernelCache::~KernelCache() = default;

KernelCache::Entry& KernelCache::entry_of(const Node& node, std::span<const Type> operands,
                                          const Hash128& hash, Graph key) {
  for (Entry& entry : entries_[hash])
    if (structurally_equal(entry.key, key)) return entry;
  if (kernels_ >= drop_at_) {
    drop_unheld();
    drop_at_ = std::max(kMinKept, 2 * kernels_);
  }
  std::shared_ptr<Kernel> kernel = plan_kernel(node, operands, target_);
  ++kernels_;
  return entries_[hash].emplace_back(std::move(key), std::move(kernel));
}

std::shared_ptr<const KernelFacts> KernelCache::facts(const Graph& graph, ValueId node) {
  const std::vector<Type> operands = operand_types(graph, node);
  Graph key = key_graph(graph[node], operands);
  const Hash128 hash = structural_hash(key);
  const std::lock_guard lock(mutex_);
  return entry_of(graph[node], operands, hash, std::move(key)).kernel;
}

std::shared_ptr<const Kernel> KernelCache::get(const Graph& graph, ValueId node) {
  return get(graph[node], operand_types(graph, node));
}

std::shared_ptr<const Kernel> KernelCache::get(const Node& node, std::span<const Type> operands) {
  Graph key = key_graph(node, operands);
  const Hash128 hash = structural_hash(key);
  const std::lock_guard lock(mutex_);
  Entry& entry = entry_of(node, operands, hash, std::move(key));
  if (entry.built) {
    ++shared_;
    return entry.kernel;
  }
  const auto offer = offers_.find(hash);
  const std::string_view code = offer == offers_.end() ? std::string_view() : offer->second;
  entry.kernel->generate({.codes = *codes_, .log = log_, .object_code = code});
  entry.built = true;
  ++built_;
  return entry.kernel;
}

Hash128 KernelCache::key_of(const Graph& graph, ValueId node) {
  return structural_hash(key_graph(graph[node], operand_types(graph, node)));
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
  codes_->drop_unused();
}

std::int64_t KernelCache::built() const {
  const std::lock_guard lock(mutex_);
  return built_;
}

std::int64_t KernelCache::compiled() const {
  return codes_->compiled();
}

std::int64_t KernelCache::shared() const {
  const std::lock_guard lock(mutex_);
  return shared_;
}

}  // namespace lockstep

#include "core/passes/fusion_order.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep {
namespace {

std::size_t place_of(std::int32_t node) {
  return static_cast<std::size_t>(node);
}

}  // namespace

std::int32_t FusionOrder::add_node() {
  const auto node = static_cast<std::int32_t>(parent_.size());
  parent_.push_back(node);
  next_.emplace_back();
  position_.push_back(order_.size());
  order_.push_back(node);
  seen_.push_back(0);
  return node;
}

void FusionOrder::add_edge(std::int32_t from, std::int32_t to, bool apart) {
  next_[place_of(from)].push_back({to, apart});
}

std::int32_t FusionOrder::find(std::int32_t node) {
  while (parent_[place_of(node)] != node) {
    parent_[place_of(node)] = parent_[place_of(parent_[place_of(node)])];
    node = parent_[place_of(node)];
  }
  return node;
}

FusionOrder::Answer FusionOrder::merge(std::int32_t a, std::int32_t b) {
  if (position_[place_of(a)] > position_[place_of(b)]) std::swap(a, b);
  const std::size_t begin = position_[place_of(a)];
  const std::size_t end = position_[place_of(b)];
  // All that a path from `a` reaches before `b`.
  ++search_;
  std::vector<std::int32_t> reached = {a};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const Edge& edge : next_[place_of(reached[i])]) {
      const std::int32_t to = find(edge.to);
      if (to == b && (i > 0 || edge.apart)) return Answer::kCycle;
      if (position_[place_of(to)] >= end || seen_[place_of(to)] == search_ || to == a) continue;
      seen_[place_of(to)] = search_;
      reached.push_back(to);
      if (reached.size() > kMaxVisits) return Answer::kTooFar;
    }
  }
  // Nodes that were reached go after the merged node, the others before it.
  std::vector<std::int32_t> behind;
  std::size_t position = begin;
  for (std::size_t i = begin + 1; i < end; ++i) {
    const std::int32_t node = order_[i];
    if (node == kNone) continue;
    if (seen_[place_of(node)] == search_) {
      behind.push_back(node);
      continue;
    }
    order_[position] = node;
    position_[place_of(node)] = position++;
  }
  parent_[place_of(a)] = b;
  next_[place_of(b)].insert(next_[place_of(b)].end(), next_[place_of(a)].begin(),
                            next_[place_of(a)].end());
  next_[place_of(a)] = {};
  order_[position] = b;
  position_[place_of(b)] = position++;
  for (const std::int32_t node : behind) {
    order_[position] = node;
    position_[place_of(node)] = position++;
  }
  for (; position <= end; ++position) order_[position] = kNone;
  return Answer::kYes;
}

std::vector<std::int32_t> FusionOrder::order() const {
  std::vector<std::int32_t> out;
  std::ranges::copy_if(order_, std::back_inserter(out),
                       [](std::int32_t node) { return node != kNone; });
  return out;
}

}  // namespace lockstep

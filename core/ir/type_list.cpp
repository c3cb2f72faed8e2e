#include "core/ir/type_list.h"

namespace lockstep {
namespace {

/// The end of the type that begins at `at`; 0 if none begins there.
std::size_t end_of_type(IntView words, std::size_t at) {
  if (words.size() - at < 2) return 0;
  const std::int64_t dtype = words[at];
  const std::int64_t rank = words[at + 1];
  if (dtype < 0 || dtype > static_cast<std::int64_t>(DType::kBool)) return 0;
  if (rank < 0 || rank > Shape::kMaxRank) return 0;
  const std::size_t end = at + 2 + static_cast<std::size_t>(rank);
  if (end > words.size()) return 0;
  for (std::size_t i = at + 2; i < end; ++i)
    if (words[i] < 0) return 0;
  return end;
}

}  // namespace

Attrs::Ints write_type_list(ArrayRef<Type> types) {
  Attrs::Ints out;
  for (const Type& type : types) {
    out.push_back(static_cast<std::int64_t>(type.dtype));
    out.push_back(type.shape.rank());
    for (const std::int64_t size : type.shape.sizes()) out.push_back(size);
  }
  return out;
}

bool is_type_list(IntView words) {
  for (std::size_t at = 0; at < words.size();) {
    at = end_of_type(words, at);
    if (at == 0) return false;
  }
  return true;
}

std::vector<Type> read_type_list(IntView words) {
  std::vector<Type> out;
  for (std::size_t at = 0; at < words.size();) {
    const auto rank = static_cast<std::size_t>(words[at + 1]);
    out.push_back({static_cast<DType>(words[at]), Shape(IntView(&words[at] + 2, rank))});
    at += 2 + rank;
  }
  return out;
}

std::size_t count_types(IntView words) {
  std::size_t out = 0;
  for (std::size_t at = 0; at < words.size(); at += 2 + static_cast<std::size_t>(words[at + 1]))
    ++out;
  return out;
}

}  // namespace lockstep

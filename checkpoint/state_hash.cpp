#include "checkpoint/state_hash.h"

#include <bit>
#include <string_view>

namespace lockstep {
namespace {

using namespace std::string_view_literals;

static_assert(std::endian::native == std::endian::little, "elements are hashed as they lie");

}  // namespace

StateHasher::StateHasher() {
  constexpr auto kTag = "lockstep state 1\0"sv;
  sha_.update(kTag.data(), kTag.size());
}

void StateHasher::add(const std::string& path, const HostTensor& tensor) {
  LS_CHECK(last_path_ < path, "{} was hashed after {}", path, last_path_);
  LS_CHECK(!tensor.empty(), "{} has no memory to hash", path);
  last_path_ = path;
  std::string head = path;
  head += '\0';
  head += name_of(tensor.dtype());
  head += '\0';
  const auto append = [&](const auto& number) {
    head.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  append(static_cast<std::uint32_t>(tensor.shape().rank()));
  for (const std::int64_t size : tensor.shape().sizes()) append(size);
  sha_.update(head.data(), head.size());
  const auto bytes = static_cast<std::size_t>(tensor.shape().elements()) * size_of(tensor.dtype());
  sha_.update(tensor.bytes().data(), bytes);
}

std::string StateHasher::finish() {
  const auto digest = sha_.finish();
  return to_hex(digest.data(), digest.size());
}

std::string state_hash(const CheckpointState& state) {
  std::map<std::string, const HostTensor*> by_path;
  for (const auto& [name, tensor] : state.model) by_path[model_path(name)] = &tensor;
  for (const auto& [slot, tensors] : state.optimizer) {
    for (const auto& [name, tensor] : tensors) by_path[optimizer_path(slot, name)] = &tensor;
  }
  StateHasher hasher;
  for (const auto& [path, tensor] : by_path) hasher.add(path, *tensor);
  return hasher.finish();
}

std::string state_hash(const CheckpointReader& reader) {
  StateHasher hasher;
  for (const TensorEntry& entry : reader.tensors()) hasher.add(entry.path, reader.read(entry));
  return hasher.finish();
}

}  // namespace lockstep

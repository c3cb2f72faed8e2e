#include "core/kernels/codegen/code_cache.h"

#include "core/base/error.h"
#include "core/base/hash.h"

namespace lockstep::codegen {
namespace {

std::string hash_of(std::string_view text) {
  return hash128(text.data(), text.size()).hex();
}

/// The label in front of code: hashes of its target (the nest's text and the machine), and of the
/// code itself.
std::string label_of(const std::string& key, Isa isa, std::string_view object) {
  return hash_of(key + machine_of(isa)) + hash_of(object);
}

}  // namespace

std::shared_ptr<const GroupCode> CodeCache::get(const LoopNest& nest, std::string_view offered,
                                                Log& log) {
  const std::string key = nest.to_string();
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const GroupCode>& code = codes_[key];
  if (code == nullptr) code = make(key, nest, offered, log);
  return code;
}

std::shared_ptr<const GroupCode> CodeCache::make(const std::string& key, const LoopNest& nest,
                                                 std::string_view offered, Log& log) {
  constexpr std::size_t kLabel = 64;
  if (offered.size() > kLabel && offered.starts_with(label_of(key, isa_, offered.substr(kLabel)))) {
    try {
      return std::make_shared<GroupCode>(std::string(offered), kLabel);
    } catch (const Error& error) {
      log.warn("compiling a group again: {}", error.what());
    }
  }
  ++compiled_;
  const std::string object = compile_object(nest, isa_, log);
  return std::make_shared<GroupCode>(label_of(key, isa_, object) + object, kLabel);
}

void CodeCache::drop_unused() {
  const std::lock_guard lock(mutex_);
  std::erase_if(codes_, [](const auto& entry) { return entry.second.use_count() <= 1; });
}

std::int64_t CodeCache::compiled() const {
  const std::lock_guard lock(mutex_);
  return compiled_;
}

}  // namespace lockstep::codegen

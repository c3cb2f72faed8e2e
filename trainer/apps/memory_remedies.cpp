#include "trainer/apps/memory_remedies.h"

#include "trainer/config/schema.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

constexpr std::string_view kCheckpointing = "gradient_checkpointing";

/// Turns on gradient checkpointing wherever the chosen model has it; the names of those keys.
std::string checkpoint_gradients(Config& config, const Registry& registry) {
  std::string out;
  const Schema schema(registry);
  for (const ConfigKey& key : schema.keys()) {
    const auto* const member = std::get_if<Member<bool>>(&key.member);
    if (member == nullptr || !key.name.ends_with(kCheckpointing)) continue;
    if (key.row != nullptr && key.row->name != key.rows->chosen(config)) continue;
    bool& value = (*member)(key.object_in(config));
    if (value) continue;
    value = true;
    out += (out.empty() ? "" : " ") + key.path + "=true";
  }
  return out;
}

}  // namespace

std::vector<Remedy> memory_remedies(const Config& config, const Registry& registry) {
  std::vector<Remedy> out;
  Config rounded = config;
  rounded.training.precision = Precision::kBf16Mixed;
  const std::string bf16 = "training.precision=bf16-mixed";
  const bool is_fp32 = config.training.precision == Precision::kFp32;
  if (is_fp32) out.push_back({bf16, rounded});
  Config recomputed = config;
  const std::string keys = checkpoint_gradients(recomputed, registry);
  if (keys.empty()) return out;
  out.push_back({keys, recomputed});
  if (!is_fp32) return out;
  recomputed.training.precision = Precision::kBf16Mixed;
  out.push_back({bf16 + " " + keys, recomputed});
  return out;
}

}  // namespace lockstep

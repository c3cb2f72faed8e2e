#include "core/cost/device_profile.h"

#include <utility>

namespace lockstep {
namespace {

constexpr std::array<std::string_view, kMathTypes> kMathNames{"fp32", "tf32", "bf16", "fp16",
                                                              "fp8"};
constexpr std::array<std::string_view, kExecutions> kExecutionNames{
    "eager", "compiled", "hand_fused", "xla", "static_graph"};

template <class T, std::size_t N>
std::optional<T> find_name(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<T>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name_of(MathType type) {
  return kMathNames[static_cast<std::size_t>(type)];
}

std::optional<MathType> parse_math_type(std::string_view name) {
  return find_name<MathType>(kMathNames, name);
}

double stored_bytes(MathType type) {
  switch (type) {
    case MathType::kFp32:
    case MathType::kTf32: return 4;
    case MathType::kBf16:
    case MathType::kFp16: return 2;
    case MathType::kFp8: return 1;
  }
  __builtin_unreachable();
}

std::string_view name_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu: return "gpu";
    case DeviceKind::kTpu: return "tpu";
    case DeviceKind::kNpu: return "npu";
    case DeviceKind::kCpu: return "cpu";
  }
  __builtin_unreachable();
}

std::string_view name_of(Execution execution) {
  return kExecutionNames[static_cast<std::size_t>(execution)];
}

std::optional<Execution> parse_execution(std::string_view name) {
  return find_name<Execution>(kExecutionNames, name);
}

std::optional<double> DeviceProfile::peak(MathType type) const {
  const auto& figure = peak_tflops[static_cast<std::size_t>(type)];
  return figure ? std::optional(figure->value * 1e12) : std::nullopt;
}

}  // namespace lockstep

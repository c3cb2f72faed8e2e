#include "trainer/devices/step_work.h"

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Elements of the gradients. Other values that are summed are few.
double gradient_elements(const CompiledStep& step) {
  double out = 0;
  for (const Type& type : step.split.reduced)
    if (type.dtype == DType::kF32) out += static_cast<double>(type.elements());
  return out;
}

/// Elements of the state that the step updates.
double updated_elements(const Graph& step) {
  double out = 0;
  for (const Update& update : step.updates) {
    const Type& type = step[step.outputs[static_cast<std::size_t>(update.output)]].type;
    if (type.dtype == DType::kF32) out += static_cast<double>(type.elements());
  }
  return out;
}

std::vector<BucketWork> buckets_of(const CompiledStep& step) {
  std::vector<double> bytes;
  bytes.reserve(step.reduction.buckets.size());
  for (const Bucket& bucket : step.reduction.buckets) bytes.push_back(bytes_of(bucket));
  return bucket_work(step.gradient.graph, step.reduction.bucket_of, bytes);
}

}  // namespace

StepWork work_of(const CompiledStep& planned) {
  StepWork out;
  out.heavy = heavy_kernels(planned.step);
  out.calls = call_traffic(planned.step);
  out.fused = fused_traffic(planned.gradient.graph);
  if (!planned.reduction.buckets.empty()) out.buckets = buckets_of(planned);
  const double updated = updated_elements(planned.step);
  if (updated == 0) return out;  // an evaluation
  out.parameters = gradient_elements(planned);
  if (out.parameters > 0) out.slots = updated / out.parameters - 1;
  return out;
}

MathType math_type_of(DType dtype, const DeviceProfile& device) {
  if (dtype == DType::kF32) return MathType::kFp32;
  const bool bf16 = device.peak(MathType::kBf16).has_value();
  LS_USER_CHECK(
      bf16 || device.peak(MathType::kFp16),
      "training.precision bf16-mixed: device {} has no bf16; use fp32, or --math of foresee",
      device.name);
  return bf16 ? MathType::kBf16 : MathType::kFp16;
}

}  // namespace lockstep

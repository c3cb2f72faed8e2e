#include "core/engine/step_io.h"

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/build_id.h"
#include "core/base/cpu_model.h"
#include "core/base/error.h"
#include "core/engine/compile.h"
#include "core/engine/compiled_step.pb.h"
#include "core/ir/structure.h"
#include "core/kernels/kernel_cache.h"
#include "core/runtime/loaded_step.h"
#include "core/runtime/plan_io.h"

namespace lockstep {
namespace {

template <class... Args>
void check(bool ok, fmt::format_string<Args...> what, Args&&... args) {
  if (!ok)
    raise(ErrorKind::kData, "the compiled step is damaged: {}",
          fmt::format(what, std::forward<Args>(args)...));
}

std::string serialize_program(const Plan& plan) {
  return plan.graph.outputs.empty() ? std::string() : serialize(plan);
}

void write_object_code(const LoadedPlan& loaded, std::set<Hash128>& known,
                       proto::CompiledStep& out) {
  const Plan& plan = *loaded.plan;
  for (std::size_t i = 0; i < plan.commands.size(); ++i) {
    if (loaded.kernels[i] == nullptr) continue;
    const std::string_view code = loaded.kernels[i]->object_code();
    if (code.empty()) continue;
    const Hash128 key = KernelCache::key_of(plan.graph, plan.commands[i].value);
    if (!known.insert(key).second) continue;
    proto::KernelCode& kernel = *out.add_kernels();
    kernel.set_key_low(key.low);
    kernel.set_key_high(key.high);
    kernel.set_object(code.data(), code.size());
  }
}

/// Reads `expected` numbers, each below `count`.
std::vector<std::int32_t> read_numbers(const auto& from, std::size_t count, std::size_t expected) {
  check(static_cast<std::size_t>(from.size()) == expected, "{} numbers instead of {}", from.size(),
        expected);
  std::vector<std::int32_t> out(from.begin(), from.end());
  for (const std::int32_t number : out)
    check(number >= 0 && static_cast<std::size_t>(number) < count, "there is no number {}", number);
  return out;
}

void read_split(const proto::CompiledStep& from, CompiledStep& to) {
  const std::size_t inputs = to.step.inputs.size();
  const std::size_t outputs = to.step.outputs.size();
  const Graph& gradient = to.gradient.graph;
  const Graph& update = to.update.graph;
  SplitStep& split = to.split;
  check(from.reduced() >= 0 && static_cast<std::size_t>(from.reduced()) <= gradient.outputs.size(),
        "{} reduced values", from.reduced());
  const auto reduced = static_cast<std::size_t>(from.reduced());
  for (std::size_t i = 0; i < reduced; ++i)
    split.reduced.push_back(gradient[gradient.outputs[i]].type);
  split.gradient_inputs = read_numbers(from.gradient_inputs(), inputs, gradient.inputs.size());
  split.gradient_outputs =
      read_numbers(from.gradient_outputs(), outputs, gradient.outputs.size() - reduced);
  split.update_outputs = read_numbers(from.update_outputs(), outputs, update.outputs.size());
  check(static_cast<std::size_t>(from.update_inputs_size()) == update.inputs.size(),
        "{} inputs of the update program", from.update_inputs_size());
  for (const proto::UpdateInput& input : from.update_inputs()) {
    const bool from_step = input.step_input() >= 0;
    check(from_step != (input.reduced() >= 0) &&
              (from_step ? static_cast<std::size_t>(input.step_input()) < inputs
                         : static_cast<std::size_t>(input.reduced()) < reduced),
          "an input of the update program comes from {} and {}", input.step_input(),
          input.reduced());
    split.update_inputs.push_back({input.step_input(), input.reduced()});
  }
}

/// Drops the offers that were not used.
struct OffersEnd {
  ~OffersEnd() { kernels.drop_offers(); }
  KernelCache& kernels;
};

}  // namespace

CompileSettings compile_settings(const CompileOptions& options) {
  const auto name_of_units = [](Bf16Units units) {
    switch (units) {
      case Bf16Units::kNone: return "none";
      case Bf16Units::kVectors: return "vectors";
      case Bf16Units::kTiles: return "tiles";
    }
    __builtin_unreachable();
  };
  // Exact: in as few digits as give the same number of bytes, as users wrote it.
  const auto size = [](std::int64_t bytes, double per_unit) {
    const double value = static_cast<double>(bytes) / per_unit;
    for (int digits = 1; digits < std::numeric_limits<double>::max_digits10; ++digits) {
      const std::string text = fmt::format("{:.{}g}", value, digits);
      if (std::llround(std::stod(text) * per_unit) == bytes) return text;
    }
    return fmt::format("{}", value);
  };
  const Target& target = options.target;
  const BucketOptions& buckets = options.buckets;
  return {
      {"the build", build_id().hex(), Cause::kBuild},
      {"the processor", cpu_model().hex(), Cause::kIsa},
      {"vector units", target.isa == Isa::kAvx2 ? "avx2" : "avx512", Cause::kIsa},
      {"bf16 units", name_of_units(target.bf16), Cause::kIsa},
      {"device.memory_gb", size(static_cast<std::int64_t>(target.memory_bytes), 0x1p30),
       Cause::kOptions},
      {"distributed.bucket_mb", size(buckets.bucket_bytes, 0x1p20), Cause::kOptions},
      {"distributed.first_bucket_mb", size(buckets.first_bucket_bytes, 0x1p20), Cause::kOptions},
  };
}

std::string compile_identity(const Graph& step, const CompileOptions& options) {
  return print(compile_settings(options)) + structure_bytes(step);
}

std::string serialize(const LoadedStep& loaded, std::string_view identity) {
  const CompiledStep& compiled = *loaded.compiled;
  proto::CompiledStep out;
  out.set_identity(identity.data(), identity.size());
  out.set_gradient(serialize_program(compiled.gradient));
  out.set_update(serialize_program(compiled.update));
  const SplitStep& split = compiled.split;
  out.set_reduced(static_cast<std::int32_t>(split.reduced.size()));
  for (const std::int32_t i : split.gradient_inputs) out.add_gradient_inputs(i);
  for (const std::int32_t i : split.gradient_outputs) out.add_gradient_outputs(i);
  for (const std::int32_t i : split.update_outputs) out.add_update_outputs(i);
  for (const UpdateInput& input : split.update_inputs) {
    proto::UpdateInput& to = *out.add_update_inputs();
    to.set_step_input(input.step_input);
    to.set_reduced(input.reduced);
  }
  std::set<Hash128> known;
  for (const LoadedPlan* plan : {&loaded.gradient, &loaded.update})
    write_object_code(*plan, known, out);
  if (out.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    raise(ErrorKind::kData, "the compiled step is too large to be kept: {} bytes",
          out.ByteSizeLong());
  return out.SerializeAsString();
}

std::shared_ptr<LoadedStep> deserialize(std::string_view bytes, std::string_view identity,
                                        Graph step, const CompileOptions& options,
                                        KernelCache& kernels) {
  proto::CompiledStep from;
  check(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
            from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
        "it does not parse");
  check(from.identity() == identity, "it is of another step, build or machine");
  auto out = std::make_shared<CompiledStep>();
  out->step = std::move(step);
  if (!from.gradient().empty()) out->gradient = deserialize(from.gradient());
  if (!from.update().empty()) out->update = deserialize(from.update());
  read_split(from, *out);
  out->reduction = plan_reduction(out->split.reduced, options.buckets);
  for (proto::KernelCode& kernel : *from.mutable_kernels())
    kernels.offer({kernel.key_low(), kernel.key_high()}, std::move(*kernel.mutable_object()));
  const OffersEnd end{kernels};
  try {
    return load_step(std::move(out), options, kernels);
  } catch (const Error& e) {
    // Kernels assume a compiler's plan: here an internal error means that the bytes are damaged.
    if (e.kind() == ErrorKind::kInternal) check(false, "{}", e.what());
    throw;
  }
}

}  // namespace lockstep

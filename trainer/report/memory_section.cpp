#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "trainer/report/readable_bytes.h"
#include "trainer/report/sections.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kActivations = "activations";

OrderedJson live_memory_json(const ProgramRecord::Program& program) {
  OrderedJson commands = OrderedJson::array(), values = OrderedJson::array();
  for (const ProgramRecord::CommandRecord& command : program.commands)
    commands.push_back(fmt::format("{} {} {}", command.op, command.module, command.line));
  for (const ProgramRecord::ValueRecord& value : program.values)
    values.push_back({{"name", value.name},
                      {"module", value.module},
                      {"line", value.line},
                      {"bytes", value.bytes},
                      {"first", value.first},
                      {"last", value.last}});
  const auto peak = std::ranges::max_element(program.live_bytes) - program.live_bytes.begin();
  return {{"name", program.name},
          {"commands", std::move(commands)},
          {"live_bytes", program.live_bytes},
          {"peak", peak},
          {"values", std::move(values)}};
}

std::int64_t bytes_of_kind(const ProgramRecord& record, std::string_view kind) {
  const auto found = std::ranges::find(record.memory, kind, &ProgramRecord::MemoryPart::kind);
  return found == record.memory.end() ? 0 : found->bytes;
}

std::string size_text(std::int64_t bytes) {
  return readable_bytes(static_cast<double>(bytes));
}

/// Settings that would lower the peak, where the largest part is one that they change.
OrderedJson remedies_for(const RunFacts& facts, const ProgramRecord& record) {
  constexpr double kLargePart = 0.25;  // of the peak
  OrderedJson out = OrderedJson::array();
  const std::int64_t activations = bytes_of_kind(record, kActivations);
  if (!facts.config ||
      static_cast<double>(activations) < kLargePart * static_cast<double>(record.peak_bytes))
    return out;
  const std::int64_t micro_batch = facts.config->batch.micro_batch_size;
  if (micro_batch > 1 && micro_batch % 2 == 0)
    out.push_back(
        fmt::format("training.micro_batch_size={}: activations would take about {} instead of {}",
                    micro_batch / 2, size_text(activations / 2), size_text(activations)));
  if (facts.config->training.precision == Precision::kFp32)
    out.push_back("training.precision=bf16-mixed: most activations would take half");
  if (facts.config_text.find("gradient_checkpointing: false") != std::string::npos)
    out.push_back(
        "model.gradient_checkpointing=true: activations of one layer at a time, computed again");
  return out;
}

std::string memory_finding(const ProgramRecord& record) {
  std::string out =
      fmt::format("A rank's device had at most {} in use", size_text(record.peak_bytes));
  if (record.limit_bytes > 0)
    out += fmt::format(", {:.3g} % of its limit", 100 * static_cast<double>(record.peak_bytes) /
                                                      static_cast<double>(record.limit_bytes));
  if (record.memory.empty() || record.peak_bytes <= 0) return out + ".";
  const auto most = std::ranges::max_element(record.memory, {}, &ProgramRecord::MemoryPart::bytes);
  return out + fmt::format(
                   "; the largest part, {:.0f} %, is {}.",
                   100 * static_cast<double>(most->bytes) / static_cast<double>(record.peak_bytes),
                   most->kind);
}

}  // namespace

std::string memory_section(const RunFacts& facts) {
  OrderedJson out{{"sources", {facts.file("profile/program.json"), facts.file("metrics.jsonl")}}};
  if (!facts.program) {
    out["finding"] = "What memory a step takes, command by command, was not recorded.";
    out["missing"] = facts.without_ledger();
    return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  const ProgramRecord& record = *facts.program;
  out["finding"] = memory_finding(record);
  out["peak_bytes"] = record.peak_bytes;
  if (record.limit_bytes > 0) out["limit_bytes"] = record.limit_bytes;
  out["parts"] = OrderedJson::array();
  for (const ProgramRecord::MemoryPart& part : record.memory)
    out["parts"].push_back({{"name", part.kind}, {"bytes", part.bytes}});
  out["programs"] = OrderedJson::array();
  for (const ProgramRecord::Program& program : record.programs)
    out["programs"].push_back(live_memory_json(program));
  out["remedies"] = remedies_for(facts, record);
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep

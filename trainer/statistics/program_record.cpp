#include "trainer/statistics/program_record.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json_place.h"
#include "core/ir/group.h"
#include "core/observe/bundle.h"
#include "core/observe/live_values.h"
#include "core/runtime/compiled_step.h"

namespace lockstep {
namespace {

using RecordJson = nlohmann::ordered_json;

constexpr const char* kRecordFormat = "lockstep program";
constexpr std::int64_t kRecordVersion = 1;
// Of what is read: far beyond all that is.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;
constexpr double kMaxFigure = 1e18;

std::filesystem::path record_path(const std::string& run_folder) {
  return std::filesystem::path(run_folder) / "profile" / "program.json";
}

std::string op_and_type(const Node& node) {
  return fmt::format("{} {}", name_of(node.op), node.type.to_string());
}

std::vector<ProgramRecord::FusedOp> body_of(const Node& node) {
  std::vector<ProgramRecord::FusedOp> out;
  if (node.op != Op::kFusion) return out;
  for (const Node& op : node.body->nodes)
    if (op.op != Op::kInput && op.op != Op::kConstant)
      out.push_back({op_and_type(op), std::string(op.origin.scope), source_line(op)});
  return out;
}

ProgramRecord::CommandRecord command_of(const Plan& plan, std::size_t index, bool is_update,
                                        double calls) {
  const CommandBundle alone{plan, index, index + 1, is_update};
  const Command& command = alone.first();
  return {.op = signature_of(alone),
          .work = std::string(name_of(command.work)),
          .module = std::string(alone.node().origin.scope),
          .line = source_line(alone.node()),
          .with_previous = command.with_previous,
          .flops = command.flops * calls,
          .bytes = command.bytes * calls,
          .body = body_of(alone.node())};
}

ProgramRecord::ValueRecord value_of(const Plan& plan, const LiveValue& value) {
  const Node& node = plan.graph[plan.commands[static_cast<std::size_t>(value.command)].value];
  ProgramRecord::ValueRecord out{
      .bytes = value.slice.bytes, .first = value.first, .last = value.last};
  const Node* origin = &node;
  if (value.result < 0) {
    out.name = fmt::format("scratch of {}", op_and_type(node));
  } else if (node.op == Op::kFusion) {
    origin = &(*node.body)[node.body->outputs[static_cast<std::size_t>(value.result)]];
    out.name = fmt::format("fused {}", op_and_type(*origin));
  } else {
    const auto result = static_cast<std::size_t>(value.result);
    out.name = fmt::format("{} {}", name_of(node.op), result_type(node, result).to_string());
  }
  out.module = std::string(origin->origin.scope);
  out.line = source_line(*origin);
  return out;
}

ProgramRecord::Program program_of(const Plan& plan, bool is_update, const std::vector<double>& ms,
                                  double calls) {
  ProgramRecord::Program out{.name = is_update ? "update" : "gradient",
                             .arena_bytes = plan.arena_bytes,
                             .output_bytes = plan.peak_bytes - plan.arena_bytes,
                             .constant_bytes = plan.constant_bytes};
  for (std::size_t c = 0; c < plan.commands.size(); ++c) {
    out.commands.push_back(command_of(plan, c, is_update, calls));
    if (c < ms.size()) out.commands.back().ms = ms[c];
  }
  LiveMemory live = live_memory(plan);
  out.live_bytes = std::move(live.bytes);
  std::ranges::stable_sort(live.values, std::greater(),
                           [](const LiveValue& value) { return value.slice.bytes; });
  live.values.resize(std::min(live.values.size(), ProgramRecord::kMaxValues));
  for (const LiveValue& value : live.values) out.values.push_back(value_of(plan, value));
  return out;
}

RecordJson command_json(const ProgramRecord::CommandRecord& command) {
  RecordJson out{{"op", command.op},      {"work", command.work}, {"module", command.module},
                 {"line", command.line},  {"ms", command.ms},     {"flops", command.flops},
                 {"bytes", command.bytes}};
  if (command.with_previous) out["with_previous"] = true;
  if (command.body.empty()) return out;
  RecordJson& body = out["body"] = RecordJson::array();
  for (const ProgramRecord::FusedOp& op : command.body)
    body.push_back({{"op", op.op}, {"module", op.module}, {"line", op.line}});
  return out;
}

RecordJson program_json(const ProgramRecord::Program& program) {
  RecordJson commands = RecordJson::array();
  for (const auto& command : program.commands) commands.push_back(command_json(command));
  RecordJson values = RecordJson::array();
  for (const ProgramRecord::ValueRecord& value : program.values)
    values.push_back({{"name", value.name},
                      {"module", value.module},
                      {"line", value.line},
                      {"bytes", value.bytes},
                      {"first", value.first},
                      {"last", value.last}});
  return {{"name", program.name},
          {"arena_bytes", program.arena_bytes},
          {"output_bytes", program.output_bytes},
          {"constant_bytes", program.constant_bytes},
          {"commands", std::move(commands)},
          {"live_bytes", program.live_bytes},
          {"values", std::move(values)}};
}

/// What a terminal would take for commands is left out.
std::string text_of(const JsonPlace& json) {
  std::string out = json.string();
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return out;
}

double figure_of(const JsonPlace& json) {
  const double out = json.real();
  if (!(out >= 0 && out <= kMaxFigure)) json.refuse("this cannot be");
  return out;
}

std::int64_t bytes_of(const JsonPlace& json) {
  return json.integer(0, kMaxBytes);
}

ProgramRecord::CommandRecord read_command(const JsonPlace& json) {
  ProgramRecord::CommandRecord out{.op = text_of(json.at("op")),
                                   .work = text_of(json.at("work")),
                                   .module = text_of(json.at("module")),
                                   .line = text_of(json.at("line")),
                                   .with_previous = json.boolean_or("with_previous", false),
                                   .ms = figure_of(json.at("ms")),
                                   .flops = figure_of(json.at("flops")),
                                   .bytes = figure_of(json.at("bytes")),
                                   .body = {}};
  if (const auto body = json.find("body"))
    for (const JsonPlace& op : body->elements())
      out.body.push_back({text_of(op.at("op")), text_of(op.at("module")), text_of(op.at("line"))});
  return out;
}

ProgramRecord::Program read_program(const JsonPlace& json) {
  ProgramRecord::Program out{.name = text_of(json.at("name")),
                             .arena_bytes = bytes_of(json.at("arena_bytes")),
                             .output_bytes = bytes_of(json.at("output_bytes")),
                             .constant_bytes = bytes_of(json.at("constant_bytes"))};
  if (out.name != "gradient" && out.name != "update") json.at("name").refuse("no such program");
  for (const JsonPlace& command : json.at("commands").elements())
    out.commands.push_back(read_command(command));
  for (const JsonPlace& bytes : json.at("live_bytes").elements())
    out.live_bytes.push_back(bytes_of(bytes));
  if (out.live_bytes.size() != out.commands.size())
    json.at("live_bytes")
        .refuse(fmt::format("it has {} numbers, and there are {} commands", out.live_bytes.size(),
                            out.commands.size()));
  const auto last_command = static_cast<std::int64_t>(out.commands.size()) - 1;
  for (const JsonPlace& value : json.at("values").elements()) {
    if (out.values.size() == ProgramRecord::kMaxValues) value.refuse("there are too many values");
    const std::int64_t first = value.at("first").integer(0, last_command);
    out.values.push_back({.name = text_of(value.at("name")),
                          .module = text_of(value.at("module")),
                          .line = text_of(value.at("line")),
                          .bytes = bytes_of(value.at("bytes")),
                          .first = first,
                          .last = value.at("last").integer(first, last_command)});
  }
  return out;
}

ProgramRecord read_record(const JsonPlace& json) {
  if (json.at("format").string() != kRecordFormat)
    json.refuse("this is not the record of a program");
  (void)json.at("version").integer(kRecordVersion, kRecordVersion);
  ProgramRecord out;
  out.steps = json.at("steps").integer(1, kMaxBytes);
  out.micro_batches = figure_of(json.at("micro_batches"));
  out.peak_bytes = bytes_of(json.at("peak_bytes"));
  out.limit_bytes = bytes_of(json.at("limit_bytes"));
  for (const JsonPlace& part : json.at("memory").elements())
    out.memory.push_back({text_of(part.at("kind")), bytes_of(part.at("bytes"))});
  for (const JsonPlace& program : json.at("programs").elements())
    out.programs.push_back(read_program(program));
  return out;
}

}  // namespace

ProgramRecord record_of(const MeasuredProgram& measured) {
  ProgramRecord out;
  out.steps = measured.steps;
  out.micro_batches = measured.micro_batches;
  const CompiledStep& step = *measured.program;
  if (!step.gradient.commands.empty())
    out.programs.push_back(
        program_of(step.gradient, false, measured.gradient_ms, measured.micro_batches));
  if (!step.update.commands.empty())
    out.programs.push_back(program_of(step.update, true, measured.update_ms, 1));
  return out;
}

std::string to_json(const ProgramRecord& record) {
  RecordJson memory = RecordJson::array();
  for (const ProgramRecord::MemoryPart& part : record.memory)
    memory.push_back({{"kind", part.kind}, {"bytes", part.bytes}});
  RecordJson programs = RecordJson::array();
  for (const ProgramRecord::Program& program : record.programs)
    programs.push_back(program_json(program));
  const RecordJson out{{"format", kRecordFormat},         {"version", kRecordVersion},
                       {"steps", record.steps},           {"micro_batches", record.micro_batches},
                       {"peak_bytes", record.peak_bytes}, {"limit_bytes", record.limit_bytes},
                       {"memory", std::move(memory)},     {"programs", std::move(programs)}};
  return out.dump(-1, ' ', false, RecordJson::error_handler_t::replace);
}

ProgramRecord parse_program_record(std::string_view text, const std::string& where) {
  return read_record(
      JsonPlace::parse(std::string(text), JsonSource{.name = where, .kind = ErrorKind::kUsage}));
}

void write_program_record(const std::string& run_folder, const ProgramRecord& record, Log& log) {
  const std::filesystem::path path = record_path(run_folder);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  try {
    write_file(path.string(), to_json(record) + "\n", ErrorKind::kUsage);
  } catch (const Error& problem) {
    log.warn("the record of the step's program could not be written: {}", problem.what());
  }
}

std::optional<ProgramRecord> read_program_record(const std::string& run_folder) {
  const std::string path = record_path(run_folder).string();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return read_record(JsonPlace::read(path, ErrorKind::kUsage));
}

}  // namespace lockstep

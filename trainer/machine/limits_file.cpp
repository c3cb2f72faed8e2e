#include "trainer/machine/limits_file.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/cores.h"
#include "core/base/cpu_model.h"
#include "core/base/error.h"
#include "core/base/json_place.h"
#include "data/files/read_text.h"
#include "trainer/machine/machine.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kCalibrationFormat = "lockstep calibration";
constexpr int kCalibrationVersion = 1;

constexpr std::array<std::pair<Isa, const char*>, 2> kIsas{
    {{Isa::kAvx2, "avx2"}, {Isa::kAvx512, "avx512"}}};
constexpr std::array<std::pair<Bf16Units, const char*>, 3> kUnits{
    {{Bf16Units::kNone, "none"}, {Bf16Units::kVectors, "vectors"}, {Bf16Units::kTiles, "amx"}}};

template <class Table, class T>
const char* text_of(const Table& table, T value) {
  for (const auto& [each, text] : table)
    if (each == value) return text;
  LS_CHECK(false, "a value without a name");
}

/// The problem with a file, printed after its name.
[[noreturn]] void refuse(const std::string& what) {
  raise(ErrorKind::kUsage, "{}", what);
}

template <class Table>
auto value_of(const Table& table, const std::string& text) {
  for (const auto& [value, name] : table)
    if (text == name) return value;
  refuse(fmt::format("'{}' is not known", text));
}

double positive(const OrderedJson& json, const char* key) {
  const auto value = json.at(key).get<double>();
  if (!std::isfinite(value) || value <= 0)
    refuse(fmt::format("{} is {}, which no machine has", key, value));
  return value;
}

template <class T>
T count(const OrderedJson& json, const char* key) {
  constexpr double kMaxValue = 1e15;
  const double value = positive(json, key);
  if (value != std::floor(value) || value > (sizeof(T) < 8 ? 1e6 : kMaxValue))
    refuse(fmt::format("{} is {}, which is not a count", key, value));
  return static_cast<T>(value);
}

DType read_dtype(const OrderedJson& json) {
  const auto name = json.get<std::string>();
  const auto dtype = parse_dtype(name);
  if (!dtype) refuse(fmt::format("there is no dtype '{}'", name));
  return *dtype;
}

OrderedJson machine_json(const MachineKind& machine) {
  return {{"cpu", machine.cpu_name},
          {"cpu_model", machine.cpu_model},
          {"cores", machine.cores},
          {"isa", text_of(kIsas, machine.isa)},
          {"bf16_units", text_of(kUnits, machine.bf16)}};
}

MachineKind read_machine(const OrderedJson& json) {
  return {.cpu_model = json.at("cpu_model").get<std::string>(),
          .cpu_name = json.at("cpu").get<std::string>(),
          .cores = count<int>(json, "cores"),
          .isa = value_of(kIsas, json.at("isa").get<std::string>()),
          .bf16 = value_of(kUnits, json.at("bf16_units").get<std::string>())};
}

OrderedJson dots_json(const std::vector<DotRate>& rows) {
  OrderedJson out = OrderedJson::array();
  for (const DotRate& row : rows)
    out.push_back({{"size", row.size},
                   {"dtype", name_of(row.dtype)},
                   {"m", row.m},
                   {"n", row.n},
                   {"k", row.k},
                   {"threads", row.cores.threads},
                   {"ranks", row.cores.ranks},
                   {"flops_per_s", row.flops_per_s},
                   {"spread", row.spread}});
  return out;
}

DotRate read_dot(const OrderedJson& json) {
  DotRate out;
  out.size = json.at("size").get<std::string>();
  out.dtype = read_dtype(json.at("dtype"));
  out.m = count<std::int64_t>(json, "m");
  out.n = count<std::int64_t>(json, "n");
  out.k = count<std::int64_t>(json, "k");
  out.cores = {count<int>(json, "threads"), count<int>(json, "ranks")};
  out.flops_per_s = positive(json, "flops_per_s");
  out.spread = positive(json, "spread");
  return out;
}

OrderedJson memory_json(const std::vector<MemoryRate>& rows) {
  OrderedJson out = OrderedJson::array();
  for (const MemoryRate& row : rows)
    out.push_back({{"working_set_bytes", row.working_set},
                   {"threads", row.threads},
                   {"copy_bytes_per_s", row.copy_bytes_per_s},
                   {"triad_bytes_per_s", row.triad_bytes_per_s},
                   {"spread", row.spread}});
  return out;
}

MemoryRate read_memory(const OrderedJson& json) {
  return {count<std::int64_t>(json, "working_set_bytes"), count<int>(json, "threads"),
          positive(json, "copy_bytes_per_s"), positive(json, "triad_bytes_per_s"),
          positive(json, "spread")};
}

OrderedJson all_reduce_json(const std::vector<AllReduceTime>& rows) {
  OrderedJson out = OrderedJson::array();
  for (const AllReduceTime& row : rows)
    out.push_back({{"ranks", row.ranks},
                   {"nodes", row.nodes},
                   {"bytes", row.bytes},
                   {"seconds", row.seconds},
                   {"spread", row.spread}});
  return out;
}

AllReduceTime read_all_reduce(const OrderedJson& json) {
  return {count<int>(json, "ranks"), count<int>(json, "nodes"), count<std::int64_t>(json, "bytes"),
          positive(json, "seconds"), positive(json, "spread")};
}

OrderedJson steps_json(const StepRates& rates) {
  if (!rates.measured()) return nullptr;
  OrderedJson work = OrderedJson::array(), overheads = OrderedJson::array();
  for (const WorkFactor& row : rates.work)
    work.push_back({{"work", row.work},
                    {"math", name_of(row.math)},
                    {"threads", row.cores.threads},
                    {"ranks", row.cores.ranks},
                    {"factor", row.factor},
                    {"byte_seconds", row.byte_seconds},
                    {"bundle_seconds", row.bundle_seconds}});
  for (const StepOverhead& row : rates.overheads)
    overheads.push_back({{"threads", row.cores.threads},
                         {"ranks", row.cores.ranks},
                         {"node_seconds", row.node_seconds},
                         {"waits", row.waits}});
  return {{"work", work},
          {"overheads", overheads},
          {"sums_bytes_per_s", rates.sums_bytes_per_s},
          {"deviation", rates.deviation}};
}

double not_negative(const OrderedJson& json, const char* key) {
  return json.at(key).get<double>() == 0 ? 0 : positive(json, key);
}

StepRates read_steps(const OrderedJson& json) {
  StepRates out;
  if (json.is_null()) return out;
  const auto cores = [](const OrderedJson& row) {
    return BusyCores{count<int>(row, "threads"), count<int>(row, "ranks")};
  };
  for (const OrderedJson& row : json.at("work")) {
    // Files of earlier builds have none.
    const auto added = [&](const char* key) {
      return row.contains(key) ? not_negative(row, key) : 0;
    };
    out.work.push_back({row.at("work").get<std::string>(), read_dtype(row.at("math")), cores(row),
                        positive(row, "factor"), added("byte_seconds"), added("bundle_seconds")});
  }
  for (const OrderedJson& row : json.at("overheads"))
    out.overheads.push_back(
        {cores(row), not_negative(row, "node_seconds"), not_negative(row, "waits")});
  out.sums_bytes_per_s = not_negative(json, "sums_bytes_per_s");
  out.deviation = not_negative(json, "deviation");
  return out;
}

/// A cost that may not have been measured.
double cost(const OrderedJson& json, const char* key) {
  return json.at(key).is_null() ? 0 : positive(json, key);
}
OrderedJson cost_json(double ns) {
  return ns > 0 ? OrderedJson(ns) : OrderedJson();
}

MachineLimits limits_of(const OrderedJson& json) {
  if (!json.is_object() || json.value("format", "") != kCalibrationFormat)
    refuse("it is not a calibration");
  if (const int version = json.at("version").get<int>(); version != kCalibrationVersion)
    refuse(fmt::format("it has version {}, and this build reads {}", version, kCalibrationVersion));
  MachineLimits out;
  out.machine = read_machine(json.at("machine"));
  out.calibration = {.measured = true,
                     .quick = json.at("quick").get<bool>(),
                     .date = json.at("date").get<std::string>(),
                     .build = json.at("build").get<std::string>(),
                     .seconds = positive(json, "duration_s")};
  for (const OrderedJson& row : json.at("dots")) out.dots.push_back(read_dot(row));
  for (const OrderedJson& row : json.at("memory")) out.memory.push_back(read_memory(row));
  for (const OrderedJson& row : json.at("all_reduce"))
    out.all_reduce.push_back(read_all_reduce(row));
  // Files of earlier builds have none.
  if (json.contains("steps")) out.steps = read_steps(json["steps"]);
  out.bundle_ns = cost(json, "launch_ns");
  out.clock_ns = cost(json, "clock_ns");
  out.event_ns = cost(json, "event_ns");
  for (const OrderedJson& dtype : json.at("fast_dtypes"))
    out.fast_dtypes.push_back(read_dtype(dtype));
  return out;
}

/// Why these limits are not sufficient for the roofline; empty if they are.
std::string lack_of(const MachineLimits& limits) {
  bool f32 = false;
  for (const DotRate& row : limits.dots) f32 = f32 || row.dtype == DType::kF32;
  if (!f32) return "it has no dots of f32";
  if (limits.memory.empty()) return "it has no memory bandwidth";
  if (limits.bundle_ns <= 0) return "it has no cost of a bundle";
  return "";
}

}  // namespace

MachineKind this_machine(const Target& target) {
  return {.cpu_model = cpu_model().hex(),
          .cpu_name = processor().name,
          .cores = online_cores(),
          .isa = target.isa,
          .bf16 = target.bf16};
}

std::string to_json(const MachineLimits& limits) {
  const OrderedJson json{{"format", kCalibrationFormat},
                         {"version", kCalibrationVersion},
                         {"machine", machine_json(limits.machine)},
                         {"date", limits.calibration.date},
                         {"build", limits.calibration.build},
                         {"duration_s", limits.calibration.seconds},
                         {"quick", limits.calibration.quick},
                         {"dots", dots_json(limits.dots)},
                         {"memory", memory_json(limits.memory)},
                         {"all_reduce", all_reduce_json(limits.all_reduce)},
                         {"steps", steps_json(limits.steps)},
                         {"launch_ns", cost_json(limits.bundle_ns)},
                         {"clock_ns", cost_json(limits.clock_ns)},
                         {"event_ns", cost_json(limits.event_ns)},
                         {"fast_dtypes", [&] {
                            OrderedJson out = OrderedJson::array();
                            for (const DType dtype : limits.fast_dtypes)
                              out.push_back(name_of(dtype));
                            return out;
                          }()}};
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace);
}

MachineLimits parse_limits(std::string_view text, const std::string& where) {
  const std::string strict =
      JsonPlace::parse(std::string(text), JsonSource{.name = where, .kind = ErrorKind::kUsage})
          .dump();
  try {
    return limits_of(OrderedJson::parse(strict));
  } catch (const OrderedJson::exception& e) {
    raise(ErrorKind::kUsage, "{}: it is damaged: {}", where, e.what());
  } catch (const Error& e) {
    raise(ErrorKind::kUsage, "{}: {}", where, e.what());
  }
}

std::string limits_path(const Settings& settings, const MachineKind& machine) {
  if (settings.cache_home.empty()) return "";
  return fmt::format(
      "{}/lockstep/calibration-{:.16}-{}-{}{}.json", settings.cache_home, machine.cpu_model,
      machine.cores, text_of(kIsas, machine.isa),
      machine.bf16 == Bf16Units::kNone ? "" : fmt::format("-{}", text_of(kUnits, machine.bf16)));
}

void check_limits_path(const std::string& path) {
  const std::string folder = parent_folder(path);
  std::error_code error;
  fs::create_directories(folder, error);
  LS_USER_CHECK(!error, "{}: the folder cannot be made: {}", folder, error.message());
  LS_USER_CHECK(!fs::is_directory(path, error), "{}: it is a folder, not a file", path);
  check_can_write(path, ErrorKind::kUsage);
}

void write_limits(const std::string& path, const MachineLimits& limits) {
  write_file(path, to_json(limits) + "\n", ErrorKind::kUsage);
}

FoundLimits read_limits(const std::string& path, const MachineKind& machine) {
  FoundLimits out{default_limits(machine), ""};
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return out;
  const auto reject = [&](const std::string& why) {
    out.warning = fmt::format(
        "{}; a default is used instead, and `lockstep calibrate` measures this machine", why);
  };
  try {
    MachineLimits limits = parse_limits(read_text(path), path);
    const std::string lack = lack_of(limits);
    if (!limits.machine.is_like(machine))
      reject(fmt::format("{}: it is of another machine ({}; this is {})", path,
                         limits.machine.to_string(), machine.to_string()));
    else if (!lack.empty())
      reject(fmt::format("{}: {}", path, lack));
    else
      out.limits = std::move(limits);
  } catch (const Error& e) {
    reject(e.what());
  }
  return out;
}

FoundLimits find_limits(const Settings& settings, const Target& target) {
  const MachineKind machine = this_machine(target);
  return read_limits(limits_path(settings, machine), machine);
}

}  // namespace lockstep

#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <ostream>

#include "core/base/cores.h"
#include "core/base/metrics.h"
#include "core/ir/target.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/exit_codes.h"
#include "trainer/machine/core_share.h"
#include "trainer/machine/limits_file.h"
#include "trainer/machine/machine.h"

namespace lockstep {
namespace {

enum class Verdict { kOk, kWarn, kFail };

struct Finding {
  Verdict verdict;
  std::string topic;
  std::string text;
};

constexpr double kLittleMemory = 2.0 * 0x1p30;
constexpr std::uint64_t kSharedMemory = std::uint64_t{64} << 20;  ///< of OpenMPI, for two ranks
constexpr std::uint64_t kTemporary = std::uint64_t{16} << 20;     ///< OpenMPI's session folder

Finding examine_processor(const Settings& settings) {
  const Processor cpu = processor();
  std::vector<std::string> units;
  for (const char* flag :
       {"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_bf16", "amx_bf16"})
    if (cpu.has(flag)) units.emplace_back(flag);
  const std::string text = fmt::format("{}: {}", cpu.name, fmt::join(units, " "));
  if (!cpu.has("avx2") || !cpu.has("fma"))
    return {Verdict::kFail, "cpu", text + "; AVX2 and FMA are needed"};
  const bool wide =
      cpu.has("avx512f") && cpu.has("avx512bw") && cpu.has("avx512dq") && cpu.has("avx512vl");
  if (!wide)
    return {Verdict::kWarn, "cpu", text + "; kernels use AVX2: without AVX-512 training is slower"};
  if (host_target(settings.max_isa).isa == Isa::kAvx2)
    return {Verdict::kWarn, "cpu", text + "; kernels use AVX2 because of LOCKSTEP_MAX_ISA"};
  return {Verdict::kOk, "cpu", text + "; kernels use AVX-512 (unless device.max_isa limits them)"};
}

Finding examine_cores(const Settings& settings) {
  const int usable = usable_cores();
  std::string text = fmt::format("{} of {} usable", usable, online_cores());
  if (const auto quota = core_quota()) text += fmt::format(", a quota of {:g}", *quota);
  // Before they are connected, ranks are taken to be on this host.
  const auto ranks = static_cast<std::size_t>(std::max(settings.world_size, 1));
  const CoreShare share = share_of(0, std::vector(ranks, own_cores()), processor_places());
  text += fmt::format("; device.threads: auto is {} ({})", share.threads, share.why);
  if (usable < online_cores())
    text += settings.under_launcher ? "; mpirun pins ranks unless started with --bind-to none"
                                    : "; this process is pinned";
  const bool crowded = settings.world_size > online_cores();
  if (crowded) text += fmt::format("; {} ranks share them", settings.world_size);
  return {usable < online_cores() || crowded ? Verdict::kWarn : Verdict::kOk, "cores", text};
}

Finding examine_memory() {
  const auto available = static_cast<double>(available_memory());
  const std::string text = format_bytes(available) + " available";
  if (available < kLittleMemory)
    return {Verdict::kWarn, "memory", text + "; device.memory_gb must stay below that"};
  return {Verdict::kOk, "memory", text};
}

Finding examine_launcher(const Settings& settings) {
  if (settings.under_launcher)
    return {Verdict::kOk, "mpi",
            fmt::format("rank {} of {}", settings.world_rank, settings.world_size)};
  std::error_code error;
  for (const char* path : {"/usr/bin/mpirun", "/usr/local/bin/mpirun"}) {
    if (!std::filesystem::exists(path, error)) continue;
    const char* root = geteuid() == 0 ? "; as root it needs --allow-run-as-root" : "";
    return {Verdict::kOk, "mpi",
            fmt::format("not under mpirun: one rank; {} starts more{}", path, root)};
  }
  return {Verdict::kWarn, "mpi", "no mpirun in /usr/bin: only one rank can be started"};
}

Finding examine_folder(const std::string& folder, std::uint64_t bytes, const std::string& use) {
  const std::string problem = write_problem(folder, bytes);
  if (problem.empty()) return {Verdict::kOk, folder, "usable"};
  return {Verdict::kWarn, folder, problem + "; " + use};
}

/// Whether the limits of this machine are stored for profiles.
Finding examine_calibration(const Settings& settings) {
  if (!processor().has("avx2")) return {Verdict::kOk, "calibration", "none"};
  const FoundLimits found = find_limits(settings, host_target(settings.max_isa));
  if (!found.warning.empty()) return {Verdict::kWarn, "calibration", found.warning};
  std::string text = found.limits.origin();
  if (!found.limits.calibration.measured) text += "; `lockstep calibrate` measures this machine";
  return {Verdict::kOk, "calibration", text};
}

/// The libraries whose versions affect results and file formats.
Finding examine_libraries() {
  std::vector<std::string> found;
  for (const std::string& file : loaded_libraries())
    for (const char* name : {"libmpi.", "libhdf5_serial.", "libdnnl.", "libyaml-cpp.", "libcrypto.",
                             "libfmt.", "libspdlog.", "libz.", "libboost_program_options."})
      if (file.starts_with(name)) found.push_back(file);
  return {Verdict::kOk, "libraries", fmt::format("{}", fmt::join(found, " "))};
}

int run_doctor(const CommandCall& call) {
  const std::vector<Finding> findings{
      {Verdict::kOk, "lockstep", LOCKSTEP_VERSION},
      examine_processor(call.settings),
      examine_cores(call.settings),
      examine_memory(),
      examine_launcher(call.settings),
      examine_folder("/dev/shm", kSharedMemory, "ranks of one node communicate through it"),
      examine_folder(temporary_folder(), kTemporary, "mpirun keeps its session files there"),
      examine_calibration(call.settings),
      examine_libraries()};
  int status = 0;
  for (const Finding& finding : findings) {
    const bool failed = finding.verdict == Verdict::kFail;
    if (failed) status = kUnfitExit;
    call.out << fmt::format("{:<4}  {}: {}\n",
                            failed                              ? "FAIL"
                            : finding.verdict == Verdict::kWarn ? "warn"
                                                                : "ok",
                            finding.topic, finding.text);
  }
  return status;
}

}  // namespace

CliCommand doctor_command() {
  return {.name = "doctor",
          .positionals = {},
          .help = "say whether this machine can train; exit code 9 if it cannot",
          .exits = {kUnfitExit},
          .run = run_doctor};
}

}  // namespace lockstep

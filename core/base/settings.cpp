#include "core/base/settings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/base/error.h"

namespace lockstep {
namespace {

std::optional<int> read_int(const char* name, int min, int max) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto result = std::from_chars(text, end, value);
  LS_USER_CHECK(result.ec == std::errc{} && result.ptr == end && value >= min && value <= max,
                "environment variable {}='{}' must be an integer from {} to {}", name, text, min,
                max);
  return value;
}

MaxIsa read_max_isa(const char* name) {
  const char* text = std::getenv(name);
  const std::string_view value = text == nullptr || *text == '\0' ? "auto" : text;
  if (value == "auto") return MaxIsa::kAuto;
  if (value == "avx2") return MaxIsa::kAvx2;
  LS_USER_CHECK(value == "avx512", "environment variable {}='{}' must be auto, avx2 or avx512",
                name, value);
  return MaxIsa::kAvx512;
}

std::string read_text(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string() : std::string(text);
}

bool is_set(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0';
}

/// A launcher is recognized by a variable that only the processes it starts have. In a Slurm batch
/// script rank and size are set as well, but no step.
struct Launcher {
  const char* mark;
  const char* size;
  const char* rank;
};
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
};

/// PBS, LSF, Grid Engine and OpenMPI's own default tell mpirun of hosts, and Slurm.
bool is_in_allocation() {
  constexpr std::array kMarks{"PBS_NODEFILE", "LSB_JOBID", "PE_HOSTFILE",
                              "OMPI_MCA_orte_default_hostfile"};
  return std::ranges::any_of(kMarks, is_set) ||
         (is_set("SLURM_JOB_ID") && read_text("SLURM_JOB_NUM_NODES") != "1");
}

std::optional<VectorUnits> read_units(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  constexpr std::array<std::string_view, 4> kNames{"avx2", "avx512", "avx512_bf16", "amx"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (text == kNames[i]) return static_cast<VectorUnits>(i);
  raise(ErrorKind::kUsage, "environment variable {}='{}' must be avx2, avx512, avx512_bf16 or amx",
        name, text);
}

/// SLURM_JOB_ID names the whole array in its last member.
std::string slurm_job() {
  const std::string array = read_text("SLURM_ARRAY_JOB_ID");
  return array.empty() ? read_text("SLURM_JOB_ID") : array + "_" + read_text("SLURM_ARRAY_TASK_ID");
}

/// By the XDG base directory specification, which also says that relative paths are ignored.
std::string cache_home() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return cache;
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache" : std::string();
}

/// Variables of the libraries that compute.
constexpr std::array kNumerics{
    "DNNL_MAX_CPU_ISA",     "ONEDNN_MAX_CPU_ISA",       "DNNL_CPU_ISA_HINTS",
    "ONEDNN_CPU_ISA_HINTS", "DNNL_DEFAULT_FPMATH_MODE", "ONEDNN_DEFAULT_FPMATH_MODE",
    "GLIBC_TUNABLES"};

}  // namespace

std::string temporary_folder() {
  return is_set("TMPDIR") ? read_text("TMPDIR") : "/tmp";
}

std::string usable_temporary_folder() {
  const std::string folder = temporary_folder();
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
    errno = ENOTDIR;
  else if (::access(folder.c_str(), W_OK | X_OK) == 0)
    return folder;
  raise(ErrorKind::kUsage,
        "the folder for temporary files, {}{}, cannot be used: {}; set TMPDIR to one that this "
        "user can write to",
        is_set("TMPDIR") ? "TMPDIR=" : "", folder, std::strerror(errno));
}

Settings settings_from_environment() {
  Settings out;
  out.debug = read_int("LOCKSTEP_DEBUG", 0, 5).value_or(0);
  out.dump_folder = read_text("LOCKSTEP_DUMP_DIR");
  out.max_isa = read_max_isa("LOCKSTEP_MAX_ISA");
  out.pretended_units = read_units("LOCKSTEP_PRETEND_ISA");
  out.cache_home = cache_home();
  out.watch_address = read_text("LOCKSTEP_WATCH_ADDRESS");
  out.watch_token = read_text("LOCKSTEP_WATCH_TOKEN");
  out.in_allocation = is_in_allocation();
  out.tcp_interfaces = read_text("OMPI_MCA_btl_tcp_if_include");
  out.slurm_job = slurm_job();
  out.slurm_restarts = read_int("SLURM_RESTART_COUNT", 0, INT_MAX).value_or(0);
  out.slurm_nodes = read_text("SLURM_JOB_NODELIST");
  for (const char* name : kNumerics) {
    const char* text = std::getenv(name);
    out.numerics.emplace_back(name, text == nullptr ? "" : text);
  }
  for (const Launcher& launcher : kLaunchers) {
    if (!is_set(launcher.mark)) continue;
    constexpr int kMaxRanks = 1 << 20;
    out.world_size = read_int(launcher.size, 1, kMaxRanks).value_or(1);
    out.world_rank = read_int(launcher.rank, 0, kMaxRanks).value_or(0);
    out.under_launcher = true;
    break;
  }
  return out;
}

}  // namespace lockstep

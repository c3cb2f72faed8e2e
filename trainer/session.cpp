#include "trainer/session.h"

#include <cmath>
#include <filesystem>

#include "collectives/mpi.h"
#include "collectives/single.h"

namespace lockstep {
namespace {

Log::Options log_options(const Settings& settings, const Communicator& communicator,
                         const std::string& run_folder) {
  Log::Options out;
  out.debug = settings.debug;
  out.console = communicator.is_master_ordinal();
  if (!run_folder.empty() && !out.console) {
    const std::filesystem::path folder = std::filesystem::path(run_folder) / "logs";
    std::filesystem::create_directories(folder);
    out.file = (folder / fmt::format("rank-{}.log", communicator.rank())).string();
  }
  return out;
}

DeviceOptions device_options(const Config& config) {
  DeviceOptions out;
  out.memory_bytes = static_cast<std::size_t>(std::llround(config.device.memory_gb * 0x1p30));
  out.threads = static_cast<int>(config.device.threads);
  out.queue_depth = static_cast<int>(config.device.queue_depth);
  out.transfer_threads = static_cast<int>(config.data.host_to_device_transfer_threads);
  return out;
}

CompileOptions compile_options(const Config& config) {
  CompileOptions out;
  out.target = host_target();
  out.target.memory_bytes = device_options(config).memory_bytes;
  out.buckets.bucket_bytes = std::llround(config.distributed.bucket_mb * 0x1p20);
  out.buckets.first_bucket_bytes = std::llround(config.distributed.first_bucket_mb * 0x1p20);
  out.buckets.overlap = config.distributed.overlap;
  return out;
}

}  // namespace

Session::Session(const Config& config, const Settings& settings,
                 std::unique_ptr<Communicator> communicator, const std::string& run_folder)
    : log_(std::make_unique<Log>(log_options(settings, *communicator, run_folder))),
      communicator_(std::move(communicator)),
      device_(std::make_unique<Device>(device_options(config), spans_)),
      engine_(std::make_unique<Engine>(compile_options(config), context_, *device_, *communicator_,
                                       *log_)) {}

std::unique_ptr<Communicator> make_communicator(const Settings& settings) {
  return settings.under_launcher ? make_mpi_communicator() : make_single_communicator();
}

}  // namespace lockstep

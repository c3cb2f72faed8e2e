#include "trainer/job/rank_runtime.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "collectives/mpi.h"
#include "collectives/single.h"
#include "collectives/watched.h"
#include "core/base/cores.h"
#include "core/base/error.h"
#include "core/engine/compile.h"
#include "core/engine/engine.h"
#include "core/observe/compilation.h"
#include "core/runtime/device.h"
#include "trainer/devices/device_times.h"
#include "trainer/job/profiling.h"
#include "trainer/machine/limits_file.h"
#include "trainer/machine/machine.h"
#include "trainer/telemetry/virtual_time_text.h"
#include "watch/job_addresses.h"
#include "watch/side_protocol.h"

namespace lockstep {
namespace {

std::size_t memory_bytes(const Config& config) {
  return static_cast<std::size_t>(std::llround(config.device.memory_gb * 0x1p30));
}

/// What this machine can give to the device of each of its ranks. All are here, and none has taken
/// much yet.
std::size_t host_share(const Topology& topology) {
  return available_memory() / topology.ranks_of(topology.node()).size();
}

DeviceOptions device_options(const Config& config, const Topology& topology, Activity activity) {
  DeviceOptions out;
  out.host_bytes = host_share(topology);
  out.activity = activity;
  out.memory_bytes = memory_bytes(config);
  out.threads = static_cast<int>(config.device.threads);
  out.queue_depth = static_cast<int>(config.device.queue_depth);
  out.transfer_threads = static_cast<int>(config.data.host_to_device_transfer_threads);
  const auto ranks = static_cast<int>(topology.ranks_of(topology.node()).size());
  out.may_spin = has_cores_for(ranks * out.threads);
  return out;
}

/// Names of the other nodes of the job.
std::vector<std::string> other_hosts(const Topology& topology) {
  std::vector<std::string> out;
  for (int node = 0; node < topology.nodes(); ++node)
    if (node != topology.node()) out.push_back(topology.host_of(topology.ranks_of(node)[0]));
  return out;
}

/// The nodes of a job report their ranks to each other through hubs: the launcher's, which are
/// known before MPI starts, or, if it has none, those of the lowest ranks of the first two nodes.
void watch_other_nodes(Communicator& communicator, const Settings& settings, Watch& watch) {
  const Topology& topology = communicator.topology();
  if (topology.nodes() == 1 || !settings.watch_address.empty()) return;
  const std::string token =
      communicator.exchange("watch token", to_hex(make_side_token()))[0];  // the master's
  const bool leads = topology.ranks_of(topology.node())[0] == topology.rank();
  const bool has_hub = leads && topology.node() < 2;
  const auto hold_hub = [&] {
    const ForeignCall call(watch.activity(), "looking up the hosts of the job");
    return watch.hold_hub(token, job_addresses(settings.tcp_interfaces, other_hosts(topology)));
  };
  std::vector<std::string> hubs;
  for (std::string& hub : communicator.exchange("watch hubs", has_hub ? hold_hub() : ""))
    if (!hub.empty()) hubs.push_back(std::move(hub));
  watch.join_other_nodes(hubs, token);
}

CompileOptions compile_options(const Config& config, const Settings& settings, const Target& target,
                               Activity activity) {
  CompileOptions out;
  out.activity = activity;
  out.target = target;
  out.target.memory_bytes = memory_bytes(config);
  out.buckets.bucket_bytes = std::llround(config.distributed.bucket_mb * 0x1p20);
  out.buckets.first_bucket_bytes = std::llround(config.distributed.first_bucket_mb * 0x1p20);
  out.buckets.overlap = config.distributed.overlap;
  out.max_programs = static_cast<std::size_t>(config.device.max_programs);
  out.stop_beyond = config.device.on_max_programs == OnMaxPrograms::kStop;
  out.artifacts.folder = cache_folder(config, settings);
  out.artifacts.max_bytes =
      static_cast<std::uint64_t>(std::llround(config.device.compile_cache_gb * 0x1p30));
  return out;
}

}  // namespace

RankRuntime::RankRuntime(const Config& config, const Settings& settings,
                         std::unique_ptr<Communicator> communicator, Watch& watch, TimeKept time)
    : config_(config),
      watch_(watch),
      log_(std::make_unique<Log>(Log::Options{
          .console = communicator->is_master_ordinal(), .file = {}, .debug = settings.debug})),
      communicator_(std::move(communicator)),
      console_warnings_(*communicator_, *log_),
      instruction_set_(
          agree_on_instruction_set(*communicator_, config.device.max_isa, settings, *log_)),
      device_(std::make_unique<Device>(
          device_options(with_threads(agree_on_threads(config.device.threads, *communicator_)),
                         communicator_->topology(), watch.activity()),
          spans_)),
      engine_(std::make_unique<Engine>(
          with_virtual_time(with_outlets(compile_options(config, settings, instruction_set_.target,
                                                         watch.activity()),
                                         settings),
                            settings, time),
          context_, *device_, *communicator_, *log_)),
      compilations_(communicator_->rank()) {
  engine_->set_compilation_listener(
      [this](const CompilationRecord& record) { compilations_.add(record); });
  const auto limits = [&] {
    FoundLimits found = find_limits(settings, instruction_set_.target);
    if (!found.warning.empty()) log_->warn("{}", found.warning);
    return std::move(found.limits);
  };
  profiling_ = std::make_unique<Profiling>(
      config.profile, *engine_, spans_, *communicator_, limits,
      VirtualTimeKeepers{device_times_.get(), virtual_clock_.get()}, *log_);
  if (config.profile.forbid_reads) engine_->forbid_reads();
  watch.set_limits(watch_limits(config));
  watch.set_log(log_.get(), is_master());
}

RankRuntime::~RankRuntime() {
  engine_->compilations();  // prints the lines that waited for the next one
  watch_.set_log(nullptr, false);
}

const Config& RankRuntime::with_threads(ChosenThreads chosen) {
  config_.device.threads = chosen.threads;
  threads_text_ = std::move(chosen.text);
  return config_;
}

/// A folder of dumps for each rank, because programs of several ranks have the same names.
CompileOptions RankRuntime::with_outlets(CompileOptions options, const Settings& settings) {
  options.artifacts.on_warning = warnings_to_console();
  if (!settings.dump_folder.empty())
    options.dump_folder = fmt::format("{}/rank-{}", settings.dump_folder, communicator_->rank());
  return options;
}

CompileOptions RankRuntime::with_virtual_time(CompileOptions options, const Settings& settings,
                                              TimeKept time) {
  if (time == TimeKept::kReal || config_.device.profile.empty()) return options;
  options.host_functions = &context_.host_functions();
  device_times_ =
      std::make_unique<DeviceTimes>(config_, settings, communicator_->topology(), options, *log_);
  VirtualClockOptions clock = device_times_->clock_options();
  clock.keeps_steps = is_master();
  virtual_clock_ = std::make_unique<VirtualClock>(clock);
  device_->set_virtual_clock(virtual_clock_.get());
  log_->info("virtual time of {}", device_times_->describe());
  options.durations = [this](const CompiledStep& step) {
    StepDurations out;
    virtual_clock_->outside([&] { out = device_times_->of(step); });
    return out;
  };
  return options;
}

std::function<void(const std::string&)> RankRuntime::warnings_to_console() {
  return [this](const std::string& warning) { console_warnings_.add(warning); };
}

void RankRuntime::log_to(const std::string& run_folder) {
  const std::filesystem::path folder = std::filesystem::path(run_folder) / "logs";
  std::filesystem::create_directories(folder);
  run_folder_ = run_folder;
  const int rank = communicator_->rank();
  log_->add_file((folder / fmt::format("rank-{}.log", rank)).string());
  if (!threads_text_.empty()) log_->info("device.threads: {}", threads_text_);
  const Topology& topology = communicator_->topology();
  const bool with_master = topology.node() == topology.node_of(0);
  compilations_.open(
      with_master ? compilations_path(run_folder) : compilations_path(run_folder, rank), *log_);
}

std::shared_ptr<const void> RankRuntime::claim_for_training(const Module& module) {
  std::weak_ptr<const void>& trained = trained_[&module.parameters()];
  LS_USER_CHECK(trained.expired(),
                "another Trainer trains the module and would continue with the values that this "
                "one gives it; destroy that one first, or use it for all steps");
  const auto claim = std::make_shared<char>();
  trained = claim;
  return claim;
}

WatchLimits watch_limits(const Config& config) {
  const DistributedConfig& distributed = config.distributed;
  return {distributed.stall_warn_s, distributed.stall_abort_s, distributed.foreign_call_abort_s};
}

void RankRuntime::begin_step(std::int64_t step) {
  engine_->set_step(step);
  profiling_->begin_step(step, run_folder_);
}

void RankRuntime::set_batch_room(std::int64_t bytes) {
  profiling_->set_batch_room(bytes);
}

void RankRuntime::finish() {
  engine_->wait();
  profiling_->finish();
  console_warnings_.exchange();
  communicator_->finish();
}

void RankRuntime::report() const {
  if (const std::string table = engine_->compilations().table(); !table.empty() && is_master())
    log_->info("{}", table);
  if (virtual_clock_ != nullptr && is_master())
    if (const std::string text =
            virtual_time_text(config_.device.profile, virtual_clock_->totals());
        !text.empty())
      log_->info("{}", text);
  profiling_->report(run_folder_, *log_);
}

std::string describe_placement(const Topology& topology, bool deterministic) {
  std::size_t partial_sums = 1;
  if (deterministic && topology.nodes() < topology.size())
    for (int node = 0; node < topology.nodes(); ++node)
      partial_sums = std::max(partial_sums, subtrees_of(topology, node).size());
  if (partial_sums == 1) return topology.to_string();
  return fmt::format(
      "{}: a node sends up to {} partial sums of each gradient, to keep the order of the sum; "
      "nodes "
      "of equally many ranks, a power of two, send one, and so does training.deterministic: false",
      topology.to_string(), partial_sums);
}

std::string cache_folder(const Config& config, const Settings& settings) {
  const std::string& choice = config.device.compile_cache;
  if (choice == "off") return "";
  if (choice != "auto") return choice;
  return settings.cache_home.empty() ? "" : settings.cache_home + "/lockstep";
}

std::string describe_fallback(const Config& config, const Target& target) {
  const MaxIsa max = config.device.max_isa;
  const bool narrow = target.isa == Isa::kAvx2;
  const bool falls_back = narrow && max != MaxIsa::kAvx2;
  const bool widens =
      target.bf16 == Bf16Units::kNone && config.training.precision == Precision::kBf16Mixed;
  if (!falls_back && !widens) return "";
  return fmt::format(
      "{}kernels use {}{}",
      falls_back ? fmt::format("device.max_isa is {}, but AVX-512 is not available: ", name_of(max))
                 : "",
      narrow ? "AVX2" : "AVX-512, where bf16 products are no faster than fp32",
      widens ? "; bf16 dots are fp32 dots on bf16-rounded inputs" : "");
}

void join_hub_of_launcher(const Settings& settings, Watch& watch) {
  if (settings.under_launcher && !settings.watch_address.empty())
    watch.join_other_nodes({settings.watch_address}, settings.watch_token);
}

std::unique_ptr<Communicator> make_communicator(const Config& config, const Settings& settings,
                                                Watch& watch) {
  if (!settings.under_launcher) return make_single_communicator();
  MpiOptions options;
  options.expected_ranks = settings.world_size;
  options.fixed_order = config.batch.deterministic;
  // Ranks that take all cores leave none to the communication.
  options.busy_threads = config.device.threads == kAutoThreads
                             ? runnable_threads()
                             : static_cast<int>(config.device.threads);
  switch (config.distributed.allreduce) {
    case AllReducePath::kAuto: options.shared_memory = SharedMemoryUse::kIfPossible; break;
    case AllReducePath::kShm: options.shared_memory = SharedMemoryUse::kRequired; break;
    case AllReducePath::kMpi: options.shared_memory = SharedMemoryUse::kNever; break;
  }
  join_hub_of_launcher(settings, watch);
  const Activity activity = watch.activity();
  activity.begin(Phase::kConnect);
  auto communicator = [&] {
    const ForeignCall call(activity, "MPI_Init");
    const PeerWait wait(activity, "MPI_Init");
    return make_watched_communicator(make_mpi_communicator(options), activity);
  }();
  activity.begin(Phase::kPrepare);
  watch_other_nodes(*communicator, settings, watch);
  return communicator;
}

}  // namespace lockstep

#include "trainer/train/session.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "core/base/error.h"
#include "core/base/host_memory.h"
#include "core/runtime/device.h"
#include "core/trace/reads.h"
#include "trainer/config/checks.h"
#include "trainer/config/schema.h"
#include "trainer/config/values.h"
#include "trainer/job/agreement.h"
#include "trainer/job/process.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/run/run_history.h"
#include "trainer/train/training_state.h"

namespace lockstep {
namespace {

/// Whether an argument is an override of the session's own settings.
bool is_override(std::string_view word) {
  constexpr std::array<std::string_view, 4> kOwn = {"device.", "distributed.", "profile.",
                                                    "training.deterministic"};
  const std::string_view path = word.substr(0, word.find('='));
  return path.size() < word.size() &&
         std::ranges::any_of(kOwn, [&](std::string_view own) { return path.starts_with(own); });
}

void override_key(const std::string& word, const Schema& schema, Config& config) {
  const std::size_t equals = word.find('=');
  const ConfigKey* key = schema.find(word.substr(0, equals));
  LS_USER_CHECK(key != nullptr, "unknown key '{}'; `lockstep config schema` lists them",
                word.substr(0, equals));
  if (const auto problem = set_value(*key, std::string_view(word).substr(equals + 1), config))
    raise(ErrorKind::kUsage, "{}: {}", word, *problem);
}

Config config_of(const SessionOptions& options, const Registry& registry,
                 const std::vector<std::string>& words) {
  const Schema schema(registry);
  Config config;
  config.device.memory_gb = options.memory_gb;
  config.device.threads = options.threads;
  config.batch.deterministic = options.deterministic;
  config.profile.metrics_report = options.metrics_report;
  for (const std::string& word : words)
    if (is_override(word)) override_key(word, schema, config);
  check_session(config,
                [](auto, const std::string& message) { raise(ErrorKind::kUsage, "{}", message); });
  return config;
}

/// A user's program, whose exceptions are no bugs of lockstep.
void run_body(Session& session, const std::function<void(Session&)>& body) {
  try {
    body(session);
  } catch (const Error& error) {
    // Everything was saved, on all ranks.
    if (error.kind() != ErrorKind::kPreempted) throw;
    session.runtime().log().info("{}", error.what());
    session.set_exit_code(static_cast<int>(ErrorKind::kPreempted));
  } catch (const std::exception& exception) {
    if (memory_error(exception)) throw;
    raise(ErrorKind::kInternal, "the program threw: {}", exception.what());
  } catch (...) {
    raise(ErrorKind::kInternal, "the program threw an exception that is not a std::exception");
  }
}

}  // namespace

Session::Session(const ProcessCall& process, const SessionOptions& options)
    : history_(std::make_unique<RunHistory>()) {
  const Registry registry;  // a session has no config with choices: only the fixed keys
  const Config config = config_of(options, registry, process.arguments);
  for (const std::string& word : process.arguments)
    if (!is_override(word)) arguments_.push_back(word);
  process.watch.set_limits(watch_limits(config));
  std::unique_ptr<Communicator> communicator =
      make_communicator(config, process.settings, process.watch);
  process.watch.activity().begin(Phase::kAgree);
  agree_on_task(*communicator, config, registry,
                {.command = fmt::format("{}", fmt::join(arguments_, " "))}, process.settings);
  runtime_ = std::make_unique<RankRuntime>(config, process.settings, std::move(communicator),
                                           process.watch, TimeKept::kVirtual);
  runtime_->activity().begin(Phase::kProgram);
}

Session::Session(std::unique_ptr<RankRuntime> runtime)
    : runtime_(std::move(runtime)), history_(std::make_unique<RunHistory>()) {}

Session::~Session() = default;

int Session::rank() const {
  return runtime_->communicator().rank();
}

int Session::ranks() const {
  return runtime_->communicator().size();
}

bool Session::is_master() const {
  return runtime_->is_master();
}

void Session::initialize(Module& module, std::uint64_t seed) {
  draw_values(module, runtime_->engine(), seed);
}

Tensor Session::tensor(HostTensor value, std::string_view name) {
  return runtime_->engine().to_device({std::move(value)}, InputKind::kState, name);
}

void Session::print_line(Line line) {
  lines_.push_back(std::move(line));
  flush_lines(false);
}

void Session::flush_lines(bool wait) {
  VirtualClock* clock = runtime_->device().virtual_clock();
  if (clock == nullptr || wait) return print_ready_lines(wait);
  // Which lines are ready depends on this machine, and a line that is not ready is not waited for.
  clock->outside([&] { print_ready_lines(wait); });
}

void Session::print_ready_lines(bool wait) {
  const OwnReads late(runtime_->context());
  auto line = lines_.begin();
  for (; line != lines_.end() && (wait || line->ready()); ++line) fmt::print("{}\n", line->text());
  std::fflush(stdout);
  lines_.erase(lines_.begin(), line);
}

int Session::with_history(const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    history_->fail(e.what());
    throw;
  }
}

void Session::finish() {
  flush_lines(true);
  runtime_->activity().begin(Phase::kFinish);
  runtime_->finish();
  runtime_->report();
}

int run(int argc, char** argv, const std::function<void(Session&)>& body) {
  return run(argc, argv, {}, body);
}

int run(int argc, char** argv, const SessionOptions& options,
        const std::function<void(Session&)>& body) {
  return run_process(argc, argv, [&](const ProcessCall& process) {
    Session session(process, options);
    return session.with_history([&] {
      run_body(session, body);
      session.finish();
      return session.exit_code();
    });
  });
}

}  // namespace lockstep

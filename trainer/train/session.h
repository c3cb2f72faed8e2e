// A program's part of a job: its rank, its device, its log. A user's program is
//
//   int main(int argc, char** argv) {
//     return lockstep::run(argc, argv, [](lockstep::Session& session) { ... });
//   }
//
// alone or under mpirun, where every rank runs the same body.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/api.h"
#include "core/nn/module.h"

namespace LOCKSTEP_API lockstep {

class RankRuntime;
class RunHistory;
struct ProcessCall;

/// The options of a session. Arguments of the program like device.threads=2 or
/// distributed.stall_abort_s=60 override them: any key of the sections device, distributed and
/// profile that `lockstep config schema` lists, and training.deterministic.
struct SessionOptions {
  double memory_gb = 4.0;       ///< of the device, a hard limit
  int threads = 0;              ///< cores that run one kernel; 0: the rank's share of the host's
  bool deterministic = true;    ///< the same result on any number of ranks
  bool metrics_report = false;  ///< print all counters and times when the session ends
};

/// One process of a job: its rank, its device, its log. run() makes it.
class Session {
  /// A copy of a printed argument that lives until the line is printed: texts become strings.
  template <class T>
  using Held = std::conditional_t<std::is_convertible_v<T, std::string_view>, std::string,
                                  std::remove_cvref_t<T>>;

 public:
  /// Called by run().
  Session(const ProcessCall& process, const SessionOptions& options);
  /// Takes a runtime that was made elsewhere.
  explicit Session(std::unique_ptr<RankRuntime> runtime);
  /// A session that did not finish() leaves without waiting for other ranks. Objects made with it
  /// (tensors, the values of modules, trainers) cannot be used any more: error kUsage.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const;        ///< number of this process, from 0
  int ranks() const;       ///< number of processes
  bool is_master() const;  ///< rank 0
  /// The command-line arguments without overrides and without the program's name.
  const std::vector<std::string>& arguments() const { return arguments_; }

  /// Gives a module values without training it: parameters are functions of (seed, name).
  void initialize(Module& module, std::uint64_t seed);
  /// A value on the device.
  Tensor tensor(HostTensor value, std::string_view name);

  /// Writes a line on rank 0. The loop does not wait for an argument that is a number of a step
  /// (StepResult::loss()): the line is printed, in order, once its numbers are computed. Other
  /// arguments are copied.
  template <class... A>
  void print(fmt::format_string<Held<A>&...> format, A&&... arguments) {
    if (!is_master()) return;
    const auto held = std::make_shared<std::tuple<Held<A>...>>(std::forward<A>(arguments)...);
    print_line(
        {[held] { return std::apply([](auto&... a) { return (is_ready(a) && ...); }, *held); },
         [held, format] {
           return std::apply([&](auto&... a) { return fmt::format(format, a...); }, *held);
         }});
  }

  /// Waits for the device and leaves the job together with the other ranks; called by run().
  void finish();

  // For lockstep itself.
  RankRuntime& runtime() { return *runtime_; }
  /// Prints the lines whose numbers are computed; with `wait`, waits and prints all lines.
  void flush_lines(bool wait);
  /// The exit code if the body ends without an exception.
  void set_exit_code(int code) { exit_code_ = code; }
  int exit_code() const { return exit_code_; }
  /// What the run's folder says of this job; rank 0 writes it.
  RunHistory& history() { return *history_; }
  /// Returns what `body` does. Its exception goes into the history, and on.
  int with_history(const std::function<int()>& body);
  /// Expires with the session.
  std::weak_ptr<const void> life() const { return life_; }

 private:
  struct Line {
    std::function<bool()> ready;
    std::function<std::string()> text;
  };
  template <class T>
  static bool is_ready(const T& argument) {
    if constexpr (requires { argument.is_ready(); }) {
      return argument.is_ready();
    } else {
      return true;
    }
  }
  void print_line(Line line);
  void print_ready_lines(bool wait);

  std::vector<std::string> arguments_;
  std::unique_ptr<RankRuntime> runtime_;
  std::unique_ptr<RunHistory> history_;
  std::vector<Line> lines_;
  int exit_code_ = 0;
  std::shared_ptr<const void> life_ = std::make_shared<char>();
};

/// Runs `body` in its own session and returns the process's exit code: 0, that of the body's error
/// (2 usage, 3 data, 4 checkpoint, 5 not finite, 6 device out of memory, 7 lost rank), or 75 if it
/// was asked to stop and saved. A rank that fails notifies its peers. Call it first in main(),
/// once.
int run(int argc, char** argv, const std::function<void(Session&)>& body);
/// The same with options.
int run(int argc, char** argv, const SessionOptions& options,
        const std::function<void(Session&)>& body);

}  // namespace lockstep

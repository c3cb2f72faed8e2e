// Logging. The owner of the run creates a Log and passes it down. Lines look like "12:00:57
// progress: ..." or "12:00:57 warning: ..." on the console and carry the date and the level in a
// file.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

/// Debug levels of LOCKSTEP_DEBUG: 1 steps and analysis, 2 compilations and kernels with timing,
/// 3 fusion decisions, 4 LLVM IR, 5 the graph after each pass that changed it.
class Log {
 public:
  struct Options {
    bool console = true;  ///< write to standard output
    std::string file;     ///< append to this file as well; empty for none
    int debug = 0;        ///< highest debug level that is written
  };
  explicit Log(const Options& options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// From now on also appends to this file. Error kUsage if it cannot be opened.
  void add_file(const std::string& file);

  /// A log that writes nothing.
  static Log& null();

  int debug_level() const { return debug_; }

  template <class... A>
  void info(fmt::format_string<A...> format, A&&... args) {
    write(Level::kInfo, fmt::format(format, std::forward<A>(args)...));
  }
  template <class... A>
  void warn(fmt::format_string<A...> format, A&&... args) {
    write(Level::kWarn, fmt::format(format, std::forward<A>(args)...));
  }
  template <class... A>
  void error(fmt::format_string<A...> format, A&&... args) {
    write(Level::kError, fmt::format(format, std::forward<A>(args)...));
  }
  template <class... A>
  void debug(int level, fmt::format_string<A...> format, A&&... args) {
    if (level <= debug_) write(Level::kDebug, fmt::format(format, std::forward<A>(args)...));
  }

 private:
  enum class Level { kDebug, kInfo, kWarn, kError };
  struct Sinks;
  void write(Level level, std::string_view message);

  int debug_;
  std::unique_ptr<Sinks> sinks_;
};

}  // namespace lockstep

#include "core/base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <filesystem>

#include "core/base/error.h"

namespace lockstep {

namespace {

/// The prefix of a console's line; a file's line has the level already.
class ConsolePrefix final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    std::string_view prefix;
    if (message.level == spdlog::level::warn) prefix = "warning: ";
    if (message.level == spdlog::level::err) prefix = "error: ";
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<ConsolePrefix>();
  }
};

}  // namespace

struct Log::Sinks {
  std::shared_ptr<spdlog::sinks::dist_sink_mt> all =
      std::make_shared<spdlog::sinks::dist_sink_mt>();
  spdlog::logger logger{"lockstep", all};
};

Log::Log(const Options& options) : debug_(options.debug), sinks_(std::make_unique<Sinks>()) {
  if (options.console) {
    const auto sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<ConsolePrefix>('*').set_pattern("%H:%M:%S %*%v");
    sink->set_formatter(std::move(formatter));
    sinks_->all->add_sink(sink);
  }
  if (!options.file.empty()) add_file(options.file);
  sinks_->logger.set_level(spdlog::level::debug);
  sinks_->logger.flush_on(spdlog::level::debug);
}

void Log::add_file(const std::string& file) {
  // Of a pipe, spdlog would wait for a reader.
  std::error_code unknown;
  if (std::filesystem::is_fifo(file, unknown))
    raise(ErrorKind::kUsage, "cannot open the log file {}: not a regular file", file);
  try {
    const auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
    sinks_->all->add_sink(sink);
  } catch (const spdlog::spdlog_ex& e) {
    raise(ErrorKind::kUsage, "cannot open the log file {}: {}", file, e.what());
  }
}

Log::~Log() = default;

Log& Log::null() {
  static Log log({.console = false, .file = {}, .debug = 0});
  return log;
}

void Log::write(Level level, std::string_view message) {
  switch (level) {
    case Level::kDebug: sinks_->logger.debug(message); return;
    case Level::kInfo: sinks_->logger.info(message); return;
    case Level::kWarn: sinks_->logger.warn(message); return;
    case Level::kError: sinks_->logger.error(message); return;
  }
}

}  // namespace lockstep

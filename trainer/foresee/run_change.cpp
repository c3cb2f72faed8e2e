#include "trainer/foresee/run_change.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "core/base/error.h"
#include "core/base/suggest.h"
#include "core/kernels/base/work_class.h"

namespace lockstep {
namespace {

constexpr std::string_view kNames[] = {"all_reduce",  "bandwidth", "memory_bandwidth", "batch",
                                       "micro_batch", "overlap",   "precision",        "optimizer"};

/// "dots" is the class "dot".
std::optional<std::string> class_of(std::string_view name) {
  for (int i = 0; i < kWorkClassCount; ++i) {
    const std::string_view known = name_of(static_cast<WorkClass>(i));
    if (name == known || name == fmt::format("{}s", known)) return std::string(known);
  }
  return std::nullopt;
}

class ChangeParser {
 public:
  explicit ChangeParser(const std::string& words) : words_(words) {
    const std::size_t equals = words.find('=');
    if (equals == std::string::npos) refuse("it must be NAME=VALUE, as in dots=2x");
    name_ = words.substr(0, equals);
    value_ = words.substr(equals + 1);
  }

  RunChange parse(const Config& config) const {
    RunChange out{.words = words_};
    if (name_.find('.') != std::string::npos) {
      out.keys = {words_};
    } else if (name_ == "optimizer" && value_ == "unfused") {
      out.unfused_optimizer = true;
    } else if (const auto work = class_of(name_)) {
      out.work[*work] = slowdown();
    } else if (name_ == "all_reduce") {
      out.all_reduce = slowdown();
    } else if (name_ == "bandwidth") {
      out.bandwidth = factor();
    } else if (name_ == "memory_bandwidth") {
      out.memory_bandwidth = factor();
    } else if (name_ == "batch") {
      out.keys = {scaled_key("training.global_batch_size", config.batch.global_batch_size)};
    } else if (name_ == "micro_batch") {
      out.keys = {scaled_key("training.micro_batch_size", config.batch.micro_batch_size)};
    } else if (name_ == "overlap") {
      if (value_ != "on" && value_ != "off") refuse("overlap is on or off");
      out.keys = {fmt::format("distributed.overlap={}", value_ == "on")};
    } else if (name_ == "precision") {
      out.keys = {"training.precision=" + value_};
    } else {
      refuse_name();
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    raise(ErrorKind::kUsage, "--what-if {}: {}", words_, problem);
  }

  [[noreturn]] void refuse_name() const {
    std::vector<std::string_view> names(std::begin(kNames), std::end(kNames));
    for (int i = 0; i < kWorkClassCount; ++i) names.push_back(name_of(static_cast<WorkClass>(i)));
    refuse(fmt::format("'{}' is none of {}, or a key.path of the config{}", name_,
                       fmt::join(names, ", "), did_you_mean(nearest_word(name_, names))));
  }

  /// Of "2x".
  double factor() const {
    double out = 0;
    const char* const begin = value_.data();
    const char* const end = begin + value_.size();
    const auto [last, error] = std::from_chars(begin, end, out);
    if (error != std::errc() || last + 1 != end || *last != 'x' || !(out > 0) ||
        !std::isfinite(out))
      refuse(fmt::format("'{}' is no factor above 0, as in 2x", value_));
    return out;
  }

  double slowdown() const { return value_ == "0" ? 0 : 1 / factor(); }

  std::string scaled_key(const char* key, std::int64_t value) const {
    const double scaled = factor() * static_cast<double>(value);
    if (scaled != std::floor(scaled) || scaled < 1)
      refuse(fmt::format("{} is {}, and {} times that is no whole number", key, value, factor()));
    return fmt::format("{}={}", key, static_cast<std::int64_t>(scaled));
  }

  std::string words_, name_, value_;
};

}  // namespace

RunChange parse_change(const std::string& words, const Config& config) {
  return ChangeParser(words).parse(config);
}

}  // namespace lockstep

#include "trainer/cli/arguments.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <sstream>

#include "core/base/error.h"
#include "core/base/suggest.h"
#include "trainer/settings/key.h"

namespace lockstep {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kPositionals = "positionals";

po::options_description describe(std::span<const Option> options) {
  po::options_description out("options");
  for (const Option& option : options) {
    std::string names = option.name;
    if (option.letter != '\0') names += {',', option.letter};
    if (option.value.empty()) {
      out.add_options()(names.c_str(), option.help.c_str());
      continue;
    }
    const std::string value =
        option.bare.empty() ? option.value : fmt::format("[={}]", option.value);
    if (option.many) {
      out.add_options()(
          names.c_str(),
          po::value<std::vector<std::string>>()->multitoken()->value_name(value + "..."),
          option.help.c_str());
      continue;
    }
    out.add_options()(names.c_str(), po::value<std::string>()->value_name(value),
                      option.help.c_str());
  }
  out.add_options()("help,h", "print this text");
  return out;
}

/// "--seed=1" -> "--seed"
std::string dashed(const std::string& token) {
  return token.substr(0, token.find('='));
}

const Option* find_option(std::span<const Option> options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

/// The words with "--resume" written out as "--resume=auto". (Boost's implicit value would take the
/// next word instead, if there is one.)
std::vector<std::string> write_out_bare(std::span<const std::string> words,
                                        std::span<const Option> options) {
  std::vector<std::string> out(words.begin(), words.end());
  for (std::string& word : out) {
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const Option* option = find_option(options, word.substr(2));
    if (option != nullptr && !option->bare.empty()) word += "=" + option->bare;
  }
  return out;
}

[[noreturn]] void refuse_unknown(const std::string& token, std::span<const Option> options) {
  const std::string given = dashed(token);
  if (given.find('.') != std::string::npos) {
    raise(ErrorKind::kUsage, "unknown option '{}'; a config key is overridden without dashes: {}",
          given, token.substr(token.find_first_not_of('-')));
  }
  std::vector<std::string> names{"--help"};
  for (const Option& option : options) names.push_back("--" + option.name);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  raise(ErrorKind::kUsage, "unknown option '{}'{}", given,
        did_you_mean(nearest_word(given, candidates)));
}

po::parsed_options parse(std::span<const std::string> words, std::span<const Option> options,
                         const po::options_description& description) {
  po::positional_options_description positionals;
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): a literal ends in a NUL
  positionals.add(kPositionals.data(), -1);
  po::options_description all;
  all.add(description).add_options()(kPositionals.data(), po::value<std::vector<std::string>>());
  namespace style = po::command_line_style;
  try {
    return po::command_line_parser(write_out_bare(words, options))
        .options(all)
        .positional(positionals)
        .style(style::unix_style & ~style::allow_guessing)
        .run();
  } catch (const po::unknown_option& e) {
    refuse_unknown(e.get_option_name(), options);
  } catch (const po::invalid_command_line_syntax& e) {
    const std::string name = dashed(e.get_option_name());
    if (e.kind() == po::invalid_command_line_syntax::extra_parameter)
      raise(ErrorKind::kUsage, "option '{}' takes no value", name);
    raise(ErrorKind::kUsage, "option '{}' needs a value", name);
  } catch (const po::error& e) {
    raise(ErrorKind::kUsage, "{}", e.what());
  }
}

/// All of `text` as a T.
template <class T>
std::optional<T> read(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

template <class T>
std::optional<T> read_like(const Arguments& arguments, std::string_view option, const Key& key) {
  const std::optional<std::string> text = arguments.value(option);
  if (!text) return std::nullopt;
  const std::optional<T> value = read<T>(*text);
  LS_USER_CHECK(value && key.range.contains(static_cast<double>(*value)),
                "--{} must be {} {}, not '{}'", option, std::is_integral_v<T> ? "an" : "a",
                key.type_text(), *text);
  return value;
}

}  // namespace

Arguments::Arguments(std::span<const std::string> words, std::span<const Option> options) {
  const po::options_description description = describe(options);
  for (const po::option& option : parse(words, options, description).options) {
    if (option.string_key == kPositionals || option.string_key.empty()) {
      positionals_.insert(positionals_.end(), option.value.begin(), option.value.end());
      continue;
    }
    const auto& tokens = option.original_tokens;
    LS_USER_CHECK(tokens.size() < 2 || !tokens[1].starts_with("--") ||
                      find_option(options, dashed(tokens[1]).substr(2)) == nullptr,
                  "option '--{}' needs a value, but '{}' is an option", option.string_key,
                  tokens[1]);
    const Option* known = find_option(options, option.string_key);
    const bool is_many = known != nullptr && known->many;
    LS_USER_CHECK(is_many || !has(option.string_key), "option '--{}' was given twice",
                  option.string_key);
    std::vector<std::string>& all = values_[option.string_key];
    all.insert(all.end(), option.value.begin(), option.value.end());
  }
}

std::optional<std::string> Arguments::value(std::string_view option) const {
  const auto found = values_.find(option);
  if (found == values_.end()) return std::nullopt;
  return found->second.empty() ? "" : found->second.front();
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::optional<std::int64_t> Arguments::integer(std::string_view option, const Key& like) const {
  return read_like<std::int64_t>(*this, option, like);
}

std::optional<double> Arguments::number(std::string_view option, const Key& like) const {
  return read_like<double>(*this, option, like);
}

std::optional<std::int64_t> Arguments::integer(std::string_view option, std::int64_t min,
                                               std::int64_t max) const {
  const std::optional<std::string> text = value(option);
  if (!text) return std::nullopt;
  const std::optional<std::int64_t> number = read<std::int64_t>(*text);
  LS_USER_CHECK(number && *number >= min && *number <= max,
                "--{} must be an integer from {} to {}, not '{}'", option, min, max, *text);
  return number;
}

std::string options_help(std::span<const Option> options) {
  std::ostringstream out;
  out << describe(options);
  return out.str();
}

}  // namespace lockstep

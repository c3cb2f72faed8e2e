#include "trainer/cli/dispatch.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/suggest.h"
#include "trainer/cli/build_facts.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/exit_codes.h"
#include "trainer/cli/standard_output.h"
#include "trainer/job/report_errors.h"

namespace lockstep {
namespace {

constexpr std::string_view kUsage =
    "usage: lockstep COMMAND ...; `lockstep --help` lists the commands";

/// "ckpt ls" -> {"ckpt", "ls"}; "train" -> {"train", ""}
std::pair<std::string_view, std::string_view> split_name(const CliCommand& command) {
  const std::string_view name = command.name;
  const std::size_t space = name.find(' ');
  if (space == std::string_view::npos) return {name, {}};
  return {name.substr(0, space), name.substr(space + 1)};
}

std::string overview(std::span<const CliCommand> commands) {
  std::string out =
      "lockstep: distributed data-parallel training on lazy, compiled graphs\n\n"
      "usage: lockstep COMMAND ...\n\n";
  for (const CliCommand& command : commands)
    out += fmt::format("  {:<17} {}\n", command.name, command.help);
  out += "\n`lockstep COMMAND --help` tells more, `lockstep --version` the version.\n";
  if (const std::string folder = documents_folder(); !folder.empty())
    out += fmt::format("documents: {}/docs/README.md\n", folder);
  out += "exit codes:\n";
  for (const ExitCode& code : exit_codes())
    out += fmt::format("  {:>2}  {}\n", code.code, code.meaning);
  return out;
}

/// For somebody who knows nothing yet.
std::string first_words() {
  const std::string folder = documents_folder();
  return fmt::format(
      "lockstep: distributed data-parallel training on lazy, compiled graphs\n\n"
      "  lockstep init JOB --data PATH            write JOB.yaml for your text, images or "
      "captions\n"
      "  lockstep config check JOB.yaml           name all of its problems\n"
      "  lockstep launch -n 2 -- train JOB.yaml   train on 2 ranks with mpirun; `train` alone: on "
      "one\n"
      "  lockstep report runs/JOB --output R.html show how it went, in one page\n"
      "  lockstep doctor                          say whether this machine can train\n\n"
      "All commands: lockstep --help. Documents: {}/docs/README.md\n",
      folder.empty() ? "share/doc/lockstep" : folder);
}

std::string help_of(const CliCommand& command) {
  return fmt::format("{}\n\n{}.\n{}{}\n{}", command.usage(), command.help,
                     command.details.empty() ? "" : "\n", command.details,
                     options_help(command.options));
}

/// The commands whose first word is `word`.
std::vector<const CliCommand*> commands_of(std::span<const CliCommand> commands,
                                           std::string_view word) {
  std::vector<const CliCommand*> out;
  for (const CliCommand& command : commands)
    if (split_name(command).first == word) out.push_back(&command);
  return out;
}

std::string group_usage(std::span<const CliCommand* const> group) {
  std::string out;
  for (const CliCommand* command : group)
    out += fmt::format("{}{}", out.empty() ? "" : "\n", command->usage());
  return out;
}

const CliCommand& find_in_group(std::span<const CliCommand* const> group,
                                std::span<const std::string> words) {
  std::vector<std::string_view> names;
  for (const CliCommand* command : group) names.push_back(split_name(*command).second);
  LS_USER_CHECK(words.size() > 1, "'{}' needs a second word\n{}", words[0], group_usage(group));
  const auto found = std::find(names.begin(), names.end(), words[1]);
  if (found == names.end()) {
    const auto nearest = nearest_word(words[1], names);
    raise(ErrorKind::kUsage, "unknown command '{} {}'{}\n{}", words[0], words[1],
          nearest.empty() ? "" : did_you_mean(fmt::format("{} {}", words[0], nearest)),
          group_usage(group));
  }
  return *group[static_cast<std::size_t>(found - names.begin())];
}

[[noreturn]] void refuse_unknown_command(const std::string& word,
                                         std::span<const CliCommand> commands) {
  // The second word of a command is taken for a whole one: `verify` is `ckpt verify`.
  for (const CliCommand& command : commands)
    if (split_name(command).second == word)
      raise(ErrorKind::kUsage, "unknown command '{}'{}\n{}", word, did_you_mean(command.name),
            kUsage);
  std::vector<std::string_view> names{"--help", "--version"};
  for (const CliCommand& command : commands) names.push_back(split_name(command).first);
  raise(ErrorKind::kUsage, "unknown {} '{}'{}\n{}", word.starts_with("-") ? "option" : "command",
        word, did_you_mean(nearest_word(word, names)), kUsage);
}

void check_positionals(const CliCommand& command, const std::vector<std::string>& given) {
  if (given.size() < command.positionals.size()) {
    raise(ErrorKind::kUsage, "{} is missing", command.positionals[given.size()]);
  }
  const std::size_t required = command.positionals.size();
  if (given.size() - required > command.max_rest) {
    raise(ErrorKind::kUsage, "unexpected argument '{}'", given[required + command.max_rest]);
  }
}

/// The arguments of a command, or the error with the command's usage below it.
Arguments parse_arguments(const CliCommand& command, std::span<const std::string> words) {
  try {
    Arguments arguments(words, command.options);
    if (!arguments.wants_help()) check_positionals(command, arguments.positionals());
    return arguments;
  } catch (const Error& e) {
    raise(e.kind(), "{}\n{}", e.what(), command.usage());
  }
}

int dispatch(std::span<const std::string> words, const Registry& registry, const Settings& settings,
             Watch& watch, Streams streams) {
  std::ostream& out = streams.out;
  if (words.empty()) {
    streams.err << first_words() << std::flush;
    return static_cast<int>(ErrorKind::kUsage);
  }
  if (words[0] == "help" && words.size() > 1) {
    std::vector<std::string> asked(words.begin() + 1, words.end());
    asked.emplace_back("--help");
    return dispatch(asked, registry, settings, watch, streams);
  }
  const std::vector<CliCommand> commands = all_commands();
  if (words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    out << overview(commands);
    return 0;
  }
  if (words[0] == "--version") {
    out << "lockstep " LOCKSTEP_VERSION "\n";
    return 0;
  }
  const std::vector<const CliCommand*> group = commands_of(commands, words[0]);
  if (group.empty()) refuse_unknown_command(words[0], commands);
  if (split_name(*group[0]).second.empty()) {
    const CliCommand& command = *group[0];
    const Arguments arguments = parse_arguments(command, words.subspan(1));
    if (!arguments.wants_help()) return command.run({arguments, registry, settings, watch, out});
    out << help_of(command);
    return 0;
  }
  if (words.size() > 1 && (words[1] == "--help" || words[1] == "-h")) {
    out << group_usage(group) << "\n";
    return 0;
  }
  const CliCommand& command = find_in_group(group, words);
  const Arguments arguments = parse_arguments(command, words.subspan(2));
  if (!arguments.wants_help()) return command.run({arguments, registry, settings, watch, out});
  out << help_of(command);
  return 0;
}

}  // namespace

int run_command_line(std::span<const std::string> arguments, const Registry& registry,
                     const Settings& settings, Watch& watch, Streams streams) {
  return report_errors(settings, streams.err, [&] {
    const int status = dispatch(arguments, registry, settings, watch, streams);
    finish_output(streams.out);
    return status;
  });
}

}  // namespace lockstep

#include "trainer/cli/commands.h"

#include <fmt/format.h>

namespace lockstep {

std::string Command::usage() const {
  std::string out = "usage: lockstep " + name;
  for (const std::string& positional : positionals) out += " " + positional;
  if (!rest.empty()) out += fmt::format(" [{} ...]", rest);
  for (const Option& option : options) {
    if (option.value.empty()) {
      out += fmt::format(" [--{}]", option.name);
    } else if (!option.bare.empty()) {
      out += fmt::format(" [--{}[={}]]", option.name, option.value);
    } else {
      out += fmt::format(" [--{} {}]", option.name, option.value);
    }
  }
  return out;
}

std::vector<Command> all_commands() {
  std::vector<Command> out{train_command(), eval_command(), generate_command()};
  for (const auto& group : {config_commands(), ckpt_commands()})
    out.insert(out.end(), group.begin(), group.end());
  return out;
}

}  // namespace lockstep

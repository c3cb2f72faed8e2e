#include "trainer/cli/commands.h"

#include <fmt/format.h>

namespace lockstep {

std::string Command::usage() const {
  std::string out = "usage: lockstep " + name;
  for (const std::string& positional : positionals) out += " " + positional;
  if (!rest.empty()) out += " " + rest;
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
  std::vector<Command> out;
  for (const auto& group :
       {std::vector{train_command(), eval_command(), generate_command()}, config_commands(),
        ckpt_commands(), std::vector{ir_run_command(), ir_print_command()}, prepare_commands(),
        std::vector{doctor_command(), models_command()}})
    out.insert(out.end(), group.begin(), group.end());
  return out;
}

}  // namespace lockstep

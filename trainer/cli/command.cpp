#include "trainer/cli/command.h"

#include <fmt/format.h>

namespace lockstep {

std::string CliCommand::usage() const {
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

}  // namespace lockstep

// The files of trainer/init/templates, and examples/own_model/main.cpp as "main.cpp", as the build
// put them into the program.
#pragma once

#include <span>
#include <string_view>

namespace lockstep {

struct EmbeddedTemplate {
  std::string_view name;  ///< of the file, without extension; "main.cpp"
  std::string_view text;
};
std::span<const EmbeddedTemplate> embedded_templates();

}  // namespace lockstep

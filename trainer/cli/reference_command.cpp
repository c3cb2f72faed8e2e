#include <nlohmann/json.hpp>
#include <ostream>

#include "core/ir/op.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/exit_codes.h"
#include "trainer/config/show.h"

namespace lockstep {
namespace {

using ReferenceJson = nlohmann::ordered_json;

ReferenceJson json_of(const CliCommand& command) {
  ReferenceJson options = ReferenceJson::array();
  for (const Option& option : command.options)
    options.push_back({{"name", option.name},
                       {"letter", option.letter == '\0' ? "" : std::string(1, option.letter)},
                       {"value", option.value},
                       {"bare", option.bare},
                       {"many", option.many},
                       {"help", option.help}});
  ReferenceJson exits = ReferenceJson::array();
  for (const ExitCode& code : exit_codes_of(command)) exits.push_back(code.code);
  return {{"name", command.name},
          {"usage", command.usage()},
          {"positionals", command.positionals},
          {"rest", command.rest},
          {"help", command.help},
          {"details", command.details},
          {"options", options},
          {"exits", exits}};
}

ReferenceJson names_of(const AttrSet& attrs) {
  ReferenceJson out = ReferenceJson::array();
  for (int i = 0; i < kAttrCount; ++i)
    if (attrs.has(static_cast<Attr>(i))) out.push_back(std::string(name_of(static_cast<Attr>(i))));
  return out;
}

ReferenceJson json_of(const OpInfo& op) {
  return {{"name", op.name},
          {"class", name_of(op.op_class)},
          {"shapes", op.shapes},
          {"min_operands", op.min_operands},
          {"max_operands", op.max_operands},
          {"accepts", name_of(op.accepts)},
          {"gives", name_of(op.gives)},
          {"gradient", name_of(op.gradient)},
          {"commutative", op.commutative},
          {"required", names_of(op.required)},
          {"optional", names_of(op.optional)}};
}

int run_reference(const CommandCall& call) {
  ReferenceJson out{{"version", LOCKSTEP_VERSION}};
  for (const CliCommand& command : all_commands()) out["commands"].push_back(json_of(command));
  for (const ExitCode& code : exit_codes())
    out["exit_codes"].push_back({{"code", code.code}, {"meaning", code.meaning}});
  out["config"] = ReferenceJson::parse(config_keys_json(call.registry));
  for (const ModelRow& row : call.registry.models()) {
    ReferenceJson model{
        {"name", row.name}, {"doc", row.doc}, {"inputs", row.inputs}, {"hub", row.hub.has_value()}};
    model["sizes"] = ReferenceJson::array();
    for (const auto& [text, size] : row.sizes) model["sizes"].push_back(text);
    out["models"].push_back(std::move(model));
  }
  for (const OpInfo& op : op_table()) out["ops"].push_back(json_of(op));
  call.out << out.dump(1) << "\n";
  return 0;
}

}  // namespace

CliCommand reference_command() {
  return {.name = "reference",
          .positionals = {},
          .help = "print commands, exit codes, config keys, models and ops as JSON",
          .details = "Reference pages, man pages and completions are made of it.\n",
          .run = run_reference};
}

}  // namespace lockstep

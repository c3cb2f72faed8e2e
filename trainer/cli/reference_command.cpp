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

std::string_view word_of(OpClass op_class) {
  switch (op_class) {
    case OpClass::kLeaf: return "leaf";
    case OpClass::kUnary: return "unary";
    case OpClass::kBinary: return "binary";
    case OpClass::kCompare: return "compare";
    case OpClass::kSelect: return "select";
    case OpClass::kConvert: return "convert";
    case OpClass::kMovement: return "movement";
    case OpClass::kReduction: return "reduction";
    case OpClass::kContraction: return "contraction";
    case OpClass::kWindow: return "window";
    case OpClass::kAttention: return "attention";
    case OpClass::kControl: return "control";
    case OpClass::kCollective: return "collective";
  }
  __builtin_unreachable();
}

std::string_view word_of(Accepts accepts) {
  switch (accepts) {
    case Accepts::kAny: return "any";
    case Accepts::kNumbers: return "numbers";
    case Accepts::kFloats: return "floats";
    case Accepts::kIntegers: return "integers";
    case Accepts::kBits: return "bool, integers";
    case Accepts::kSummable: return "f32, f64, i32, i64";
  }
  __builtin_unreachable();
}

std::string_view word_of(Gives gives) {
  switch (gives) {
    case Gives::kFirst: return "the first operand's";
    case Gives::kSecond: return "the second operand's";
    case Gives::kBool: return "bool";
    case Gives::kI32: return "i32";
    case Gives::kStated: return "`to`, else the first operand's";
    case Gives::kListed: return "the first of `results`";
    case Gives::kNode: return "stated by the node";
  }
  __builtin_unreachable();
}

std::string_view word_of(Gradient gradient) {
  switch (gradient) {
    case Gradient::kRule: return "rule";
    case Gradient::kNothing: return "zero";
    case Gradient::kMissing: return "none";
  }
  __builtin_unreachable();
}

ReferenceJson names_of(const AttrSet& attrs) {
  ReferenceJson out = ReferenceJson::array();
  for (int i = 0; i < kAttrCount; ++i)
    if (attrs.has(static_cast<Attr>(i))) out.push_back(std::string(name_of(static_cast<Attr>(i))));
  return out;
}

ReferenceJson json_of(const OpInfo& op) {
  return {{"name", op.name},
          {"class", word_of(op.op_class)},
          {"min_operands", op.min_operands},
          {"max_operands", op.max_operands},
          {"accepts", word_of(op.accepts)},
          {"gives", word_of(op.gives)},
          {"gradient", word_of(op.gradient)},
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

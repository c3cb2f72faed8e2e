#include <ostream>

#include "core/ir/text.h"
#include "core/passes/pipeline.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/ir_file.h"

namespace lockstep {
namespace {

int run_ir_print(const CommandCall& call) {
  Graph graph = read_ir_file(call.arguments.positionals()[0]);
  if (call.arguments.has("passes")) {
    Log log({.console = true, .file = {}, .debug = call.settings.debug});
    graph = run_pipeline(std::move(graph), host_target(call.settings.max_isa),
                         {.verify = true, .disabled = {}}, log);
  }
  call.out << print(graph);
  return 0;
}

}  // namespace

CliCommand ir_print_command() {
  return {.name = "ir print",
          .positionals = {"FILE.ir"},
          .help = "check a graph and print it in its canonical text form",
          .details = "With LOCKSTEP_DEBUG=5 --passes prints the graph after each pass too.\n",
          .options = {{"passes", "", "print what the compiler's passes make of it"}},
          .exits = {3, 4},
          .run = run_ir_print};
}

}  // namespace lockstep

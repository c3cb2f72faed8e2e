#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>
#include <vector>

#include "checkpoint/hdf5_version.h"
#include "collectives/mpi.h"
#include "core/base/build_id.h"
#include "core/base/error.h"
#include "core/ir/target.h"
#include "core/kernels/base/libraries.h"
#include "trainer/cli/build_facts.h"
#include "trainer/cli/commands.h"
#include "trainer/machine/machine.h"

namespace lockstep {
namespace {

std::string instruction_set(MaxIsa max) {
  try {
    const Target target = host_target(max);
    const bool wide = target.isa == Isa::kAvx512;
    switch (target.bf16) {
      case Bf16Units::kNone: return wide ? "AVX-512, no fast bf16" : "AVX2, no fast bf16";
      case Bf16Units::kVectors: return "AVX-512 with bf16 products";
      case Bf16Units::kTiles: return "AVX-512 with AMX tiles for bf16";
    }
  } catch (const Error& e) {
    return e.what();
  }
  __builtin_unreachable();
}

/// Name and value, in the order of the printed lines.
std::vector<std::pair<std::string, std::string>> version_facts(const Settings& settings) {
  const std::string documents = documents_folder();
  return {{"commit", std::string(built_commit())},
          {"build id", build_id().hex()},
          {"build type", built_type().empty() ? "none" : std::string(built_type())},
          {"compiler", std::string(built_compiler())},
          {"instruction set", instruction_set(settings.max_isa)},
          {"processor", processor().name},
          {"LLVM", llvm_version()},
          {"oneDNN", onednn_version()},
          {"HDF5", hdf5_version()},
          {"MPI", mpi_version()},
          {"documents", documents.empty() ? "not installed" : documents}};
}

int run_version(const CommandCall& call) {
  const auto facts = version_facts(call.settings);
  if (call.arguments.has("json")) {
    nlohmann::ordered_json out{{"lockstep", LOCKSTEP_VERSION}};
    for (auto [name, value] : facts) {
      std::ranges::replace(name, ' ', '_');
      out[name] = value;
    }
    call.out << out.dump(1) << "\n";
    return 0;
  }
  call.out << "lockstep " LOCKSTEP_VERSION "\n";
  for (const auto& [name, value] : facts) call.out << fmt::format("{:<16} {}\n", name, value);
  return 0;
}

}  // namespace

CliCommand version_command() {
  return {.name = "version",
          .positionals = {},
          .help = "print the version, the build id, and what this build computes with here",
          .details =
              "Ranks of one job need the same build id, which is of all bytes of the program and\n"
              "its libraries, the commit too. Messages name pages (docs/...) in the folder that\n"
              "stands behind \"documents\".\n",
          .options = {{"json", "", "as JSON"}},
          .run = run_version};
}

}  // namespace lockstep

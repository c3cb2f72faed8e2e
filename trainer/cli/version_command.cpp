#include <ostream>

#include "checkpoint/hdf5_version.h"
#include "collectives/mpi.h"
#include "core/base/build_id.h"
#include "core/base/error.h"
#include "core/ir/target.h"
#include "core/kernels/libraries.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/machine.h"

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

int run(const CommandCall& call) {
  const auto line = [&](const char* what, const std::string& text) {
    call.out << fmt::format("{:<16} {}\n", what, text);
  };
  call.out << "lockstep " LOCKSTEP_VERSION "\n";
  line("build id", build_id().hex());
  line("instruction set", instruction_set(call.settings.max_isa));
  line("processor", processor().name);
  line("LLVM", llvm_version());
  line("oneDNN", onednn_version());
  line("HDF5", hdf5_version());
  line("MPI", mpi_version());
  return 0;
}

}  // namespace

CliCommand version_command() {
  return {
      .name = "version",
      .positionals = {},
      .help = "print the version, the build id, the libraries and the instruction set used here",
      .details = "Ranks of one job need the same build id.\n",
      .run = run};
}

}  // namespace lockstep

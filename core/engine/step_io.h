// Compiled steps as bytes, for the disk: both plans, how they map to the step, and the machine code
// of the kernels that were generated for them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/engine/known_structures.h"
#include "core/ir/graph.h"

namespace lockstep {

class KernelCache;
struct CompileOptions;
struct LoadedStep;

/// Everything that determines the result of a compilation, except the structure: this build, this
/// CPU, the options.
CompileSettings compile_settings(const CompileOptions& options);

/// The settings and the structure of `step`. An artifact stores the whole of it beside its key.
std::string compile_identity(const Graph& step, const CompileOptions& options);

/// `identity` is that of the step. Error kData if the result is beyond protobuf's 2 GB.
std::string serialize(const LoadedStep& loaded, std::string_view identity);

/// `step`, whose identity this is, ready to run. Error kData with the cause if the bytes are
/// damaged, belong to another identity, or hold plans that cannot be run; kUsage if they call host
/// functions that are not registered in the options.
std::shared_ptr<LoadedStep> deserialize(std::string_view bytes, std::string_view identity,
                                        Graph step, const CompileOptions& options,
                                        KernelCache& kernels);

}  // namespace lockstep

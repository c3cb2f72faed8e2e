// What all users of oneDNN primitives share. Includes dnnl.hpp: for onednn.cpp and convolution.cpp
// only.
#pragma once

#include <dnnl.hpp>
#include <initializer_list>
#include <utility>

#include "core/base/dtype.h"

namespace lockstep {

/// oneDNN is built with OpenMP, whose thread count is a property of the calling thread: every
/// thread says "one" before it calls. Costs a few nanoseconds.
void use_one_onednn_thread();

/// The CPU engine: stateless, one for the process.
const dnnl::engine& onednn_engine();

dnnl::memory::data_type onednn_type(DType dtype);

/// Scratch memory is passed at execution, so that one primitive can run on several threads.
dnnl::primitive_attr user_scratchpad();

struct OnednnArgument {
  dnnl::memory::desc description;
  const std::byte* data;  ///< results are written through it
};
/// Executes a primitive on the calling thread and waits for it.
void run_onednn(const dnnl::primitive& primitive,
                std::initializer_list<std::pair<int, OnednnArgument>> arguments);

}  // namespace lockstep

#include "core/kernels/cpu/onednn_engine.h"

#include <omp.h>

#include <unordered_map>

#include "core/base/error.h"

namespace lockstep {

void use_one_onednn_thread() {
  omp_set_num_threads(1);
}

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::data_type onednn_type(DType dtype) {
  LS_CHECK(dtype == DType::kF32 || dtype == DType::kBF16, "oneDNN is not used for {}",
           name_of(dtype));
  return dtype == DType::kF32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void run_onednn(const dnnl::primitive& primitive,
                std::initializer_list<std::pair<int, OnednnArgument>> arguments) {
  use_one_onednn_thread();
  std::unordered_map<int, dnnl::memory> memories;
  for (const auto& [index, argument] : arguments)
    memories.emplace(index, dnnl::memory(argument.description, onednn_engine(),
                                         const_cast<std::byte*>(argument.data)));
  dnnl::stream stream(onednn_engine());
  primitive.execute(stream, memories);
  stream.wait();
}

}  // namespace lockstep

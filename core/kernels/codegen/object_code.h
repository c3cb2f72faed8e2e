// From a loop nest to machine code: a relocatable object, and an object made executable. Only the
// first needs LLVM's code generator; objects may be kept and loaded by another process.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/log.h"
#include "core/ir/target.h"
#include "core/kernels/codegen/emit_group.h"

namespace lockstep::codegen {

/// The machine that code for this instruction set is generated for: the processor and its features
/// with LLVM's names, without those of wider instruction sets. Objects run on machines with an
/// equal text.
std::string machine_of(Isa isa);

/// Compiles a nest; prints its IR at debug level 4.
std::string compile_object(const LoopNest& nest, Isa isa, Log& log);

/// An object in executable memory.
class GroupCode {
 public:
  /// `bytes` are an object after `label` bytes of other data. Error kData if they are not, or if
  /// the object has no function of a group.
  GroupCode(std::string bytes, std::size_t label);
  ~GroupCode();
  GroupCode(const GroupCode&) = delete;
  GroupCode& operator=(const GroupCode&) = delete;

  GroupFunction* function() const { return function_; }
  std::string_view bytes() const { return bytes_; }  ///< label and object

 private:
  struct Memory;
  std::string bytes_;
  std::unique_ptr<Memory> memory_;
  GroupFunction* function_ = nullptr;
};

}  // namespace lockstep::codegen

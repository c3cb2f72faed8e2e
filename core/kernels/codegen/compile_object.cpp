#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>

#include <map>
#include <mutex>
#include <new>

#include "core/base/error.h"
#include "core/kernels/base/libraries.h"
#include "core/kernels/codegen/object_code.h"

namespace lockstep::codegen {
namespace {

constexpr int kDebugLevel = 4;

/// Asked once: in a virtual machine each question to the processor is a trap.
const llvm::StringMap<bool>& host_features() {
  static const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  return features;
}

/// The same.
const std::string& host_name() {
  static const std::string name = llvm::sys::getHostCPUName().str();
  return name;
}

/// Feature name -> whether code may use it.
std::map<std::string, bool> features_of(Isa isa) {
  std::map<std::string, bool> out;
  for (const auto& feature : host_features()) {
    const llvm::StringRef name = feature.getKey();
    const bool wide = name.starts_with("avx512") || name.starts_with("avx10") ||
                      name.starts_with("amx") || name.starts_with("evex");
    out[name.str()] = feature.getValue() && (!wide || isa == Isa::kAvx512);
  }
  return out;
}

std::string feature_text(const std::map<std::string, bool>& features) {
  std::string out;
  for (const auto& [name, on] : features) {
    if (!out.empty()) out += ',';
    out += (on ? '+' : '-') + name;
  }
  return out;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const std::string& features) {
  static std::once_flag once;
  std::call_once(once, [] {
    // LLVM aborts by default. Here an exception unwinds it, which LLVM does not support: the
    // process ends anyway.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  const std::string triple = llvm::sys::getDefaultTargetTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  LS_CHECK(target != nullptr, "LLVM has no code generator for {}: {}", triple, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // fused where fma is written
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, host_name(), features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

std::string print(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace

std::string machine_of(Isa isa) {
  return host_name() + ' ' + feature_text(features_of(isa));
}

std::string compile_object(const LoopNest& nest, Isa isa, Log& log) {
  const std::map<std::string, bool> features = features_of(isa);
  const auto has = [&](const char* name) {
    const auto found = features.find(name);
    return found != features.end() && found->second;
  };
  const auto machine = make_machine(feature_text(features));
  llvm::LLVMContext context;
  llvm::Module module("group", context);
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple().str());
  emit_group(nest,
             {.avx512 = has("avx512bw") && has("avx512vl"), .bf16_convert = has("avx512bf16")},
             module);
  if (log.debug_level() >= kDebugLevel)
    log.debug(kDebugLevel, "group:\n{}{}", nest.to_string(), print(module));
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  LS_CHECK(!llvm::verifyModule(module, &problems), "invalid IR: {}\n{}", problem, nest.to_string());
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  LS_CHECK(
      !machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile),
      "LLVM cannot write objects");
  passes.run(module);
  return {bytes.data(), bytes.size()};
}

}  // namespace lockstep::codegen

namespace lockstep {

std::string llvm_version() {
  return LLVM_VERSION_STRING;
}

}  // namespace lockstep

#include <llvm/ExecutionEngine/RTDyldMemoryManager.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/mman.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/kernels/codegen/object_code.h"
#include "core/kernels/codegen/runtime.h"

namespace lockstep::codegen {
namespace {

constexpr std::uintptr_t kPage = 4096;

std::uintptr_t round_up(std::uintptr_t value, std::uintptr_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

/// One mapping per object, so that its sections are near each other.
struct GroupCode::Memory final : llvm::RTDyldMemoryManager {
  Memory() = default;
  ~Memory() override {
    if (base_ != nullptr) ::munmap(base_, size_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(std::uintptr_t code, llvm::Align, std::uintptr_t constants,
                              llvm::Align, std::uintptr_t data, llvm::Align) override {
    // Each section may begin a page, and be padded to its alignment.
    size_ = round_up(code, kPage) + round_up(constants, kPage) + round_up(data, kPage) + 3 * kPage;
    void* memory =
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) raise_errno(ErrorKind::kOutOfMemory, "memory for generated code");
    base_ = static_cast<std::uint8_t*>(memory);
  }
  std::uint8_t* allocateCodeSection(std::uintptr_t size, unsigned alignment, unsigned,
                                    llvm::StringRef) override {
    return take(size, alignment);
  }
  std::uint8_t* allocateDataSection(std::uintptr_t size, unsigned alignment, unsigned,
                                    llvm::StringRef, bool) override {
    return take(size, alignment);
  }
  bool finalizeMemory(std::string*) override {
    if (::mprotect(base_, size_, PROT_READ | PROT_EXEC) != 0)
      raise_errno(ErrorKind::kInternal, "mprotect of generated code");
    return false;
  }
  void registerEHFrames(std::uint8_t*, std::uint64_t, std::size_t) override {}
  void deregisterEHFrames() override {}
  llvm::JITSymbol findSymbol(const std::string& name) override {
    const void* address = find_runtime_symbol(name.c_str());
    if (address == nullptr) return nullptr;
    return {reinterpret_cast<std::uint64_t>(address), llvm::JITSymbolFlags::Exported};
  }

 private:
  std::uint8_t* take(std::uintptr_t size, unsigned alignment) {
    used_ = round_up(used_, std::max(alignment, 64U));
    LS_CHECK(used_ + size <= size_, "an object has more sections than it announced");
    std::uint8_t* out = base_ + used_;
    used_ += size;
    return out;
  }

  std::uint8_t* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
};

GroupCode::GroupCode(std::string bytes, std::size_t label)
    : bytes_(std::move(bytes)), memory_(std::make_unique<Memory>()) {
  const llvm::StringRef object(bytes_.data() + label, bytes_.size() - label);
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, "group"));
  if (!file) raise(ErrorKind::kData, "generated code: {}", llvm::toString(file.takeError()));
  llvm::RuntimeDyld linker(*memory_, *memory_);
  linker.loadObject(**file);
  linker.resolveRelocations();
  if (linker.hasError())
    raise(ErrorKind::kData, "generated code: {}", linker.getErrorString().str());
  const auto symbol = linker.getSymbol(llvm::StringRef(kGroupSymbol.data(), kGroupSymbol.size()));
  if (!symbol) raise(ErrorKind::kData, "generated code has no function {}", kGroupSymbol);
  memory_->finalizeMemory(nullptr);
  function_ = reinterpret_cast<GroupFunction*>(symbol.getAddress());
}

GroupCode::~GroupCode() = default;

}  // namespace lockstep::codegen

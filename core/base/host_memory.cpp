#include "core/base/host_memory.h"

#include <execinfo.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace lockstep {

OutOfHostMemory::OutOfHostMemory(std::size_t bytes) noexcept {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  std::snprintf(text_, sizeof text_, "the host has no memory left: %.*f %s more were requested",
                unit == 0 ? 0 : 2, amount, kUnits[unit]);
}

std::optional<Error> memory_error(const std::exception& e) {
  constexpr const char* kRemedy =
      "stop other programs on this machine, start fewer ranks on it, or lower "
      "training.micro_batch_size";
  const auto describe = [&](const char* what) {
    return Error(ErrorKind::kOutOfMemory, fmt::format("{}; {}", what, kRemedy));
  };
  if (dynamic_cast<const OutOfHostMemory*>(&e) != nullptr) return describe(e.what());
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr)
    return describe("the host has no memory left");
  if (const auto* error = dynamic_cast<const std::system_error*>(&e)) {
    if (error->code() == std::errc::not_enough_memory)
      return describe("the host has no memory left");
    if (error->code() == std::errc::resource_unavailable_try_again)
      return describe("the host has no memory for another thread, or allows no more of them");
  }
  return std::nullopt;
}

namespace {

/// Allocates nothing.
[[noreturn]] void terminate_with_message() noexcept {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc& e) {
    for (const char* part : {"lockstep: error: ", e.what(), "\n"})
      (void)!::write(STDERR_FILENO, part, std::strlen(part));
    ::_exit(static_cast<int>(ErrorKind::kOutOfMemory));
  } catch (...) {
    std::abort();  // its core dump shows the place
  }
  std::abort();
}

}  // namespace

// Asked of the system, as malloc does for large blocks: a sanitizer's malloc would mark each of
// these bytes, twice.
void require_host_memory(std::size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw OutOfHostMemory(bytes);
  LS_CHECK(::munmap(memory, bytes) == 0, "{} bytes cannot be unmapped", bytes);
}

void return_freed_memory() {
  ::malloc_trim(0);
}

void keep_freed_memory() {
  constexpr int kAlways = 1 << 30;
  constexpr int kGrowth = 64 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kAlways);
  ::mallopt(M_TRIM_THRESHOLD, kAlways);
  ::mallopt(M_TOP_PAD, kGrowth);
}

void prepare_for_lack_of_memory() {
  std::set_terminate(terminate_with_message);
  // The C library loads its unwinder at its first use (for example by pthread_once), and aborts if
  // there is no memory for it.
  void* frame = nullptr;
  (void)::backtrace(&frame, 1);
}

}  // namespace lockstep

// As the standard library's, except for the exception. All of them are here, so that memory of one
// is freed by its counterpart, also under tools that replace them too; the missing forms call
// these.
namespace {

template <class Allocate>
void* allocate_or_throw(std::size_t bytes, Allocate allocate) {
  while (true) {
    if (void* memory = allocate(std::max<std::size_t>(bytes, 1))) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw lockstep::OutOfHostMemory(bytes);
    handler();
  }
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes, [](std::size_t n) { return std::malloc(n); });
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, [alignment](std::size_t n) {
    void* memory = nullptr;
    const std::size_t at = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
    return ::posix_memalign(&memory, at, n) == 0 ? memory : nullptr;
  });
}

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (...) {
    return nullptr;
  }
}

void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes, alignment);
  } catch (...) {
    return nullptr;
  }
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

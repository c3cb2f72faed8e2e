#include "core/base/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

namespace lockstep {
namespace {

using testing::StartsWith;

constexpr std::size_t kTooMuch = std::size_t{1} << 46;

/// Sanitizers bring an allocator of their own, which ends the process instead.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kForeignAllocator = true;
#else
constexpr bool kForeignAllocator = false;
#endif

TEST(HostMemory, ARefusedAllocationSaysHowMuchWasAskedFor) {
  if (kForeignAllocator) GTEST_SKIP();
  const auto refusal = [](auto&& allocate) -> std::string {
    try {
      allocate();
      return "given";
    } catch (const std::bad_alloc& e) {
      return e.what();
    }
  };
  const std::string message = "the host has no memory left: 64.00 TiB more were requested";
  EXPECT_EQ(refusal([] { std::vector<char> bytes(kTooMuch); }), message);
  void* volatile memory = nullptr;  // or the compiler leaves the allocations out
  EXPECT_EQ(refusal([&] { memory = ::operator new[](kTooMuch); }), message);
  EXPECT_EQ(refusal([&] { memory = ::operator new (kTooMuch, std::align_val_t{64}); }), message);
  EXPECT_EQ(std::string(OutOfHostMemory(1023).what()),
            "the host has no memory left: 1023 bytes more were requested");
  EXPECT_EQ(::operator new(kTooMuch, std::nothrow), nullptr);
}

TEST(HostMemory, WhatIsRequiredCanBeHad) {
  EXPECT_NO_THROW(require_host_memory(std::size_t{1} << 20));
  EXPECT_THROW(require_host_memory(kTooMuch), OutOfHostMemory);
}

/// Resident memory of this process.
std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  file >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

TEST(HostMemory, WhatWasFreedInTheHeapsMiddleIsGivenBack) {
  if (kForeignAllocator) GTEST_SKIP();
  constexpr std::size_t kBlock = 64 << 10;
  constexpr std::int64_t kAll = 64 << 20;
  std::vector<std::string> blocks;
  for (std::int64_t bytes = 0; bytes < kAll; bytes += kBlock) blocks.emplace_back(kBlock, 'x');
  const std::string last(kBlock, 'y');  // keeps the heap's end
  const std::int64_t most = resident_bytes();
  blocks.clear();
  EXPECT_GT(resident_bytes(), most - kAll / 4);
  return_freed_memory();
  EXPECT_LT(resident_bytes(), most - kAll / 2);
  EXPECT_EQ(last.size(), kBlock);
}

TEST(HostMemory, AllocationsWork) {
  for (const std::size_t alignment : {1, 8, 64, 4096}) {
    void* memory = ::operator new (100, std::align_val_t{alignment});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0U);
    ::operator delete (memory, std::align_val_t{alignment});
  }
  ::operator delete(::operator new(0));
  std::vector<int> values{3, 1, 2};
  std::stable_sort(values.begin(), values.end());  // allocates with nothrow
  EXPECT_EQ(values.front(), 1);
}

TEST(HostMemory, OnlyRefusalsOfTheSystemAreErrorsOfMemory) {
  const auto text = [](const std::exception& e) -> std::string { return memory_error(e)->what(); };
  const auto* remedy =
      "; stop other programs on this machine, start fewer ranks on it, or lower "
      "training.micro_batch_size";
  const OutOfHostMemory refused(3 << 20);
  EXPECT_EQ(text(refused),
            std::string("the host has no memory left: 3.00 MiB more were requested") + remedy);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): its text was there
  EXPECT_EQ(memory_error(refused)->kind(), ErrorKind::kOutOfMemory);
  EXPECT_EQ(text(std::bad_alloc()), std::string("the host has no memory left") + remedy);
  const std::system_error thread(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_THAT(text(thread), StartsWith("the host has no memory for another thread"));
  EXPECT_FALSE(memory_error(std::runtime_error("x")));
  EXPECT_FALSE(memory_error(std::bad_cast()));
  EXPECT_FALSE(memory_error(std::system_error(std::make_error_code(std::errc::io_error))));
}

TEST(HostMemoryDeathTest, WhereNothingMayBeThrownTheProcessStillSaysWhy) {
  if (kForeignAllocator) GTEST_SKIP();
  EXPECT_EXIT(
      {
        prepare_for_lack_of_memory();
        []() noexcept { std::vector<char> bytes(kTooMuch); }();
      },
      testing::ExitedWithCode(6),
      "^lockstep: error: the host has no memory left: 64.00 TiB more were requested\n$");
  EXPECT_EXIT(
      {
        prepare_for_lack_of_memory();
        const auto fail = [] { throw std::runtime_error("x"); };
        [&]() noexcept { fail(); }();
      },
      testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace lockstep

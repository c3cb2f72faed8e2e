#include "core/runtime/allocator.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

TEST(Allocator, CountsWhatIsAliveAndItsPeak) {
  Allocator allocator(0);
  BufferPtr a = allocator.allocate(1000, "a");
  EXPECT_EQ(allocator.used_bytes(), 1024U) << "rounded up to 64 bytes";
  BufferPtr b = allocator.allocate(64, "b");
  EXPECT_EQ(allocator.used_bytes(), 1088U);
  a.reset();
  EXPECT_EQ(allocator.used_bytes(), 64U);
  EXPECT_EQ(allocator.peak_bytes(), 1088U);
}

TEST(Allocator, GivesAlignedDeviceMemoryOfTheAskedSize) {
  Allocator allocator(0);
  for (const std::size_t bytes : {0UL, 1UL, 63UL, 65UL, (1UL << 20) + 1}) {
    const BufferPtr buffer = allocator.allocate(bytes, "x");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64, 0U);
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_EQ(buffer->space(), MemorySpace::kDevice);
  }
}

TEST(Allocator, ReusesAFreedBlockOfTheSameSize) {
  Allocator allocator(0);
  BufferPtr a = allocator.allocate(100'000, "a");
  const std::byte* address = a->data();
  a.reset();
  EXPECT_EQ(allocator.allocate(100'000, "b")->data(), address);
}

TEST(Allocator, GivesItsCacheUpBeforeItPassesTheLimit) {
  Allocator allocator(1 << 20);
  allocator.allocate(800'000, "a").reset();
  EXPECT_NE(allocator.allocate(900'000, "b"), nullptr);
}

TEST(Allocator, EndsAtTheLimitAndListsTheLargestFirst) {
  Allocator allocator(1 << 20);
  std::vector<BufferPtr> alive;
  alive.push_back(allocator.allocate(64 << 10, "f32[16384] wte.weight model.cpp:41"));
  alive.push_back(allocator.allocate(512 << 10, "f32[131072] logits model.cpp:77 (lm_head)"));
  alive.push_back(allocator.allocate(64 << 10, "f32[16384] batch.tokens"));
  EXPECT_EQ(
      error_of([&] { (void)allocator.allocate(512 << 10, "gradient sums, buffer 0"); }),
      "6: device out of memory: 512.00KiB for gradient sums, buffer 0 on top of 640.00KiB in "
      "use exceeds the limit of 1.00MiB (device.memory_gb); lower training.micro_batch_size or "
      "raise the limit, --dry-run shows what a step needs; the largest live tensors are:\n"
      "   512.00KiB  f32[131072] logits model.cpp:77 (lm_head)\n"
      "    64.00KiB  f32[16384] batch.tokens\n"
      "    64.00KiB  f32[16384] wte.weight model.cpp:41");
  EXPECT_EQ(allocator.used_bytes(), 640U << 10) << "a refused allocation changes nothing";
  alive.erase(alive.begin() + 1);
  EXPECT_NE(allocator.allocate(512 << 10, "gradient sums, buffer 0"), nullptr);
}

TEST(Allocator, EndsWhereTheHostHasNoMore) {
  Allocator allocator(0, 1 << 20);
  const BufferPtr first = allocator.allocate(768 << 10, "wte.weight");
  EXPECT_EQ(error_of([&] { (void)allocator.allocate(512 << 10, "activations"); }),
            "6: the host has no memory left for the device's: 512.00KiB for activations on top of "
            "768.00KiB in use (device.memory_gb may be more than the host has); lower "
            "training.micro_batch_size, run fewer ranks on this machine, or stop other programs on "
            "it; the largest live tensors are:\n"
            "   768.00KiB  wte.weight");
}

TEST(Allocator, ListsTenAndCountsTheRest) {
  constexpr std::size_t kBlocks = 12;
  Allocator allocator(64 * kBlocks);
  std::vector<BufferPtr> alive;
  alive.reserve(kBlocks);
  for (std::size_t i = 0; i < kBlocks; ++i)
    alive.push_back(allocator.allocate(64, fmt::format("t{:02}", i)));
  const std::string error = error_of([&] { (void)allocator.allocate(1, "one more"); });
  EXPECT_THAT(error, testing::HasSubstr("t09\n  and 2 more"));
  EXPECT_THAT(error, testing::Not(testing::HasSubstr("t10")));
}

TEST(Allocator, ReportsAHostWithoutMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the process when it asks for that much";
#endif
  Allocator allocator(0);
  const BufferPtr alive = allocator.allocate(64, "a");
  EXPECT_EQ(error_of([&] { (void)allocator.allocate(std::size_t{1} << 60, "b"); }),
            "6: the host has no memory left for the device's: 1048576.00TiB for b on top of 64.00B "
            "in use (device.memory_gb may be more than the host has); lower "
            "training.micro_batch_size, run fewer ranks on this machine, or stop other programs on "
            "it; the largest live tensors are:\n      64.00B  a");
}

TEST(Allocator, CachesNoMoreThanWasEverLive) {
  Allocator allocator(0);
  const auto use = [&](std::size_t bytes) { (void)allocator.allocate(bytes, "x"); };
  use(640);
  EXPECT_EQ(allocator.cached_bytes(), 640);
  for (std::size_t size = 1; size <= 4; ++size) use(64 * size);
  EXPECT_LE(allocator.cached_bytes(), allocator.peak_bytes());
  EXPECT_EQ(allocator.cached_bytes(), 640);  // 64 to 256: the oldest had to go
  use(1280);
  EXPECT_EQ(allocator.peak_bytes(), 1280);
  EXPECT_EQ(allocator.cached_bytes(), 1280);
}

TEST(Allocator, ReusesABlockOfTheSameSize) {
  Allocator allocator(0);
  const std::byte* first = nullptr;
  {
    const BufferPtr a = allocator.allocate(1000, "a");
    first = a->data();
  }
  const BufferPtr b = allocator.allocate(1001, "b");
  EXPECT_EQ(b->data(), first);
  EXPECT_EQ(allocator.cached_bytes(), 0);
  EXPECT_EQ(allocator.used_bytes(), Allocator::block_bytes(1000));
}

TEST(Allocator, MayDieBeforeItsBuffers) {
  BufferPtr buffer;
  {
    Allocator allocator(0);
    buffer = allocator.allocate(64, "a");
  }
  buffer->data()[63] = std::byte{1};
}

TEST(Allocator, IsThreadSafe) {
  Allocator allocator(0);
  {
    constexpr std::size_t kThreads = 4;
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (std::size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&allocator] {
        for (std::size_t i = 0; i < 1000; ++i) (void)allocator.allocate(64 * (1 + i % 3), "x");
      });
  }
  EXPECT_EQ(allocator.used_bytes(), 0U);
  EXPECT_LE(allocator.peak_bytes(), 4U * 192);
}

/// Memory of the host, as another allocator would give it.
std::shared_ptr<std::byte> foreign_memory(std::size_t bytes) {
  const BufferPtr buffer = allocate_host(bytes);
  return {buffer, buffer->data()};
}

TEST(Allocator, CountsAdoptedMemoryBeforeItIsThere) {
  Allocator allocator(1 << 20);
  const BufferPtr buffer = allocator.adopt(4096, "gradients", [&] {
    EXPECT_EQ(allocator.used_bytes(), 4096U);
    return foreign_memory(4096);
  });
  EXPECT_EQ(allocator.used_bytes(), 4096U);
  EXPECT_EQ(allocator.adopt(64, "none", [] { return nullptr; }), nullptr);
  EXPECT_THROW(allocator.adopt(64, "lost", []() -> std::shared_ptr<std::byte> { throw 1; }), int);
  EXPECT_EQ(allocator.used_bytes(), 4096U);
  bool called = false;
  EXPECT_THAT(error_of([&] {
                (void)allocator.adopt(1 << 20, "too large", [&] {
                  called = true;
                  return foreign_memory(4096);
                });
              }),
              testing::HasSubstr("1.00MiB for too large on top of 4.00KiB in use"));
  EXPECT_FALSE(called);
}

/// Gigabytes of shared memory are made in seconds: a loader's copies go on meanwhile.
TEST(Allocator, LetsOthersAllocateWhileMemoryIsAdopted) {
  Allocator allocator(0);
  std::future<BufferPtr> other;
  std::future_status status = std::future_status::timeout;
  const BufferPtr buffer = allocator.adopt(64, "gradients", [&] {
    other = std::async(std::launch::async, [&] { return allocator.allocate(64, "batch"); });
    status = other.wait_for(std::chrono::seconds(10));
    return foreign_memory(64);
  });
  EXPECT_EQ(status, std::future_status::ready);
  EXPECT_NE(other.get(), nullptr);
}

/// Frees a buffer where malloc has nothing more to give, and ends well.
template <class Make>
[[noreturn]] void free_without_memory(const Make& make) {
  Allocator allocator(0);
  Reservation room(allocator, "batches");
  room.grow_to(1 << 10);
  BufferPtr buffer = make(allocator, room);
  const rlimit none{1, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &none) != 0) std::_Exit(2);
  for (std::size_t bytes = 1 << 20; bytes > 0; bytes -= bytes > 1024 ? bytes / 2 : 8)
    while (std::malloc(bytes) != nullptr) {
    }
  buffer.reset();
  std::_Exit(0);
}

TEST(AllocatorDeathTest, TakesBlocksBackWithoutAllocating) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have an allocator of their own";
#endif
  EXPECT_EXIT(free_without_memory([](Allocator& allocator, Reservation&) {
                return allocator.allocate(64, "a tensor with a long name");
              }),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(free_without_memory(
                  [](Allocator&, Reservation& room) { return room.allocate(64, "a batch"); }),
              testing::ExitedWithCode(0), "");
}

TEST(Reservation, IsInUseWhetherItsBlocksAreThereOrNot) {
  Allocator allocator(0);
  Reservation room(allocator, "batches");
  EXPECT_EQ(allocator.used_bytes(), 0U);
  room.grow_to(256);
  room.grow_to(128);
  EXPECT_EQ(allocator.used_bytes(), 256U) << "it never shrinks";
  std::vector<BufferPtr> blocks(4);
  for (BufferPtr& block : blocks) block = room.allocate(60, "batch");
  EXPECT_EQ(allocator.used_bytes(), 256U);
  const std::byte* address = blocks[2]->data();
  blocks.erase(blocks.begin() + 2);
  EXPECT_EQ(allocator.used_bytes(), 256U);
  EXPECT_EQ(room.allocate(64, "batch")->data(), address) << "freed blocks are used again";
  EXPECT_EQ(allocator.peak_bytes(), 256U);
}

TEST(Reservation, WhatFindsNoRoomInItCountsByItself) {
  Allocator allocator(0);
  Reservation room(allocator, "batches");
  room.grow_to(64);
  const BufferPtr a = room.allocate(64, "a");
  BufferPtr b = room.allocate(64, "b");
  EXPECT_EQ(allocator.used_bytes(), 128U);
  b.reset();
  EXPECT_EQ(allocator.used_bytes(), 64U);
}

TEST(Reservation, IsRefusedAtTheLimitAndListed) {
  Allocator allocator(1024);
  Reservation room(allocator, "batches");
  room.grow_to(1024);
  EXPECT_EQ(room.allocate(1024, "batch")->bytes(), 1024U) << "it has what it was promised";
  EXPECT_THAT(error_of([&] { (void)allocator.allocate(64, "x"); }),
              testing::EndsWith("the largest live tensors are:\n     1.00KiB  batches"));
  EXPECT_THAT(error_of([&] { room.grow_to(1025); }),
              testing::HasSubstr("device out of memory: 1.00B for batches on top of 1.00KiB"));
  EXPECT_THAT(error_of([&] { (void)room.allocate(1025, "large"); }), testing::HasSubstr("large"));
  EXPECT_EQ(allocator.used_bytes(), 1024U) << "a refused allocation changes nothing";
}

TEST(Reservation, EndsWithItsLastBlock) {
  Allocator allocator(0);
  BufferPtr block;
  {
    Reservation room(allocator, "batches");
    room.grow_to(640);
    block = room.allocate(64, "batch");
  }
  EXPECT_EQ(allocator.used_bytes(), 640U);
  block.reset();
  EXPECT_EQ(allocator.used_bytes(), 0U);
}

TEST(Reservation, NeverMakesTheDeviceTakeMoreOfTheHostThanItsPeak) {
  Allocator allocator(1024);
  Reservation room(allocator, "batches");
  room.grow_to(512);
  BufferPtr rest = allocator.allocate(512, "rest");
  for (const std::size_t bytes : {64, 128, 256, 512, 64}) room.allocate(bytes, "batch").reset();
  EXPECT_LE(allocator.cached_bytes(), 512U);
  rest.reset();
  rest = allocator.allocate(448, "another size");
  EXPECT_LE(allocator.cached_bytes() + 448, 1024U);
}

}  // namespace
}  // namespace lockstep

// all_reduce of data in memory that the ranks share, against the serial oracle, and the conditions
// between the steps that use it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "collectives/shared_arena.h"
#include "tests/collectives/oracle.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;

template <class T>
CollectiveRequest all_reduce_at(std::byte* data, std::int64_t count) {
  CollectiveRequest out;
  out.data = data;
  out.dtype = DTypeOf<T>::value;
  out.count = count;
  return out;
}

template <class T>
void write(const SharedBuffer& buffer, std::size_t offset, const std::vector<T>& values) {
  if (!values.empty())
    std::memcpy(buffer.data() + offset, values.data(), values.size() * sizeof(T));
}

template <class T>
std::vector<T> sums(const SharedBuffer& buffer, std::size_t offset, std::int64_t count) {
  std::vector<T> out(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(out.data(), buffer.sums() + offset, out.size() * sizeof(T));
  return out;
}

/// One step: `count` elements at `offset`.
template <class T>
void expect_shared_tree_sums(Communicator& comm, std::size_t offset, std::int64_t count,
                             std::uint64_t seed = 1) {
  const std::size_t bytes = offset + static_cast<std::size_t>(count) * sizeof(T);
  const auto buffer = comm.shared_buffer(std::max<std::size_t>(bytes, 1));
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64, 0U);
  buffer->wait_until_writable();
  write(*buffer, offset, operands<T>(seed, comm.rank(), count));
  comm.wait(comm.submit(all_reduce_at<T>(buffer->data() + offset, count)));
  EXPECT_EQ(bits_of(sums<T>(*buffer, offset, count)),
            bits_of(serial_sums<T>(seed, comm.size(), count)))
      << "rank " << comm.rank() << " of " << comm.size() << ", " << count << " elements";
}

TEST(SharedAllReduce, IsTheSerialTreeSumForAnyRanksAndLength) {
  for (const int ranks : {2, 3, 4, 7}) {
    on_sharing_ranks(ranks, [](Communicator& comm) {
      for (const std::int64_t count : {0, 1, 13, 997, 7'919, 300'007})
        expect_shared_tree_sums<float>(comm, 0, count);
      expect_shared_tree_sums<double>(comm, 64, 4'001);
      expect_shared_tree_sums<std::int32_t>(comm, 16'384, 4'001);
      expect_shared_tree_sums<std::int64_t>(comm, 40'000, 9'001);
    });
  }
}

// Where lanes are long enough their stripes are huge pages.
TEST(SharedAllReduce, OfALargeBufferIsTheSame) {
  for (const int ranks : {2, 3})
    on_sharing_ranks(ranks, [](Communicator& comm) {
      const std::size_t offset = static_cast<std::size_t>(comm.size()) * (33 << 20) - 64;
      expect_shared_tree_sums<float>(comm, offset, 1'600'007);
    });
}

TEST(SharedAllReduce, OfManyBucketsAgreesWhoeverCarriesThemOut) {
  constexpr int kBuckets = 150;  // more than headers are kept
  constexpr std::int64_t kCount = 999;
  constexpr std::size_t kStride = 4096;
  on_sharing_ranks(3, [&](Communicator& comm) {
    for (std::uint64_t step = 0; step < 3; ++step) {
      const auto buffer = comm.shared_buffer(kBuckets * kStride);
      buffer->wait_until_writable();
      std::vector<EventPtr> done;
      for (std::uint64_t b = 0; b < kBuckets; ++b) {
        write(*buffer, b * kStride, operands<float>(step * kBuckets + b, comm.rank(), kCount));
        done.push_back(comm.submit(all_reduce_at<float>(buffer->data() + b * kStride, kCount)));
        if (b % 50 == 17 && step == 1) comm.rendezvous("in between");
      }
      // In one step the waiting thread does the work, in others it only waits.
      if (step == 0) comm.wait(done.back());
      for (const EventPtr& event : done) event->wait();
      for (std::uint64_t b = 0; b < kBuckets; ++b)
        ASSERT_EQ(bits_of(sums<float>(*buffer, b * kStride, kCount)),
                  bits_of(serial_sums<float>(step * kBuckets + b, comm.size(), kCount)));
    }
  });
}

TEST(SharedAllReduce, MixesWithCollectivesOfOtherMemoryInOrder) {
  on_sharing_ranks(2, [](Communicator& comm) {
    const auto buffer = comm.shared_buffer(4'000);
    write(*buffer, 0, operands<float>(1, comm.rank(), 1'000));
    auto own = operands<float>(2, comm.rank(), 1'000);
    std::vector<int> marked;
    comm.submit(all_reduce_of(own))->on_ready([&] { marked.push_back(0); });
    comm.submit(all_reduce_at<float>(buffer->data(), 500))->on_ready([&] { marked.push_back(1); });
    const EventPtr last = comm.submit(all_reduce_at<float>(buffer->data() + 2'000, 500));
    last->on_ready([&] { marked.push_back(2); });
    comm.wait(last);
    comm.rendezvous("all are marked");
    EXPECT_EQ(bits_of(own), bits_of(serial_sums<float>(2, 2, 1'000)));
    EXPECT_EQ(bits_of(sums<float>(*buffer, 0, 1'000)), bits_of(serial_sums<float>(1, 2, 1'000)));
    EXPECT_THAT(marked, testing::UnorderedElementsAre(0, 1, 2));
  });
}

TEST(SharedAllReduce, FlushesDenormalsOnAnyThread) {
  on_sharing_ranks(2, [](Communicator& comm) {
    const auto buffer = comm.shared_buffer(400);
    write(*buffer, 0, std::vector<float>(100, std::bit_cast<float>(std::uint32_t{1})));
    comm.wait(comm.submit(all_reduce_at<float>(buffer->data(), 100)));
    EXPECT_EQ(bits_of(sums<float>(*buffer, 0, 100)), bits_of(std::vector<float>(100, 0.0F)));
  });
}

TEST(SharedBuffers, AreNotWritableWhileAnotherRankReadsTheSums) {
  std::atomic<bool> released{false};
  on_sharing_ranks(2, [&](Communicator& comm) {
    auto buffer = comm.shared_buffer(400);
    write(*buffer, 0, operands<float>(1, comm.rank(), 100));
    comm.wait(comm.submit(all_reduce_at<float>(buffer->data(), 100)));
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(30ms);
      EXPECT_EQ(bits_of(sums<float>(*buffer, 0, 100)), bits_of(serial_sums<float>(1, 2, 100)));
      released = true;
      buffer.reset();
    } else {
      buffer.reset();
      const auto next = comm.shared_buffer(400);
      next->wait_until_writable();
      EXPECT_TRUE(released);
    }
  });
}

TEST(SharedBuffers, AreForOneHolderAtATime) {
  on_sharing_ranks(2, [](Communicator& comm) {
    const auto buffer = comm.shared_buffer(400);
    EXPECT_EQ(error_of([&] { (void)comm.shared_buffer(400); }),
              "2: a rank holds one shared buffer at a time");
  });
}

TEST(SharedBuffers, HaveAtLeastOneByte) {
  on_sharing_ranks(2, [](Communicator& comm) {
    EXPECT_EQ(error_of([&] { (void)comm.shared_buffer(0); }),
              "2: a shared buffer of 0 bytes was requested");
  });
}

/// Bytes of memory in the files that ranks of this process share.
std::int64_t shared_bytes() {
  std::map<ino_t, std::int64_t> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    struct stat status {};
    if (target.starts_with("/memfd:lockstep") && stat(entry.path().c_str(), &status) == 0)
      files[status.st_ino] = 512 * static_cast<std::int64_t>(status.st_blocks);
  }
  std::int64_t out = 0;
  for (const auto& [file, bytes] : files) out += bytes;
  return out;
}

TEST(SharedBuffers, OfManySizesKeepTheMemoryOfAFew) {
  constexpr std::int64_t kCount = 300'000;
  constexpr int kRanks = 2;
  on_sharing_ranks(kRanks, [](Communicator& comm) {
    comm.rendezvous("begin");
    const std::int64_t before = shared_bytes();
    comm.rendezvous("measured");
    for (std::int64_t i = 0; i < 30; ++i)
      expect_shared_tree_sums<float>(comm, 0, kCount + 10'000 * i, static_cast<std::uint64_t>(i));
    for (const std::int64_t i : {29, 0, 29})  // kept, and long gone
      expect_shared_tree_sums<float>(comm, 64, kCount + 10'000 * i - 16, 7);
    comm.rendezvous("end");
    constexpr std::int64_t kLargest = 4 * (kCount + 30 * 10'000);
    EXPECT_LE(shared_bytes() - before,
              kRanks * static_cast<std::int64_t>(SharedArena::kSizes) * kLargest);
    comm.rendezvous("measured again");
  });
}

/// The part of [address, address + bytes) of this process that is in huge pages.
std::size_t huge_bytes_at(const std::byte* address) {
  std::ifstream maps("/proc/self/smaps");
  const std::string wanted = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(address));
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("-") < line.find(" ")) found = line.starts_with(wanted);
    if (found && line.starts_with("ShmemPmdMapped:")) return 1024 * std::stoull(line.substr(15));
  }
  return 0;
}

/// Whether this system gives a file in memory a huge page that is asked for.
bool has_huge_pages() {
  constexpr std::size_t kHugePage = SharedFile::kHugePage;
  constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers lack
  const int file = memfd_create("huge", MFD_CLOEXEC);
  const Mapping place = Mapping::reserve(kHugePage);
  const bool ready = posix_fallocate(file, 0, kHugePage) == 0 &&
                     mmap(place.data(), kHugePage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                          file, 0) != MAP_FAILED;
  const bool out = ready && madvise(place.data(), kHugePage, kCollapse) == 0;
  close(file);
  return out;
}

TEST(SharedBuffers, AreInHugePagesWhereTheSystemHasThem) {
  const bool available = has_huge_pages();
  on_sharing_ranks(2, [&](Communicator& comm) {
    constexpr std::size_t kHugePage = SharedFile::kHugePage;
    expect_shared_tree_sums<float>(comm, 0, 100);  // a small one before
    constexpr std::int64_t kCount = 3 * kHugePage / sizeof(float) + 5000;
    expect_shared_tree_sums<float>(comm, 0, kCount);
    expect_shared_tree_sums<float>(comm, 4096, kCount - 1024, 2);
    const auto buffer = comm.shared_buffer(kCount * sizeof(float));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % kHugePage, 0U);
    if (available) {
      EXPECT_GE(huge_bytes_at(buffer->data()), 3 * kHugePage);
    }
  });
}

TEST(SharedBuffers, LargerThanTheNodesMemoryAreRefusedBeforeTheyAreTouched) {
  on_sharing_ranks(2, [](Communicator& comm) {
    EXPECT_THAT(error_of([&] { (void)comm.shared_buffer(std::size_t{1} << 45); }),
                testing::StartsWith("6: 35184372088832 bytes of shared memory requested, "));
  });
}

TEST(SharedMismatch, NamesTheOffset) {
  on_sharing_ranks(2, [](Communicator& comm) {
    const auto buffer = comm.shared_buffer(8'192);
    const std::size_t offset = comm.rank() == 0 ? 0 : 64;
    EXPECT_THAT(
        error_of([&] { comm.wait(comm.submit(all_reduce_at<float>(buffer->data() + offset, 8))); }),
        testing::EndsWith("the offset in shared memory differs"));
  });
}

TEST(SharedFailedReady, FailsThatCollectiveOnlyAndOnEveryRank) {
  on_sharing_ranks(3, [](Communicator& comm) {
    const auto buffer = comm.shared_buffer(400);
    auto request = all_reduce_at<float>(buffer->data(), 100);
    if (comm.rank() == 1) {
      request.ready = std::make_shared<Event>();
      request.ready->fail(std::make_exception_ptr(Error(ErrorKind::kOutOfMemory, "1 GB is full")));
    }
    EXPECT_THAT(error_of([&] { comm.wait(comm.submit(request)); }),
                testing::AllOf(testing::StartsWith("6: "), testing::HasSubstr("1 GB is full")));
    write(*buffer, 0, operands<float>(3, comm.rank(), 100));
    comm.wait(comm.submit(all_reduce_at<float>(buffer->data(), 100)));
    EXPECT_EQ(bits_of(sums<float>(*buffer, 0, 100)), bits_of(serial_sums<float>(3, 3, 100)));
  });
}

TEST(SharedDestruction, OfOneRankFailsThoseThatWaitForIt) {
  auto comms = make_in_process_communicators(2, {.shared_memory = SharedMemoryUse::kRequired});
  const auto buffer = comms[1]->shared_buffer(400);
  const EventPtr done = comms[1]->submit(all_reduce_at<float>(buffer->data(), 8));
  comms[0].reset();
  EXPECT_EQ(error_of([&] { comms[1]->wait(done); }),
            "7: rank 0 is gone; rank 1 still waits for it");
}

TEST(SharedAbort, EndsAWaitForOtherRanks) {
  std::atomic<bool> prepared{false};
  on_sharing_ranks(2, [&](Communicator& comm) {
    if (comm.rank() == 0) {
      while (!prepared) std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(20ms);
      EXPECT_THAT(error_of([&] { comm.abort(3, "no more data"); }),
                  testing::HasSubstr("no more data"));
      return;
    }
    const auto buffer = comm.shared_buffer(400);
    prepared = true;
    EXPECT_EQ(error_of([&] { comm.wait(comm.submit(all_reduce_at<float>(buffer->data(), 8))); }),
              "7: rank 0 ended the job with code 3: no more data");
  });
}

}  // namespace
}  // namespace lockstep

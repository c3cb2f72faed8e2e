#include "core/runtime/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>
#include <string>

namespace lockstep {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::SizeIs;

/// What ran, in the order in which it ended.
struct Diary {
  std::mutex mutex;
  std::vector<std::string> entries;
  void write(const std::string& entry) {
    const std::lock_guard lock(mutex);
    entries.push_back(entry);
  }
  std::size_t find(const std::string& entry) const {
    return static_cast<std::size_t>(std::ranges::find(entries, entry) - entries.begin());
  }
};

/// Reads and writes as many bytes in each task, or all.
struct Fake final : TaskKernel {
  Fake(Diary& diary, std::string name, std::int64_t count)
      : diary(diary), name(name), count(count) {}
  WorkClass work() const override { return WorkClass::kFused; }
  std::int64_t tasks() const override { return count; }
  void begin(const KernelCall&) const override { diary.write(name + " begins"); }
  void run_task(const KernelCall&, std::int64_t task) const override {
    if (task == fails_at) throw std::runtime_error(name + " failed");
    diary.write(name + std::to_string(task));
  }
  void finish(const KernelCall&) const override { diary.write(name + " ends"); }
  bool begins_with(std::size_t operand) const override { return operand == begin_operand; }
  Extent reads(std::int64_t task, std::size_t) const override {
    return read_bytes == 0 ? Extent{} : Extent{task * read_bytes, (task + 1) * read_bytes};
  }
  Extent writes(std::int64_t task, std::size_t) const override {
    return write_bytes == 0 ? Extent{} : Extent{task * write_bytes, (task + 1) * write_bytes};
  }
  bool finishes(std::size_t) const override { return at_the_end; }

  Diary& diary;
  std::string name;
  std::int64_t count;
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
  bool at_the_end = false;
  std::size_t begin_operand = 9;
  std::int64_t fails_at = -1;
};

/// Values of 64 bytes in the arena: value i at 64 i.
BufferSlice value(std::int64_t number, std::int64_t offset = 0, std::int64_t bytes = 64) {
  return {Area::kArena, 0, number * 64 + offset, bytes};
}
Command command(std::vector<BufferSlice> operands, BufferSlice result) {
  Command out;
  out.operands = std::move(operands);
  out.results = {result};
  return out;
}

struct Chain : testing::Test {
  std::vector<std::int64_t> run(const std::vector<const Fake*>& kernels, int threads = 1,
                                const Clock* clock = nullptr) {
    const std::vector<const TaskKernel*> bases(kernels.begin(), kernels.end());
    const ChainSchedule schedule(commands, bases);
    ThreadPool pool(threads);
    ThreadPool alone(1);
    std::vector<TaskCall> calls;
    for (const TaskKernel* kernel : bases) calls.push_back({*kernel, {{}, {}, nullptr, alone}});
    return run_chain(schedule, calls, pool, {}, clock);
  }

  std::vector<Command> commands;
  Diary diary;
};

TEST_F(Chain, RunsATaskAsSoonAsWhatItReadsIsWritten) {
  commands = {command({value(0)}, value(1)), command({value(1)}, value(2))};
  Fake a(diary, "a", 4);
  Fake b(diary, "b", 2);
  a.write_bytes = 16;
  b.read_bytes = 32;
  run({&a, &b});
  EXPECT_THAT(diary.entries, ElementsAre("b begins", "a begins", "a0", "a1", "b0", "a2", "a3", "b1",
                                         "b ends", "a ends"));
}

TEST_F(Chain, WaitsForAllOfWhatIsReadAsAWhole) {
  commands = {command({value(0)}, value(1)), command({value(1)}, value(2))};
  Fake a(diary, "a", 2);
  Fake b(diary, "b", 1);
  a.write_bytes = 32;
  run({&a, &b});
  EXPECT_THAT(diary.entries,
              ElementsAre("b begins", "a begins", "a0", "a1", "b0", "b ends", "a ends"));
}

TEST_F(Chain, WaitsForWhatIsWrittenAtTheEnd) {
  commands = {command({value(0)}, value(1)), command({value(1)}, value(2))};
  Fake a(diary, "a", 2);
  Fake b(diary, "b", 1);
  a.at_the_end = true;
  run({&a, &b});
  EXPECT_THAT(diary.entries,
              ElementsAre("b begins", "a begins", "a0", "a1", "a ends", "b0", "b ends"));
}

TEST_F(Chain, BeginsWhenWhatThatReadsIsThere) {
  commands = {command({value(0)}, value(1)), command({value(1)}, value(2))};
  Fake a(diary, "a", 1);
  Fake b(diary, "b", 1);
  b.begin_operand = 0;
  run({&a, &b});
  EXPECT_THAT(diary.entries, ElementsAre("a begins", "a0", "b begins", "b0", "b ends", "a ends"));
}

TEST_F(Chain, ReadsAPartOfAValueWhenThatPartIsThere) {
  commands = {command({value(0)}, value(1)), command({value(1, 16, 16)}, value(2)),
              command({value(1), value(2)}, value(3))};
  Fake a(diary, "a", 4);
  Fake middle(diary, "middle", 1);
  Fake c(diary, "c", 4);
  a.write_bytes = c.write_bytes = 16;
  run({&a, &middle, &c});
  EXPECT_LT(diary.find("a1"), diary.find("middle0"));
  EXPECT_LT(diary.find("middle0"), diary.find("a2"));
  EXPECT_LT(diary.find("a3"), diary.find("c0"));
}

TEST_F(Chain, IsNotFooledByTheSamePlaceInAnotherMemory) {
  commands = {command({value(0)}, value(1)), command({{Area::kInput, 0, 64, 64}}, value(2))};
  Fake a(diary, "a", 1);
  Fake b(diary, "b", 1);
  run({&a, &b});
  EXPECT_LT(diary.find("b0"), diary.find("a0"));
}

TEST_F(Chain, KeepsThatOrderOnSeveralThreads) {
  commands = {command({value(0)}, value(1)), command({value(1)}, value(2)),
              command({value(2)}, value(3))};
  for (int round = 0; round < 50; ++round) {
    diary.entries.clear();
    Fake a(diary, "a", 16);
    Fake b(diary, "b", 4);
    Fake c(diary, "c", 8);
    a.write_bytes = 4;
    b.read_bytes = b.write_bytes = 16;
    c.read_bytes = 8;
    run({&a, &b, &c}, 3);
    ASSERT_THAT(diary.entries, SizeIs(16 + 4 + 8 + 6));
    for (int task = 0; task < 16; ++task)
      ASSERT_LT(diary.find("a" + std::to_string(task)), diary.find("b" + std::to_string(task / 4)));
    for (int task = 0; task < 8; ++task)
      ASSERT_LT(diary.find("b" + std::to_string(task / 2)), diary.find("c" + std::to_string(task)));
  }
}

TEST_F(Chain, ThrowsWhatATaskThrowsAndBeginsNoMore) {
  commands = {command({value(0)}, value(1)), command({value(1)}, value(2))};
  for (const int threads : {1, 3}) {
    diary.entries.clear();
    Fake a(diary, "a", 8);
    Fake b(diary, "b", 1);
    a.fails_at = 2;
    try {
      run({&a, &b}, threads);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "a failed");
    }
    EXPECT_EQ(diary.find("b0"), diary.entries.size());
    EXPECT_EQ(diary.find("a ends"), diary.entries.size());
  }
}

TEST_F(Chain, MeasuresEachCall) {
  struct Ticking final : Clock {
    std::int64_t now_ns() const override { return ++now; }
    mutable std::int64_t now = 0;
  };
  commands = {command({value(0)}, value(1)), command({value(1)}, value(2))};
  Fake a(diary, "a", 3);
  Fake b(diary, "b", 1);
  const Ticking clock;
  EXPECT_THAT(run({&a, &b}, 1, &clock), ElementsAre(5, 3)) << "a tick for each item";
  EXPECT_THAT(run({&a, &b}), ElementsAre());
}

}  // namespace
}  // namespace lockstep

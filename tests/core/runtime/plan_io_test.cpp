// Plans survive the disk unchanged, and damaged ones are refused.
#include "core/runtime/plan_io.h"

#include <random>

#include "collectives/single.h"
#include "core/base/hash.h"
#include "core/ir/structure.h"
#include "tests/core/runtime/simple_plan.h"
#include "tests/fixtures/tested_target.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Constants of odd bits, a fusion with a body, a dot and labels.
constexpr const char* kProgram = R"(
  %x = f32[4,3] input() {kind=batch, name="batch.x"}
  %w = f32[3,2] input() {kind=parameter, name="fc.weight"}
  %c = f32[2] constant() {value=[nan(0xffc00001), -0]}
  %h = f32[4,2] dot_general(%x, %w) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], line="model.cpp:41", scope="fc"}
  %g = f32[4,2] fusion(%h) {shape=[4,2], axis=2} body {
    %a = f32[4,2] input() {kind=state}
    %b = f32[4,2] exp(%a)
    %s = f32[] constant() {value=0.1}
    %t = f32[4,2] broadcast(%s) {shape=[4,2], dims=[]}
    %m = f32[4,2] multiply(%b, %t)
    return %m
  }
  %r = f32[2] reduce_sum(%g) {dims=[0]}
  %k = f32[2] add(%r, %c)
  return %g, %k)";

struct PlanIo : testing::Test {
  Plan plan() {
    Plan out = plan_of(kProgram, kernels);
    out.ready_outputs = {1};
    out.peak_bytes = 12345;
    out.largest_values = "  1.00KiB  f32[256] model.cpp:41\n";
    out.commands[0].flops = 48;
    out.commands[0].bytes = 0.1;
    return out;
  }
  static std::vector<HostTensor> inputs() {
    std::vector<HostTensor> out;
    for (const Shape& shape : {Shape{4, 3}, Shape{3, 2}}) {
      std::vector<float> values;
      for (std::int64_t i = 0; i < shape.elements(); ++i)
        values.push_back(0.37F * static_cast<float>(i) - 1);
      out.push_back(HostTensor::of(shape, values));
    }
    return out;
  }
  /// The error of reading and loading these bytes.
  std::string error_in(std::string_view bytes) {
    return error_of([&] { (void)load_copy(deserialize(bytes), kernels); });
  }

  KernelCache kernels{tested_target()};
};

/// Header and payload, as plan_io writes them.
std::string with_new_hash(const std::string& bytes) {
  constexpr std::size_t kMagic = 8;
  constexpr std::size_t kHeader = kMagic + sizeof(Hash128);
  const Hash128 hash = hash128(bytes.data() + kHeader, bytes.size() - kHeader);
  std::string out = bytes;
  std::memcpy(out.data() + kMagic, &hash, sizeof hash);
  return out;
}

std::string bits_of(const HostTensor& tensor) {
  const auto bytes = tensor.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(PlanIo, KeepsEverything) {
  const Plan before = plan();
  const Plan after = deserialize(serialize(before));
  EXPECT_EQ(print(after.graph), print(before.graph));
  EXPECT_TRUE(structurally_equal(after.graph, before.graph));
  EXPECT_EQ(after.commands, before.commands);
  EXPECT_EQ(after.arena_bytes, before.arena_bytes);
  EXPECT_EQ(after.constant_bytes, before.constant_bytes);
  EXPECT_EQ(after.constants, before.constants);
  EXPECT_EQ(after.donated_inputs, before.donated_inputs);
  EXPECT_EQ(after.ready_outputs, before.ready_outputs);
  EXPECT_EQ(after.peak_bytes, before.peak_bytes);
  EXPECT_EQ(after.largest_values, before.largest_values);
  EXPECT_EQ(serialize(after), serialize(before));
}

TEST_F(PlanIo, GivesAPlanWithTheSameBits) {
  const LoadedPlan before = load_copy(plan(), kernels);
  KernelCache fresh(tested_target());
  const LoadedPlan after = load_copy(deserialize(serialize(*before.plan)), fresh);
  const auto communicator = make_single_communicator();
  const auto expected = run_plan_on(before, inputs(), *communicator);
  const auto results = run_plan_on(after, inputs(), *communicator);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(bits_of(results[i]), bits_of(expected[i]));
  EXPECT_EQ(fresh.built(), 4) << "dot, fusion, reduce_sum and add";
}

TEST_F(PlanIo, KeepsAnEmptyPlan) {
  const Plan after = deserialize(serialize(Plan{}));
  EXPECT_EQ(after.graph.size(), 0);
  EXPECT_TRUE(after.commands.empty());
}

TEST_F(PlanIo, RefusesEveryTruncation) {
  const std::string bytes = serialize(plan());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THAT(error_in(std::string_view(bytes).substr(0, size)),
                StartsWith("3: the plan is damaged: "))
        << size;
}

TEST_F(PlanIo, RefusesEveryFlippedBit) {
  std::string bytes = serialize(plan());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
    EXPECT_THAT(error_in(bytes), StartsWith("3: the plan is damaged: ")) << i;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
  }
}

TEST_F(PlanIo, SaysWhatIsWrong) {
  const std::string bytes = serialize(plan());
  EXPECT_EQ(error_in("short"), "3: the plan is damaged: 5 bytes are less than its header");
  EXPECT_EQ(error_in("safetensors" + bytes),
            "3: the plan is damaged: it does not start with the magic number");
  EXPECT_EQ(error_in(bytes + "x"), "3: the plan is damaged: its hash does not match");
  EXPECT_EQ(error_in(with_new_hash(bytes + "x")), "3: the plan is damaged: it does not parse");
}

/// The error of a plan that was changed before it was written.
struct WrongPlan : PlanIo {
  std::string error_after(const std::function<void(Plan&)>& change) {
    Plan wrong = plan();
    change(wrong);
    return error_in(serialize(wrong));
  }
};

TEST_F(WrongPlan, IsRefusedForEveryNumberOutOfRange) {
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].value = 99; }),
              HasSubstr("there is no value 99"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].value = -1; }),
              HasSubstr("there is no value -1"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].operands[1].index = 7; }),
              HasSubstr("there is no input 7"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].results[0].offset = p.arena_bytes; }),
              HasSubstr("do not lie in an area of"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].results[0].offset = -64; }),
              HasSubstr("do not lie in an area of"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].results[0].offset = INT64_MAX - 63; }),
              HasSubstr("do not lie in an area of"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].results[0].bytes -= 4; }),
              HasSubstr("a command does not fit its node %3 = f32[4,2] dot_general"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].operands.pop_back(); }),
              HasSubstr("a command does not fit its node"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].kind = static_cast<CommandKind>(9); }),
              HasSubstr("there is no kind of command 9"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].results[0].area = static_cast<Area>(9); }),
              HasSubstr("there is no area 9"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands.back().finishes = {2}; }),
              HasSubstr("there is no output 2"));
  EXPECT_THAT(error_after([](Plan& p) {
                p.donated_inputs = {5, -1};
              }),
              HasSubstr("there is no input 5"));
  EXPECT_THAT(error_after([](Plan& p) {
                p.donated_inputs = {0, -1};
              }),
              HasSubstr("output 0 cannot take the memory of input 0"));
  EXPECT_THAT(error_after([](Plan& p) { p.donated_inputs.pop_back(); }),
              HasSubstr("2 outputs, but 1 donations"));
  EXPECT_THAT(error_after([](Plan& p) { p.ready_outputs = {-1}; }),
              HasSubstr("there is no output -1"));
  EXPECT_THAT(error_after([](Plan& p) { p.arena_bytes = -1; }),
              HasSubstr("the arena has -1 bytes"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].scratch = {}; }),
              testing::AnyOf(HasSubstr("bytes of scratch memory"), "no error"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].work = static_cast<WorkClass>(99); }),
              HasSubstr("there is no class of work 99"));
  EXPECT_THAT(error_after([](Plan& p) { p.constant_bytes = 128; }),
              HasSubstr("the constants have 128 bytes"));
  EXPECT_THAT(error_after([](Plan& p) { p.constant_bytes = 0; }),
              HasSubstr("8 bytes at 0 do not lie in an area of 0"));
  EXPECT_THAT(error_after([](Plan& p) { p.constants.clear(); }),
              HasSubstr("0 places for 1 constants"));
  EXPECT_THAT(error_after([](Plan& p) { p.constants[0].bytes = 4; }),
              HasSubstr("a constant has 4 bytes"));
}

TEST_F(WrongPlan, IsRefusedForCommandsThatCannotRunAtOnce) {
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].with_previous = true; }),
              HasSubstr("command 0 cannot run at once with the one before it"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands[1].with_previous = true; }),
              HasSubstr("command 1 cannot run at once with the one before it"))
      << "a dot is not run at once with others";
  EXPECT_THAT(error_after([](Plan& p) { p.commands[2].with_previous = true; }), "no error");
}

TEST_F(WrongPlan, IsRefusedForCommandsThatCannotBeAChain) {
  EXPECT_THAT(error_after([](Plan& p) { p.commands[0].chained = true; }),
              HasSubstr("command 0 cannot be part of a chain"));
  EXPECT_THAT(error_after([](Plan& p) { p.commands.back().chained = true; }),
              HasSubstr("cannot be part of a chain"))
      << "a copy has no kernel";
}

TEST_F(WrongPlan, IsRefusedForAGraphThatDoesNotParse) {
  EXPECT_THAT(error_after([](Plan& p) { p.graph.nodes[6].type.shape = Shape{3}; }),
              HasSubstr("the plan is damaged: plan:"));
}

// Damage that the hash does not reveal: whatever is read can be run.
TEST_F(PlanIo, ReadsOrRefusesRandomDamage) {
  const std::string bytes = serialize(plan());
  const auto communicator = make_single_communicator();
  std::mt19937 random(1);
  int refused = 0;
  int run = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes;
    for (std::uint32_t k = random() % 3 + 1; k > 0; --k)
      damaged[24 + random() % (bytes.size() - 24)] = static_cast<char>(random());
    try {
      const Plan read = deserialize(with_new_hash(damaged));
      std::vector<HostTensor> given;
      std::int64_t bytes_needed = read.arena_bytes;
      for (const Node& node : read.graph.nodes)
        bytes_needed += static_cast<std::int64_t>(node.type.bytes());
      if (bytes_needed > 1 << 20) continue;
      for (const ValueId id : read.graph.inputs) {
        const Type& type = read.graph[id].type;
        given.push_back(
            from_doubles(type.dtype, type.shape,
                         std::vector<double>(static_cast<std::size_t>(type.elements()), 0.5)));
      }
      (void)run_plan_on(load_copy(read, kernels), given, *communicator);
      ++run;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(run, 100);
}

}  // namespace
}  // namespace lockstep

#include "core/passes/chains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ir/group.h"
#include "core/ir/text.h"
#include "core/passes/buffer_aliases.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

/// Elementwise ops have four tasks, each of a quarter; sums of columns likewise read quarters, and
/// are there at the end; transposes take all at once; what is of less than 1 KiB has one task.
struct Kernels {
  const Graph& graph;
  std::int64_t tasks(ValueId id) const {
    if (is_given(id)) return 0;
    return bytes(id) < 1024 && bytes(graph[id].operands[0]) < 1024 ? 1 : 4;
  }
  bool is_given(ValueId id) const { return graph[id].op == Op::kInput; }
  std::int64_t bytes(ValueId id) const { return static_cast<std::int64_t>(graph[id].type.bytes()); }
  std::int64_t part(ValueId id, ValueId of, bool whole) const {
    return whole || tasks(id) == 1 ? bytes(of) : bytes(of) / 4;
  }
  ChainQuery query() const {
    return {
        [this](ValueId id) { return graph[id].op == Op::kGather ? 0 : tasks(id); },
        [this](ValueId id, std::size_t i) {
          return part(id, graph[id].operands[i], graph[id].op == Op::kTranspose);
        },
        [this](ValueId id, std::size_t) { return part(id, id, graph[id].op == Op::kReduceSum); }};
  }
};

/// The ops of each chain: "exp>add, negate".
std::vector<std::string> chains_of(const std::string& text, const char* kind = "") {
  const Graph graph = parse(text, "chains.ir");
  const Kernels kernels{graph};
  const BufferAliases aliases(graph);
  const CommandBundles bundles =
      find_bundles(graph, {[&](ValueId) { return kind; }, [](ValueId) { return 0; }});
  const CommandBundles chains = find_chains(graph, bundles, kernels.query());
  std::vector<std::string> out;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (kernels.is_given(id) || aliases.is_view(id)) continue;
    const auto at = static_cast<std::size_t>(id);
    const std::string name(name_of(graph[id].op));
    if (chains.first[at] == id) {
      out.push_back(name);
    } else {
      out.back() += (bundles.first[at] == bundles.first[at - 1] ? "+" : ">") + name;
    }
  }
  return out;
}

TEST(Chains, JoinCommandsThatReadPartByPartWhatWasWrittenSo) {
  EXPECT_THAT(chains_of(R"(
    %x = f32[64,64] input() %a = f32[64,64] exp(%x) %b = f32[64,64] add(%a, %x)
    %s = f32[64] reduce_sum(%b) {dims=[0]} return %s)"),
              ElementsAre("exp>add>reduce_sum"));
}

TEST(Chains, EndWhereAResultIsThereOnlyWhenAllTasksAreDone) {
  EXPECT_THAT(chains_of(R"(
    %x = f32[64,64] input() %a = f32[64,64] exp(%x) %s = f32[64] reduce_sum(%a) {dims=[0]}
    %n = f32[64] negate(%s) %b = f32[64,64] broadcast(%n) {dims=[1], shape=[64,64]}
    %c = f32[64,64] abs(%b) return %c)"),
              ElementsAre("exp>reduce_sum", "negate>broadcast>abs"));
}

TEST(Chains, EndBeforeACommandThatReadsAllOfWhatIsWrittenInParts) {
  EXPECT_THAT(chains_of(R"(
    %x = f32[64,64] input() %a = f32[64,64] exp(%x) %t = f32[64,64] transpose(%a) {dims=[1,0]}
    %b = f32[64,64] negate(%t) return %b)"),
              ElementsAre("exp", "transpose>negate"));
}

TEST(Chains, KeepSmallCommandsBetween) {
  // A row of %a is worked on, by one task, before what reads all of it.
  EXPECT_THAT(chains_of(R"(
    %x = f32[64,64] input() %a = f32[64,64] exp(%x)
    %l = f32[1,64] slice(%a) {start=[32,0], limit=[33,64], stride=[1,1]}
    %m = f32[1,64] negate(%l) %v = f32[64] reshape(%m) {shape=[64]}
    %b = f32[64,64] broadcast(%v) {dims=[1], shape=[64,64]} %c = f32[64,64] add(%a, %b)
    return %c)"),
              ElementsAre("exp>negate>broadcast>add"))
      << "the row is a view of %a";
}

TEST(Chains, OfSmallCommandsAloneAreNone) {
  EXPECT_THAT(chains_of(R"(
    %x = f32[64] input() %a = f32[64] exp(%x) %b = f32[64] negate(%a) return %b)"),
              ElementsAre("exp", "negate"));
}

TEST(Chains, DoNotTakeCommandsThatReadNothingOfThem) {
  EXPECT_THAT(chains_of(R"(
    %x = f32[64,64] input() %y = f32[64,64] input() %a = f32[64,64] exp(%x)
    %b = f32[64,64] negate(%y) %c = f32[64,64] add(%a, %b) return %c)"),
              ElementsAre("exp", "negate>add"))
      << "what was written before the chain began is there";
}

TEST(Chains, DoNotTakeBundlesOfSeveralCommands) {
  EXPECT_THAT(chains_of(R"(
    %x = f32[64,64] input() %a = f32[64,64] exp(%x) %b = f32[64,64] abs(%x)
    %c = f32[64,64] add(%a, %b) return %c)",
                        "any"),
              ElementsAre("exp+abs", "add"));
}

TEST(Chains, DoNotTakeWhatHasNoTasks) {
  EXPECT_THAT(chains_of(R"(
    %x = f32[64,64] input() %i = i32[64] input() %a = f32[64,64] exp(%x)
    %g = f32[64,64] gather(%a, %i) {axis=0} %b = f32[64,64] negate(%g) return %b)"),
              ElementsAre("exp", "gather", "negate"));
}

TEST(Chains, DoNotReadWhatTheyReplace) {
  EXPECT_THAT(chains_of(R"(
    %x = f32[64,64] input() %a = f32[64,64] exp(%x) %b = f32[64,64] negate(%a)
    return %b update 0 -> %x)"),
              ElementsAre("exp", "negate"));
}

TEST(Chains, EndWherePartsDoNotFitACache) {
  EXPECT_THAT(chains_of(R"(
    %x = f32[2048,1024] input() %a = f32[2048,1024] exp(%x) %b = f32[2048,1024] negate(%a)
    return %b)"),
              ElementsAre("exp", "negate"));
}

TEST(Chains, AreBounded) {
  std::string text = "%x0 = f32[64,64] input()\n";
  for (std::size_t i = 0; i < kMaxChain + 2; ++i)
    text += "%x" + std::to_string(i + 1) + " = f32[64,64] negate(%x" + std::to_string(i) + ")\n";
  text += "return %x" + std::to_string(kMaxChain + 2);
  EXPECT_EQ(chains_of(text).size(), 2U);
}

}  // namespace
}  // namespace lockstep

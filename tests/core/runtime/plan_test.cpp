// The facts about its node in a command.
#include "core/runtime/plan.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "core/ir/op.h"

namespace lockstep {
namespace {

std::set<std::string_view> ops_of(std::optional<CommandKind> kind) {
  std::set<std::string_view> out;
  for (const OpInfo& info : op_table())
    if (command_kind(info.op) == kind) out.insert(info.name);
  return out;
}

TEST(CommandKind, IsAKernelForAllThatIsNothingElse) {
  using Names = std::set<std::string_view>;
  EXPECT_EQ(ops_of(std::nullopt), (Names{"input", "constant", "reshape", "optimization_barrier",
                                         "call", "group_result", "all_reduce"}));
  EXPECT_EQ(ops_of(CommandKind::kCopy), (Names{})) << "they are outputs that lie elsewhere";
  EXPECT_EQ(ops_of(CommandKind::kHostCall), (Names{"host_call"}));
  EXPECT_EQ(ops_of(CommandKind::kCollective),
            (Names{"replica_id", "reduce_scatter", "all_gather", "collective_broadcast"}));
}

TEST(WorkClass, HasANameForEveryClass) {
  std::set<std::string_view> names;
  for (int i = 0; i < kWorkClassCount; ++i) names.insert(name_of(static_cast<WorkClass>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kWorkClassCount));
}

}  // namespace
}  // namespace lockstep

#include "trainer/job/instruction_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "core/kernels/base/libraries.h"
#include "trainer/job/agreement.h"
#include "trainer/machine/machine.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

/// The smaller of both.
MaxIsa within_both(MaxIsa a, MaxIsa b) {
  if (a == MaxIsa::kAuto || b == MaxIsa::kAuto) return a == MaxIsa::kAuto ? b : a;
  return a == b ? a : MaxIsa::kAvx2;
}

/// Each includes the previous ones, so that the minimum of several is what they have in common.
VectorUnits units_of(const Target& target) {
  if (target.isa == Isa::kAvx2) return VectorUnits::kAvx2;
  switch (target.bf16) {
    case Bf16Units::kNone: return VectorUnits::kAvx512;
    case Bf16Units::kVectors: return VectorUnits::kAvx512Bf16;
    case Bf16Units::kTiles: return VectorUnits::kAmx;
  }
  __builtin_unreachable();
}

Target target_of(VectorUnits units) {
  switch (units) {
    case VectorUnits::kAvx2: return {Isa::kAvx2, Bf16Units::kNone};
    case VectorUnits::kAvx512: return {Isa::kAvx512, Bf16Units::kNone};
    case VectorUnits::kAvx512Bf16: return {Isa::kAvx512, Bf16Units::kVectors};
    case VectorUnits::kAmx: return {Isa::kAvx512, Bf16Units::kTiles};
  }
  __builtin_unreachable();
}

}  // namespace

std::string name_of(const Target& target) {
  switch (units_of(target)) {
    case VectorUnits::kAvx2: return "AVX2";
    case VectorUnits::kAvx512: return "AVX-512";
    case VectorUnits::kAvx512Bf16: return "AVX-512 with bf16";
    case VectorUnits::kAmx: return "AVX-512 with AMX";
  }
  __builtin_unreachable();
}

InstructionSet agree_on_instruction_set(Communicator& communicator, MaxIsa max,
                                        const Settings& settings, Log& log) {
  const VectorUnits own = units_of(host_target(within_both(max, settings.max_isa)));
  const VectorUnits claimed = settings.pretended_units.value_or(own);
  const Json mine{static_cast<int>(claimed), processor().name};
  std::vector<VectorUnits> units;
  std::set<std::string> models;
  for (const std::string& text : communicator.exchange(
           "instruction set", mine.dump(-1, ' ', false, Json::error_handler_t::replace))) {
    const Json theirs = Json::parse(text);
    units.push_back(static_cast<VectorUnits>(theirs.at(0).get<int>()));
    models.insert(theirs.at(1));
  }
  const auto [least, most] = std::minmax_element(units.begin(), units.end());
  if (*least != *most) {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < units.size(); ++rank)
      if (units[rank] == *least) ranks.push_back(static_cast<int>(rank));
    log.info("kernels of all ranks use {}, not {}: {} {} no wider units",
             name_of(target_of(*least)), name_of(target_of(*most)), list_ranks(ranks),
             ranks.size() == 1 ? "has" : "have");
  }
  LS_USER_CHECK(
      *least <= own,
      "the ranks agreed on {}, but this processor has only {}: LOCKSTEP_PRETEND_ISA is too high",
      name_of(target_of(*least)), name_of(target_of(own)));
  const Target target = target_of(*least);
  limit_onednn(target);
  return {target, {models.begin(), models.end()}};
}

}  // namespace lockstep

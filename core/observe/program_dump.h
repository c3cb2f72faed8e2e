// Programs as text files in a folder, for debugging: every program that is compiled or loaded from
// the disk cache, as recorded and as compiled.
//
//   <name>.recorded.ir   the step as it was recorded
//   <name>.gradient.ir      the gradient program after all passes, if there is one
//   <name>.update.ir     the update program, likewise
//   <name>.plan.txt      both plans (plan_text.h)
//
// `lockstep ir print|run` read the .ir files. Files of the same name are replaced, others are not
// touched. Used by the host's thread.
#pragma once

#include <string>
#include <string_view>

#include "core/base/log.h"

namespace lockstep {

struct CompiledStep;

class ProgramDump {
 public:
  /// Makes the folder; with an empty name nothing is ever written. Error kUsage, naming
  /// LOCKSTEP_DUMP_DIR, if the folder is not writable.
  ProgramDump(std::string folder, Log& log);

  bool enabled() const { return !folder_.empty(); }
  /// `about` is a comment at the top of each file. The first failure is logged as a warning.
  void write(const std::string& name, const CompiledStep& step, std::string_view about);

 private:
  std::string folder_;
  Log& log_;
  bool warned_ = false;
};

}  // namespace lockstep

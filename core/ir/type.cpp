#include "core/ir/type.h"

namespace lockstep {

std::string Type::to_string() const {
  return std::string(lockstep::name_of(dtype)) + shape.to_string();
}

}  // namespace lockstep

#include "trainer/registry/row.h"

#include <sstream>

namespace lockstep {

bool DatasetRow::can_give(std::string_view inputs) const {
  if (inputs.empty()) return true;
  std::istringstream words(gives);
  for (std::string word; words >> word;)
    if (word == inputs) return true;
  return false;
}

}  // namespace lockstep

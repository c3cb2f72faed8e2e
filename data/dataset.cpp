#include "data/dataset.h"

#include "core/base/error.h"

namespace lockstep {

void check_index(const Dataset& dataset, std::int64_t index) {
  LS_CHECK(index >= 0 && index < dataset.size(), "sample {} of a dataset of {} was asked for",
           index, dataset.size());
}

}  // namespace lockstep

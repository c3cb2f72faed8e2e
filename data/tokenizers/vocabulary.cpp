#include "data/tokenizers/vocabulary.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {

void check_ids(std::int64_t largest, std::size_t count, const JsonPlace& json) {
  if (largest > 4 * static_cast<std::int64_t>(count) + 65536)
    json.refuse(fmt::format("the id {} is far above the number of tokens, {}", largest, count));
}

Vocabulary::Vocabulary(const JsonPlace& json) {
  std::int32_t largest = -1;
  json.for_each_member([&](const std::string& token, const JsonPlace& id) {
    const std::int32_t number = id.number();
    largest = std::max(largest, number);
    longest_ = std::max(longest_, token.size());
    ids_.emplace(token, number);
  });
  check_ids(largest, ids_.size(), json);
  tokens_.resize(static_cast<std::size_t>(std::int64_t{largest} + 1), nullptr);
  for (const auto& [token, id] : ids_) {
    const std::string*& slot = tokens_[static_cast<std::size_t>(id)];
    if (slot != nullptr)
      json.refuse(fmt::format("the tokens \"{}\" and \"{}\" have the same id {}",
                              std::min(*slot, token), std::max(*slot, token), id));
    slot = &token;
  }
}

const std::string* Vocabulary::token(std::int32_t id) const {
  return id >= 0 && id < end_of_ids() ? tokens_[static_cast<std::size_t>(id)] : nullptr;
}

}  // namespace lockstep

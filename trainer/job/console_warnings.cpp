#include "trainer/job/console_warnings.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "trainer/job/agreement.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

/// A path may hold any bytes, but JSON is UTF-8.
std::string dump(const std::vector<std::string>& texts) {
  return texts.empty() ? "" : Json(texts).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> parse(const std::string& text) {
  return text.empty() ? std::vector<std::string>()
                      : Json::parse(text).get<std::vector<std::string>>();
}

}  // namespace

void ConsoleWarnings::add(std::string warning) {
  if (communicator_.size() == 1) return;
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kMaxKept) kept_.push_back(std::move(warning));
}

bool ConsoleWarnings::announce() {
  // The log of rank 0 is the console.
  if (communicator_.is_master_ordinal()) return false;
  const std::lock_guard lock(mutex_);
  return std::exchange(announced_, kept_.size()) < kept_.size();
}

void ConsoleWarnings::exchange() {
  if (communicator_.size() == 1) return;
  const std::vector<std::string> mine = [this] {
    const std::lock_guard lock(mutex_);
    announced_ = 0;
    return std::exchange(kept_, {});
  }();
  const std::vector<std::string> all = communicator_.exchange("warnings", dump(mine));
  if (!communicator_.is_master_ordinal()) return;
  std::vector<std::pair<std::string, std::vector<int>>> ranks_of;  // in the order of the ranks
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (const std::string& text : parse(all[rank])) {
      auto found = std::ranges::find(ranks_of, text, [](const auto& entry) { return entry.first; });
      if (found == ranks_of.end()) found = ranks_of.insert(found, {text, {}});
      std::vector<int>& ranks = found->second;
      if (ranks.empty() || ranks.back() != static_cast<int>(rank))
        ranks.push_back(static_cast<int>(rank));
    }
  for (const auto& [text, ranks] : ranks_of)
    if (ranks.front() != 0) log_.warn("{}: {}", list_ranks(ranks), text);
}

}  // namespace lockstep

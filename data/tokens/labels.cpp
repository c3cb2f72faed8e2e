#include "data/tokens/labels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/base/error.h"
#include "data/files/printable.h"

namespace lockstep {

std::vector<std::string> label_names(const TextDocuments& documents) {
  std::set<std::string> names;
  std::map<std::int64_t, std::string> integers;
  bool all_integers = true;
  for (const TextDocument& document : documents.all) {
    names.insert(document.label.name);
    const std::optional<std::int64_t>& integer = document.label.integer;
    all_integers = all_integers && integer.has_value();
    if (integer) integers.emplace(*integer, document.label.name);
  }
  std::vector<std::string> out;
  if (!all_integers) {
    out.assign(names.begin(), names.end());
  } else {
    for (const auto& [value, name] : integers) out.push_back(name);
  }
  return out;
}

void number_labels(TextDocuments& documents, std::span<const std::string> names,
                   std::string_view owner) {
  std::unordered_map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < names.size(); ++i)
    numbers.emplace(names[i], static_cast<std::int32_t>(i));
  for (TextDocument& document : documents.all) {
    const auto found = numbers.find(document.label.name);
    if (found == numbers.end())
      raise(ErrorKind::kData, "{}: the label '{}' is none of the {} labels of {}: {}",
            documents.place(document.place), printable(document.label.name), names.size(), owner,
            list_labels(names));
    document.label.number = found->second;
  }
}

std::string list_labels(std::span<const std::string> names) {
  constexpr std::size_t kMaxNames = 10;
  std::string out;
  for (const std::string& name : names.first(std::min(names.size(), kMaxNames)))
    out += fmt::format("{}'{}'", out.empty() ? "" : ", ", printable(name));
  if (names.size() > kMaxNames) out += fmt::format(" and {} more", names.size() - kMaxNames);
  return out;
}

}  // namespace lockstep

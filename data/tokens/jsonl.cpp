#include "data/tokens/jsonl.h"

#include <limits>

#include "core/base/error.h"
#include "core/base/json_place.h"
#include "data/files/lines.h"
#include "data/files/read_text.h"

namespace lockstep {
namespace {

JsonPlace member(const JsonPlace& object, const std::string& field, const char* key) {
  if (const auto found = object.find_any(field)) return *found;
  constexpr int kMaxNames = 20;
  std::string names;
  int count = 0;
  object.for_each_member([&](const std::string& name, const JsonPlace&) {
    if (++count <= kMaxNames) names += (names.empty() ? "" : ", ") + quote_json(name);
  });
  if (count > kMaxNames) names += fmt::format(" and {} more", count - kMaxNames);
  object.refuse(fmt::format("no field '{}' ({}); the object has: {}", field, key, names));
}

/// A text, or an integer of 64 bits.
DocumentLabel label_of(const JsonPlace& object, const JsonlOptions& options) {
  const JsonPlace value = member(object, options.label_field, "data.label_field");
  if (value.is_string()) {
    DocumentLabel out{.name = value.string()};
    if (out.name.empty()) value.refuse("a label must not be an empty text");
    return out;
  }
  if (!value.is_integer())
    value.refuse(fmt::format("must be a text or an integer, not {}", value.describe()));
  using Limits = std::numeric_limits<std::int64_t>;
  const auto integer = value.find_integer(Limits::min(), Limits::max());
  if (!integer) value.refuse(fmt::format("{} has more than 64 bits", value.describe()));
  return {.name = std::to_string(*integer), .integer = integer};
}

}  // namespace

TextDocuments read_jsonl(const std::vector<std::string>& paths, const JsonlOptions& options) {
  TextDocuments out{.files = paths, .all = {}};
  for (std::size_t file = 0; file < paths.size(); ++file) {
    const std::string text = read_text(paths[file]);
    const std::size_t before = out.all.size();
    std::int64_t lines = 0;
    for_each_line(text, [&](std::int64_t number, std::string_view line) {
      lines = number;
      if (is_blank(line)) return;
      const JsonPlace object =
          JsonPlace::parse(std::string(line), JsonSource{.name = paths[file], .line = number});
      if (!object.is_object())
        object.refuse(fmt::format("a line must be an object, not {}", object.describe()));
      TextDocument document{member(object, options.text_field, "data.text_field").string(),
                            {static_cast<std::int64_t>(file), number}};
      if (!options.pair_field.empty())
        document.second = member(object, options.pair_field, "data.text_pair_field").string();
      if (!options.label_field.empty()) document.label = label_of(object, options);
      out.all.push_back(std::move(document));
    });
    if (out.all.size() == before)
      raise(ErrorKind::kData, "{}: no documents in {} lines", paths[file], lines);
  }
  return out;
}

}  // namespace lockstep

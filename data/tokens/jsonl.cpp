#include "data/tokens/jsonl.h"

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

std::int32_t label_of(const JsonPlace& object, const JsonlOptions& options) {
  const JsonPlace value = member(object, options.label_field, "data.label_field");
  const std::int64_t classes = options.classes;
  if (!value.is_integer())
    value.refuse(fmt::format("must be an integer, not {}", value.describe()));
  const auto label = value.find_integer(0, classes - 1);
  if (!label)
    value.refuse(fmt::format("{} is not one of the model's {} classes, 0 to {}", value.describe(),
                             classes, classes - 1));
  return static_cast<std::int32_t>(*label);
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
      if (!options.label_field.empty()) document.label = label_of(object, options);
      out.all.push_back(std::move(document));
    });
    if (out.all.size() == before)
      raise(ErrorKind::kData, "{}: no documents in {} lines", paths[file], lines);
  }
  return out;
}

}  // namespace lockstep

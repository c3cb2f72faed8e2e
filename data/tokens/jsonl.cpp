#include "data/tokens/jsonl.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "data/files/read_text.h"
#include "data/tokens/text_lines.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// These throw Error(kData) without file and line.

Json object_of_line(std::string_view line) {
  Json object;
  try {
    object = Json::parse(line);
  } catch (const Json::parse_error& error) {
    raise(ErrorKind::kData, "not valid JSON at column {}", error.byte);
  }
  if (!object.is_object())
    raise(ErrorKind::kData, "a line must be a JSON object, but is a JSON {}", object.type_name());
  return object;
}

const Json& member(const Json& object, const std::string& field, const char* key) {
  const auto found = object.find(field);
  if (found != object.end()) return *found;
  std::string names;
  for (const auto& item : object.items()) names += (names.empty() ? "" : ", ") + item.key();
  raise(ErrorKind::kData, "no field '{}' ({}); the object has: {}", field, key, names);
}

std::string text_of(const Json& object, const std::string& field) {
  const Json& value = member(object, field, "data.text_field");
  if (!value.is_string())
    raise(ErrorKind::kData, "field '{}' is a JSON {}, not a string", field, value.type_name());
  return value.get<std::string>();
}

std::int32_t label_of(const Json& object, const JsonlOptions& options) {
  const Json& value = member(object, options.label_field, "data.label_field");
  if (!value.is_number_integer())
    raise(ErrorKind::kData, "field '{}' is {}, not an integer", options.label_field, value.dump());
  const bool in_range = value.is_number_unsigned() &&
                        value.get<std::uint64_t>() < static_cast<std::uint64_t>(options.classes);
  if (!in_range)
    raise(ErrorKind::kData, "label {} is not one of the model's {} classes, 0 to {}", value.dump(),
          options.classes, options.classes - 1);
  return value.get<std::int32_t>();
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
      try {
        const Json object = object_of_line(line);
        TextDocument document{text_of(object, options.text_field),
                              {static_cast<std::int64_t>(file), number}};
        if (!options.label_field.empty()) document.label = label_of(object, options);
        out.all.push_back(std::move(document));
      } catch (const Error& error) {
        throw Error(error.kind(), fmt::format("{}:{}: {}", paths[file], number, error.what()));
      }
    });
    if (out.all.size() == before)
      raise(ErrorKind::kData, "{}: no documents in {} lines", paths[file], lines);
  }
  return out;
}

}  // namespace lockstep

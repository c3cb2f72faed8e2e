#include "trainer/cli/text_inputs.h"

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "data/files/plain_text.h"
#include "data/files/printable.h"
#include "data/files/read_text.h"
#include "data/tokens/jsonl.h"

namespace lockstep {
namespace {

constexpr std::string_view kAsItIs = "--plain-text reads it as plain text";

bool has_json_name(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  return extension == ".jsonl" || extension == ".ndjson" || extension == ".json";
}

std::string plain_text(const std::string& path) {
  std::string out = read_text(path);
  if (const auto foreign = foreign_format(out))
    raise(ErrorKind::kData, "{}: {} and no text: {}; {}", printable(path), foreign->what,
          foreign->remedy, kAsItIs);
  if (has_json_name(path) || looks_like_jsonl(out))
    raise(ErrorKind::kData,
          "{}: JSON, so that its quotes and names of fields would also be learnt: --text-field "
          "NAME reads one field of each line's object; {}",
          printable(path), kAsItIs);
  return out;
}

/// The texts of a field, one or more lines each.
std::string text_of_field(const std::string& path, const std::string& field) {
  std::string out;
  try {
    for (const TextDocument& document : read_jsonl({path}, {.text_field = field}).all)
      out += document.text + "\n";
  } catch (const Error& error) {
    // Messages name the config key: replace it with the option.
    constexpr std::string_view kKey = "data.text_field";
    std::string message = error.what();
    if (const std::size_t at = message.find(kKey); at != std::string::npos)
      message.replace(at, kKey.size(), "--text-field");
    throw Error(error.kind(), message);
  }
  return out;
}

}  // namespace

std::vector<Option> text_input_options() {
  return {{"text-field", "NAME", "files are JSON Lines: read this field of each line's object"},
          {"plain-text", "", "read files as plain text, whatever they contain"}};
}

std::vector<TextInput> read_text_inputs(const Arguments& arguments) {
  const auto field = arguments.value("text-field");
  const bool as_it_is = arguments.has("plain-text");
  LS_USER_CHECK(!field || !as_it_is, "--text-field and --plain-text contradict each other");
  std::vector<TextInput> out;
  for (const std::string& path : arguments.positionals())
    out.push_back({path, field      ? text_of_field(path, *field)
                         : as_it_is ? read_text(path)
                                    : plain_text(path)});
  return out;
}

}  // namespace lockstep

#include "data/tokens/text_lines.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "data/files/plain_text.h"

namespace lockstep {
namespace {

void add_paragraphs(const std::string& text, std::int64_t file, std::vector<TextDocument>& out) {
  TextDocument paragraph;
  const auto end = [&] {
    if (!paragraph.text.empty()) out.push_back(std::exchange(paragraph, {}));
  };
  for_each_line(text, [&](std::int64_t number, std::string_view line) {
    if (is_blank(line)) return end();
    if (paragraph.text.empty()) {
      paragraph.place = {file, number};
    } else {
      paragraph.text += '\n';
    }
    paragraph.text += line;
  });
  end();
}

}  // namespace

void for_each_line(std::string_view text,
                   const std::function<void(std::int64_t, std::string_view)>& visit) {
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(++number, line);
  }
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\f\v") == std::string_view::npos;
}

TextDocuments read_text_documents(const std::vector<std::string>& paths, DocumentUnit unit) {
  TextDocuments out{.files = paths, .all = {}};
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto file = static_cast<std::int64_t>(i);
    const std::size_t before = out.all.size();
    std::string text = read_plain_text(paths[i]);
    switch (unit) {
      case DocumentUnit::kLine:
        for_each_line(text, [&](std::int64_t number, std::string_view line) {
          if (!is_blank(line)) out.all.push_back({std::string(line), {file, number}});
        });
        break;
      case DocumentUnit::kParagraph: add_paragraphs(text, file, out.all); break;
      case DocumentUnit::kFile: out.all.push_back({std::move(text), {file, 1}}); break;
    }
    if (out.all.size() == before)
      raise(ErrorKind::kData, "{}: no documents: every line is blank", paths[i]);
  }
  return out;
}

}  // namespace lockstep

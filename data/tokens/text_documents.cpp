#include "data/tokens/text_documents.h"

#include <utility>

#include "core/base/error.h"
#include "data/files/lines.h"
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

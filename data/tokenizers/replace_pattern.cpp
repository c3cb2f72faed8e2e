#include "data/tokenizers/replace_pattern.h"

#include "data/tokenizers/growth.h"

namespace lockstep {

Regex pattern_of(const JsonPlace& json) {
  const JsonPlace pattern = json.at("pattern");
  if (const auto text = pattern.find("String")) {
    pattern.allow_only({"String"});
    return Regex::of_literal(text->string());
  }
  if (const auto expression = pattern.find("Regex")) {
    pattern.allow_only({"Regex"});
    return {expression->string(), expression->place()};
  }
  pattern.refuse("neither 'String' nor 'Regex'");
}

ReplacePattern::ReplacePattern(const JsonPlace& json)
    : regex_(pattern_of(json)), content_(inserted_text(json.at("content"))) {
  json.allow_only({"pattern", "content"});
}

std::string ReplacePattern::apply(std::string_view text) const {
  if (text.empty()) return "";
  std::string out;
  out.reserve(text.size());
  std::size_t done = 0;
  regex_.for_each_match(text, [&](std::size_t begin, std::size_t end) {
    out += text.substr(done, begin - done);
    out += content_;
    done = end;
  });
  out += text.substr(done);
  return out;
}

}  // namespace lockstep

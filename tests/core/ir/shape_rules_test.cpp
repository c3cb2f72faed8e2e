// The shape rules of the op table say what the inference of types does: with numbers for its
// letters, each rule's operands and attributes give its result.
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/ir/infer.h"
#include "core/ir/infer_window.h"
#include "core/ir/op.h"

namespace lockstep {
namespace {

using RuleSizes = std::vector<std::int64_t>;

/// Numbers for letters: each letter has its own, and those have a place in which sizes must fit.
class RuleLetters {
 public:
  explicit RuleLetters(std::int64_t more) : more_(more) {
    values_ = {{"a", 59 + more}, {"b", 47},   {"c", 7},     {"d", 5},       {"s", 3},  {"n", 4},
               {"t", 2},         {"H", 17},   {"W", 23},    {"KH", 3},      {"KW", 4}, {"top", 2},
               {"bottom", 1},    {"left", 3}, {"right", 0}, {"G", 2 + more}};
  }
  std::int64_t operator[](const std::string& name) {
    if (name == "OH" || name == "OW") {
      const bool rows = name == "OH";
      return window_output_size(
          (*this)[rows ? "H" : "W"], (*this)[rows ? "KH" : "KW"], rows ? kStride[0] : kStride[1],
          rows ? (*this)["top"] + (*this)["bottom"] : (*this)["left"] + (*this)["right"], 1);
    }
    const auto [found, is_new] = values_.try_emplace(name, next_ + more_);
    if (is_new) next_ += 2;
    return found->second;
  }
  static constexpr std::array<std::int64_t, 2> kStride{2, 3};

 private:
  std::map<std::string, std::int64_t> values_;
  std::int64_t more_;
  std::int64_t next_ = 6;
};

/// Reads `operands -> result {attributes}` with numbers in the place of letters.
class ShapeRule {
 public:
  ShapeRule(std::string_view text, RuleLetters& letters) : text_(text), letters_(letters) {}

  Type operand(DType dtype) {
    for (const DType other : {DType::kI64, DType::kI32, DType::kBool})
      if (take(name_of(other))) dtype = other;
    return {dtype, Shape(list())};
  }
  RuleSizes list() {
    RuleSizes out;
    expect("[");
    while (!take("]")) {
      if (!out.empty()) expect(",");
      if (take("..."))
        out.insert(out.end(), {2, 3, 5});
      else
        out.push_back(sum());
    }
    return out;
  }
  std::int64_t sum() {
    std::int64_t out = product();
    for (;;)
      if (take("+"))
        out += product();
      else if (take("-"))
        out -= product();
      else
        return out;
  }
  std::string word() {
    skip();
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(text_[end]) != 0 || text_[end] == '_')) ++end;
    if (end == at_) throw std::invalid_argument("a word is missing at: " + rest());
    const std::string out(text_.substr(at_, end - at_));
    at_ = end;
    return out;
  }
  bool take(std::string_view what) {
    skip();
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  void expect(std::string_view what) {
    if (!take(what)) throw std::invalid_argument(std::string(what) + " is missing at: " + rest());
  }
  bool starts_with_list() {
    skip();
    return at_ < text_.size() && text_[at_] == '[';
  }
  std::string rest() const { return std::string(text_.substr(at_)); }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::int64_t product() {
    std::int64_t out = factor();
    while (take("*")) out *= factor();
    return out;
  }
  std::int64_t factor() {
    const std::string name = word();
    return std::isdigit(name[0]) != 0 ? std::stoll(name) : letters_[name];
  }

  std::string_view text_;
  std::size_t at_ = 0;
  RuleLetters& letters_;
};

DType accepted(const OpInfo& info) {
  switch (info.accepts) {
    case Accepts::kIntegers:
    case Accepts::kBits: return DType::kI32;
    case Accepts::kAny:
    case Accepts::kNumbers:
    case Accepts::kFloats:
    case Accepts::kSummable: return DType::kF32;
  }
  __builtin_unreachable();
}

/// Attributes of which a rule does not speak, as they do not change a shape or stand for windows.
void add_others(const OpInfo& info, RuleLetters& letters, Attrs& attrs) {
  for (int i = 0; i < kAttrCount; ++i) {
    const auto attr = static_cast<Attr>(i);
    if (!info.required.has(attr) || attrs.has(attr)) continue;
    if (attr == Attr::kStride)
      attrs.set(attr, IntView(RuleLetters::kStride));
    else if (attr == Attr::kDilation)
      attrs.set(attr, {1, 1});
    else if (attr == Attr::kPadding)
      attrs.set(attr,
                RuleSizes{letters["top"], letters["bottom"], letters["left"], letters["right"]});
    else if (attr == Attr::kTo)
      attrs.set_dtype(DType::kF32);
    else if (type_of(attr) == AttrType::kFloat)
      attrs.set_float(attr, 0);
    else if (attr == Attr::kStream || attr == Attr::kRoot)
      attrs.set_int(attr, 0);
    else
      throw std::invalid_argument("the rule lacks " + std::string(name_of(attr)));
  }
}

/// What is wrong with a rule for an op; empty: nothing.
std::string wrong_with(const OpInfo& info, std::string_view text, std::int64_t more) try {
  RuleLetters letters(more);
  ShapeRule rule(text, letters);
  std::vector<Type> operands;
  while (!rule.take("->")) {
    if (!operands.empty()) rule.expect(",");
    operands.push_back(rule.operand(accepted(info)));
  }
  const Shape stated(rule.list());
  Attrs attrs;
  if (rule.take("{")) do {
      const std::string name = rule.word();
      const std::optional<Attr> attr = parse_attr(name);
      if (!attr || !(info.required.has(*attr) || info.optional.has(*attr)))
        return "it has no attribute " + name;
      rule.expect("=");
      if (rule.starts_with_list())
        attrs.set(*attr, rule.list());
      else
        attrs.set_int(*attr, rule.sum());
    } while (rule.take(",") || !rule.take("}"));
  if (!rule.rest().empty()) return "too long: " + rule.rest();
  add_others(info, letters, attrs);
  const Shape inferred = infer_type(info.op, operands, attrs).shape;
  if (inferred == stated) return "";
  return "inferred " + inferred.to_string() + ", stated " + stated.to_string();
} catch (const std::exception& error) {
  return error.what();
}

TEST(ShapeRules, AgreeWithTheInference) {
  int checked = 0;
  for (const OpInfo& info : op_table()) {
    SCOPED_TRACE(info.name);
    if (info.gives == Gives::kNode || info.gives == Gives::kListed) {
      EXPECT_EQ(info.shapes,
                info.gives == Gives::kNode ? "-> stated by the node" : "-> the first of results");
      continue;
    }
    for (const std::int64_t more : {0, 1}) EXPECT_EQ(wrong_with(info, info.shapes, more), "");
    ++checked;
  }
  EXPECT_EQ(checked, kOpCount - 6);
}

TEST(ShapeRules, AreFoundIfTheyAreWrong) {
  const auto refused = [](Op op, std::string_view rule, std::string_view reason) {
    const std::string found = wrong_with(info_of(op), rule, 0);
    EXPECT_NE(found.find(reason), std::string::npos) << rule << ": " << found;
  };
  refused(Op::kTranspose, "[a,b,c] -> [a,c,b] {dims=[2,0,1]}",
          "inferred [7,59,47], stated [59,7,47]");
  refused(Op::kAdd, "[...], [a] -> [...]", "operands must have one shape");
  refused(Op::kMaxPool, "[N,C,H,W] -> [N,C,OW,OH] {window=[KH,KW]}", "inferred");
  refused(Op::kReduceSum, "[a,b] -> [a]", "the rule lacks dims");
  refused(Op::kReduceSum, "[a,b] -> [a] {axis=1}", "it has no attribute axis");
  refused(Op::kNegate, "[a] -> [a] or so", "too long");
  refused(Op::kNegate, "[a] [a]", ", is missing");
  refused(Op::kPad, "[a], i64[] -> [l+a+h] {low=[l], high=[h]}", "the value must be a scalar");
}

}  // namespace
}  // namespace lockstep

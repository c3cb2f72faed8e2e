#include "trainer/sweep/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "trainer/config/comma_list.h"

namespace lockstep {
namespace {

constexpr int kMostValues = 10'000;
constexpr std::string_view kForms =
    "write key=a,b,c or key=log:LOW..HIGH:COUNT or key=lin:LOW..HIGH:COUNT";

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

ValueRange parse_range(const std::string& word, std::string_view text, bool logarithmic) {
  ValueRange out{.logarithmic = logarithmic};
  const std::size_t dots = text.find("..");
  LS_USER_CHECK(dots != std::string_view::npos, "{}: a range has two ends; {}", word, kForms);
  std::string_view high = text.substr(dots + 2);
  if (const std::size_t colon = high.find(':'); colon != std::string_view::npos) {
    const auto count = whole_number<int>(high.substr(colon + 1));
    LS_USER_CHECK(count && *count >= 2 && *count <= kMostValues,
                  "{}: the count of a range is an integer from 2 to {}, not '{}'", word,
                  kMostValues, high.substr(colon + 1));
    out.count = *count;
    high = high.substr(0, colon);
  }
  const auto from = whole_number<double>(text.substr(0, dots)), to = whole_number<double>(high);
  LS_USER_CHECK(from && to && std::isfinite(*from) && std::isfinite(*to),
                "{}: the ends of a range are numbers, not '{}' and '{}'", word,
                text.substr(0, dots), high);
  LS_USER_CHECK(*from < *to, "{}: the range begins with {}, which is not below {}", word, *from,
                *to);
  LS_USER_CHECK(!logarithmic || *from > 0, "{}: a logarithmic range begins above 0, not with {}",
                word, *from);
  out.low = *from;
  out.high = *to;
  return out;
}

}  // namespace

std::string ValueRange::at(double part, bool whole) const {
  const double value = logarithmic ? low * std::pow(high / low, part) : low + (high - low) * part;
  if (whole) return fmt::format("{:.0f}", std::round(value));
  return fmt::format("{:.4g}", value);
}

std::vector<std::string> ValueRange::spaced(bool whole) const {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    std::string value = at(static_cast<double>(i) / (count - 1), whole);
    if (out.empty() || out.back() != value) out.push_back(std::move(value));
  }
  return out;
}

SweepAxis parse_axis(const std::string& word) {
  const std::size_t equals = word.find('=');
  LS_USER_CHECK(equals != std::string::npos && equals > 0 && equals + 1 < word.size(),
                "'{}' is no key with values; {}", word, kForms);
  SweepAxis out{.key = word.substr(0, equals)};
  const std::string_view text = std::string_view(word).substr(equals + 1);
  for (const bool logarithmic : {true, false})
    if (text.starts_with(logarithmic ? "log:" : "lin:")) {
      out.range = parse_range(word, text.substr(4), logarithmic);
      return out;
    }
  out.values = split_at_commas(text);
  for (auto value = out.values.begin(); value != out.values.end(); ++value) {
    LS_USER_CHECK(!value->empty(), "{}: a value is empty", word);
    LS_USER_CHECK(std::find(out.values.begin(), value, *value) == value, "{}: '{}' is listed twice",
                  word, *value);
  }
  return out;
}

}  // namespace lockstep

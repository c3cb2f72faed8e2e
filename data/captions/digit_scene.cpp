#include "data/captions/digit_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/base/error.h"
#include "data/tokenizers/tokenizer_documents.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMaxSceneDraws = 256;

/// Where a digit is, seen from the next one of a scene.
enum class SceneRelation : std::uint8_t { kLeftOf, kAbove, kBelow };
constexpr std::array<std::string_view, 3> kRelationWords = {"left of", "above", "below"};

std::string_view words_of(SceneRelation relation) {
  return kRelationWords[static_cast<std::size_t>(relation)];
}

/// Where the next digit is, seen from this one, for a vertical relation.
SceneRelation opposite(SceneRelation vertical) {
  return vertical == SceneRelation::kAbove ? SceneRelation::kBelow : SceneRelation::kAbove;
}

/// All boxes are of one size, so corners are as far apart as centres.
std::optional<SceneRelation> relation_of(const SceneDigit& one, const SceneDigit& next) {
  const std::int64_t right = next.x0 - one.x0;  // not negative
  const std::int64_t down = next.y0 - one.y0;
  if (right - std::abs(down) >= kClearPixels) return SceneRelation::kLeftOf;
  if (std::abs(down) - right < kClearPixels) return std::nullopt;
  return down > 0 ? SceneRelation::kAbove : SceneRelation::kBelow;
}

bool are_disjoint(const SceneDigit& one, const SceneDigit& other) {
  return one.x1 <= other.x0 || other.x1 <= one.x0 || one.y1 <= other.y0 || other.y1 <= one.y0;
}

bool has_caption(const DigitScene& scene) {
  for (std::size_t i = 0; i < scene.digits.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (!are_disjoint(scene.digits[i], scene.digits[j])) return false;
    if (i > 0 && !relation_of(scene.digits[i - 1], scene.digits[i])) return false;
  }
  return true;
}

/// Of the number `word` / 2^32 of `count`, rounded down.
std::int64_t part_of(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>(word * static_cast<std::uint64_t>(count) >> 32);
}

/// The caption of these digits; relations[i] is between digits i and i + 1.
std::string caption_text(std::span<const std::int32_t> digits,
                         std::span<const SceneRelation> relations) {
  std::string out = fmt::format("a {}", digits[0]);
  if (digits.size() > 1) out += fmt::format(" {} a {}", words_of(relations[0]), digits[1]);
  if (digits.size() < 3) return out;
  if (relations[1] == SceneRelation::kLeftOf)
    return out + fmt::format(" and it left of a {}", digits[2]);
  return out + fmt::format(" and a {} {} it", digits[2], words_of(opposite(relations[1])));
}

}  // namespace

void check_scene_size(const SceneSize& size) {
  const auto& [height, width, digit] = size;
  const bool in_a_row = std::min(height, width) >= digit && std::max(height, width) >= 3 * digit;
  LS_USER_CHECK(digit >= kClearPixels && (in_a_row || std::min(height, width) >= 2 * digit),
                "a canvas of {} x {} pixels has no room for three digits of {} x {} pixels; digits "
                "have at least {}",
                height, width, digit, digit, kClearPixels);
}

DigitScene draw_scene(const SceneSize& size, std::span<const std::int32_t> classes,
                      const RngKey& key) {
  LS_CHECK(!classes.empty(), "a scene without digits to choose from");
  std::array<std::uint32_t, 1 + kMaxSceneDigits> words;
  random_bits(key, 0, words);
  std::uint64_t position = words.size();
  for (std::int64_t count = 1 + part_of(words[0], kMaxSceneDigits);; --count) {
    for (std::int64_t attempt = 0; attempt < kMaxSceneDraws; ++attempt) {
      std::array<std::uint32_t, 2 * kMaxSceneDigits> places;
      random_bits(key, position, places);
      position += places.size();
      DigitScene out;
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const std::int64_t source = part_of(words[1 + i], std::ssize(classes));
        const std::int64_t x = part_of(places[2 * i], size.width - size.digit + 1);
        const std::int64_t y = part_of(places[2 * i + 1], size.height - size.digit + 1);
        out.digits.push_back({.digit = classes[static_cast<std::size_t>(source)],
                              .source = source,
                              .x0 = x,
                              .y0 = y,
                              .x1 = x + size.digit,
                              .y1 = y + size.digit});
      }
      std::ranges::sort(out.digits, {}, [](const SceneDigit& d) { return std::tuple(d.x0, d.y0); });
      if (has_caption(out)) return out;
    }
  }
}

std::string caption_of(const DigitScene& scene) {
  const std::size_t count = scene.digits.size();
  LS_CHECK(count >= 1 && count <= kMaxSceneDigits, "a scene of {} digits", count);
  std::vector<std::int32_t> digits;
  std::vector<SceneRelation> relations;
  for (std::size_t i = 0; i < count; ++i) {
    digits.push_back(scene.digits[i].digit);
    if (i == 0) continue;
    const auto relation = relation_of(scene.digits[i - 1], scene.digits[i]);
    LS_CHECK(relation.has_value(), "digits {} and {} of a scene have no clear relation", i - 1, i);
    relations.push_back(*relation);
  }
  return caption_text(digits, relations);
}

std::vector<std::string> scene_captions() {
  using enum SceneRelation;
  constexpr std::array<SceneRelation, 3> kAll = {kLeftOf, kAbove, kBelow};
  std::vector<std::string> out;
  for (std::int32_t a = 0; a < 10; ++a) {
    out.push_back(caption_text(std::array{a}, {}));
    for (std::int32_t b = 0; b < 10; ++b)
      for (const SceneRelation first : kAll) {
        out.push_back(caption_text(std::array{a, b}, std::array{first}));
        for (std::int32_t c = 0; c < 10; ++c)
          for (const SceneRelation second : kAll)
            out.push_back(caption_text(std::array{a, b, c}, std::array{first, second}));
      }
  }
  return out;
}

TokenizerPtr scene_tokenizer() {
  std::vector<std::string> tokens = {"[PAD]", "[BOS]", "[EOS]", "[UNK]", "a",    "and",
                                     "it",    "left",  "of",    "above", "below"};
  for (int digit = 0; digit < 10; ++digit) tokens.push_back(std::to_string(digit));
  return tokenizer_of_document(word_piece_document(tokens, /*lowercase=*/false, {"[BOS]", "[EOS]"}),
                               "the tokenizer of digit scenes");
}

}  // namespace lockstep

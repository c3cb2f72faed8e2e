// Scenes of one to three digits on a canvas, and the captions that describe them. A scene's caption
// is a function of its digits and their boxes:
//
//   caption    "a" D | pair | triple
//   pair       "a" D relation "a" D
//   triple     pair "and it left of a" D  |  pair "and a" D vertical "it"
//   relation   "left of" | vertical
//   vertical   "above" | "below"
//   D          "0" ... "9"
//
// Digits are named in the order of their centres from left to right, of equal ones from the top;
// so nothing is "right of". "a 3 above a 7" says where the first digit is as seen from the second
// one; "it" is the second digit, "and a 1 below it" is the third. Two digits in a row are related
// along the axis on which their centres are farther apart, by at least kClearPixels more than on
// the other one: "a 3 left of a 7 and a 1 above it". How the first and the third digit lie is not
// said.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "data/tokenizers/tokenizer.h"

namespace lockstep {

inline constexpr std::int64_t kClearPixels = 8;
inline constexpr std::int64_t kMaxSceneDigits = 3;

/// A digit in the box x0 <= x < x1, y0 <= y < y1 of the canvas.
struct SceneDigit {
  std::int32_t digit = 0;   ///< 0 to 9
  std::int64_t source = 0;  ///< the image of a digit that is shown
  std::int64_t x0 = 0;
  std::int64_t y0 = 0;
  std::int64_t x1 = 0;
  std::int64_t y1 = 0;
  friend bool operator==(const SceneDigit&, const SceneDigit&) = default;
};

/// In the order of the caption; boxes are disjoint and within the canvas.
struct DigitScene {
  std::vector<SceneDigit> digits;
  friend bool operator==(const DigitScene&, const DigitScene&) = default;
};

struct SceneSize {
  std::int64_t height = 64;
  std::int64_t width = 64;
  std::int64_t digit = 20;  ///< height and width of a digit, in pixels
};

/// Error kUsage unless three digits can be placed.
void check_scene_size(const SceneSize& size);

/// The scene named by `key`: a number of digits, uniform in 1 to 3, each with a source from 0 to
/// below classes.size(), which is of the digit classes[source], at uniform places. Places without a
/// caption or with common pixels are drawn again, at most 256 times; then there is a digit less.
DigitScene draw_scene(const SceneSize& size, std::span<const std::int32_t> classes,
                      const RngKey& key);

/// Error kInternal for a scene that has no caption.
std::string caption_of(const DigitScene& scene);

/// All captions that scenes can have.
std::vector<std::string> scene_captions();

/// A token for each word of the captions, and the special tokens [PAD], [BOS], [EOS] and [UNK].
/// decode(encode(caption)) is the caption.
TokenizerPtr scene_tokenizer();

}  // namespace lockstep

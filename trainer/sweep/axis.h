// One key of a sweep and the values that it takes:
//   model.n_layer=2,4,8                      a list; a comma within brackets is part of a value
//   optimizer.learning_rate=log:1e-4..1e-2:5 five values, each the same multiple of the one before
//   model.dropout=lin:0..0.4:5               five values at equal distances
//   training.max_steps=200                   one value, which all points have
// Values of a range are rounded to four significant digits, those of an integer key to integers.
// Without the count a range is one from which --random draws.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

struct ValueRange {
  bool logarithmic = false;
  double low = 0;
  double high = 0;
  int count = 0;  ///< of values; 0: none was given

  /// `count` values from `low` to `high`, in order; equal ones once. `whole`: integers.
  std::vector<std::string> spaced(bool whole) const;
  /// The value at `part` of the way from `low` to `high`, 0 <= part <= 1.
  std::string at(double part, bool whole) const;
};

struct SweepAxis {
  std::string key = {};                  ///< "optimizer.learning_rate"
  std::vector<std::string> values = {};  ///< of a list; empty for a range
  std::optional<ValueRange> range = {};

  /// Whether all points have the same value.
  bool is_fixed() const { return !range && values.size() == 1; }
};

/// Error kUsage for a word that is none of these, an empty value or one that is listed twice, a
/// range whose ends are no numbers or in the wrong order, and a logarithmic one that is not above
/// 0.
SweepAxis parse_axis(const std::string& word);

}  // namespace lockstep

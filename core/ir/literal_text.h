// Elements of literals as text: shortest decimals that read back to the same bits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"

namespace lockstep {

/// Element `i` of a tensor: "1.5", "-inf", "nan", "nan(0xffc00000)", "true", "7".
std::string print_element(const HostTensor& tensor, std::size_t i);

/// The shortest decimal of a double: for float attributes.
std::string print_double(double value);
std::optional<double> parse_double(std::string_view text);

/// Writes element `i` of a tensor from its text; false if the text is no value of the dtype.
bool parse_element(std::string_view text, const HostTensor& tensor, std::size_t i);

}  // namespace lockstep

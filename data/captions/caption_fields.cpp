#include "data/captions/caption_fields.h"

#include "core/base/error.h"
#include "data/tokens/document_dataset.h"

namespace lockstep {
namespace {

Shape caption_shape(std::int64_t length) {
  return Shape{Dim(length, "length")};
}

}  // namespace

std::vector<std::int32_t> caption_targets(std::string_view caption, const Tokenizer& tokenizer,
                                          const CaptionFrame& frame, const DocumentLimit& limit) {
  std::vector<std::int32_t> out = tokenizer.encode(caption);
  out.push_back(frame.end);
  const auto most = static_cast<std::size_t>(limit.tokens);
  if (most == 0 || out.size() <= most) return out;
  if (limit.on_too_long == OnTooLong::kError)
    raise(ErrorKind::kData,
          "a caption of {} tokens, its end included, but a sample takes at most {}: give a longer "
          "data.sequence_length, or data.on_too_long: truncate, which cuts off the end",
          out.size(), most);
  out.resize(most);
  return out;
}

std::vector<FieldSpec> caption_fields(std::int64_t longest, const CaptionFrame& frame) {
  const Shape shape = caption_shape(longest);
  return {{"tokens", DType::kI32, shape, true, static_cast<double>(frame.pad)},
          {"targets", DType::kI32, shape, true, kNoTarget}};
}

void add_caption(Sample& to, std::span<const std::int32_t> targets, const CaptionFrame& frame) {
  LS_CHECK(!targets.empty(), "a caption without targets");
  const Shape shape = caption_shape(std::ssize(targets));
  std::vector<std::int32_t> tokens = {frame.start};
  tokens.insert(tokens.end(), targets.begin(), targets.end() - 1);
  to["tokens"] = HostTensor::of(shape, tokens);
  to["targets"] = HostTensor::of(shape, targets);
}

std::map<std::string, std::int64_t> caption_lengths(std::int64_t length) {
  return {{"tokens", length}, {"targets", length}};
}

}  // namespace lockstep

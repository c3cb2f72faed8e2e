#include "data/captions/caption_dataset.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "data/files/printable.h"
#include "data/images/image_file.h"
#include "data/samples/digest.h"

namespace lockstep {
namespace {

void check_image_exists(const std::string& place, const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    raise(ErrorKind::kData, "{}: {}: no such image", place, printable(path));
}

}  // namespace

CaptionDataset::CaptionDataset(const CaptionFile& file, const Tokenizer& tokenizer,
                               CaptionOptions options)
    : name_(printable(file.path)),
      options_(std::move(options)),
      tensors_(options_.images.shape, options_.images.augmentation, options_.images.scaling) {
  images_.reserve(file.images.size());
  for (const CaptionedImage& image : file.images) add(file, image, tokenizer);
  LS_CHECK(!captions_.empty(), "{}: no captions", name_);
}

void CaptionDataset::add(const CaptionFile& file, const CaptionedImage& image,
                         const Tokenizer& tokenizer) {
  Image out{.name = image.name,
            .path = file.image_path(image),
            .place = file.place_of(image),
            .first = captions_.size(),
            .count = image.captions.size()};
  if (options_.images.on_bad_sample == OnBadSample::kError) check_image_exists(out.place, out.path);
  for (const Caption& caption : image.captions) {
    try {
      captions_.push_back(caption_targets(caption.text, tokenizer, options_.frame, options_.limit));
    } catch (const Error& error) {
      raise(error.kind(), "{}: {}", file.place_of(caption), error.what());
    }
    image_of_.push_back(std::ssize(images_));
    const std::int64_t length = std::ssize(captions_.back());
    out.shortest = out.shortest == 0 ? length : std::min(out.shortest, length);
    out.longest = std::max(out.longest, length);
  }
  longest_ = std::max(longest_, out.longest);
  images_.push_back(std::move(out));
}

std::int64_t CaptionDataset::size() const {
  return options_.unit == CaptionUnit::kImage ? std::ssize(images_) : std::ssize(captions_);
}

std::vector<FieldSpec> CaptionDataset::fields() const {
  std::vector<FieldSpec> out = caption_fields(longest_, options_.frame);
  out.push_back({"image", DType::kF32, tensors_.shape()});
  return out;
}

std::int64_t CaptionDataset::image_of_sample(std::int64_t index) const {
  check_index(*this, index);
  return options_.unit == CaptionUnit::kImage ? index : image_of_[static_cast<std::size_t>(index)];
}

Raster CaptionDataset::read(std::int64_t image) const {
  const Image& from = this->image(image);
  try {
    return read_image(from.path, options_.limits);
  } catch (const Error& error) {
    raise(error.kind(), "{}: {}", from.place, error.what());
  }
}

/// The image after `image` with a caption that is no longer.
std::int64_t CaptionDataset::next_no_longer(std::int64_t image, std::int64_t longest) const {
  do {
    image = (image + 1) % std::ssize(images_);
  } while (this->image(image).shortest > longest);  // ends: the sample's own image has such a one
  return image;
}

std::size_t CaptionDataset::drawn_caption(const Image& image, std::int64_t longest,
                                          std::int64_t index, const DrawKey& key) const {
  std::vector<std::size_t> fit;
  for (std::size_t i = image.first; i < image.first + image.count; ++i)
    if (std::ssize(captions_[i]) <= longest) fit.push_back(i);
  if (!key.epoch) return fit.front();
  const RngKey rng{.seed = key.seed,
                   .stream = rng_stream("captions", static_cast<std::uint64_t>(index)),
                   .step = static_cast<std::uint64_t>(*key.epoch)};
  return fit[random_word(rng, 0) * std::uint64_t{fit.size()} >> 32];
}

Sample CaptionDataset::draw(std::int64_t index, const DrawKey& key) const {
  const std::int64_t own = image_of_sample(index);
  const std::int64_t longest = lengths(index).at("tokens");
  auto [at, stored] = find_image(
      own, options_.images.on_bad_sample, key, [&](std::int64_t i) { return read(i); },
      [&](std::int64_t i) { return next_no_longer(i, longest); });
  const bool is_given = options_.unit == CaptionUnit::kCaption && at == own;
  const std::size_t caption =
      is_given ? static_cast<std::size_t>(index) : drawn_caption(image(at), longest, index, key);
  Sample out = {{"image", stored ? tensors_.of(std::move(*stored), index, key) : tensors_.blank()}};
  add_caption(out, captions_[caption], options_.frame);
  return out;
}

std::map<std::string, std::int64_t> CaptionDataset::lengths(std::int64_t index) const {
  const Image& own = image(image_of_sample(index));
  return caption_lengths(options_.unit == CaptionUnit::kImage
                             ? own.longest
                             : std::ssize(captions_[static_cast<std::size_t>(index)]));
}

std::string CaptionDataset::digest() const {
  Sha256 hash;
  const auto add_number = [&](std::uint64_t number) { hash.update(&number, sizeof number); };
  std::vector<std::string> paths;
  for (const Image& image : images_) {
    add_number(image.name.size());
    hash.update(image.name.data(), image.name.size());
    add_number(image_file_size(image.path));
    add_number(image.count);
    paths.push_back(image.path);
  }
  for (const std::vector<std::int32_t>& targets : captions_) {
    add_number(targets.size());
    hash.update(targets.data(), targets.size() * sizeof targets[0]);
  }
  return finish_hex(hash) + "-" + hash_image_files(paths).hex();
}

std::string CaptionDataset::describe() const {
  return fmt::format("{}: {} images with {} captions of at most {} tokens", name_, images_.size(),
                     captions_.size(), longest_);
}

std::string CaptionDataset::source(std::int64_t index) const {
  return printable(image(image_of_sample(index)).path);
}

double CaptionDataset::mean_length() const {
  double sum = 0;
  for (const std::vector<std::int32_t>& targets : captions_)
    sum += static_cast<double>(targets.size());
  return sum / static_cast<double>(captions_.size());
}

}  // namespace lockstep

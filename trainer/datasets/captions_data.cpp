#include "trainer/datasets/captions_data.h"

#include <cmath>
#include <memory>

#include "core/base/error.h"
#include "data/captions/caption_dataset.h"
#include "trainer/datasets/caption_tokens.h"

namespace lockstep {
namespace {

std::vector<std::string> files_to_train_on(const std::string& path, const void* settings) {
  return files_of_captions(path, static_cast<const CaptionsData*>(settings)->image_folder);
}

std::vector<std::string> files_to_validate_on(const std::string& path, const void* settings) {
  return files_of_captions(path, static_cast<const CaptionsData*>(settings)->val_image_folder);
}

}  // namespace

std::vector<Key> CaptionsData::keys() {
  std::vector<Key> out = {
      {.name = "path",
       .member = bind<&CaptionsData::path>(),
       .doc = "File to train on: JSON Lines with an image and its caption or captions on each "
              "line, or captions in COCO's format.",
       .required = true,
       .per_rank = true,
       .file = true,
       .files_in = files_to_train_on},
      {.name = "images",
       .member = bind<&CaptionsData::image_folder>(),
       .doc = "Folder of the images that data.path names; \"\": the folder of that file.",
       .may_be_empty = true,
       .per_rank = true},
      {.name = "val_path",
       .member = bind<&CaptionsData::val_path>(),
       .doc = "File of captions to validate on; each caption is a sample.",
       .may_be_empty = true,
       .per_rank = true,
       .file = true,
       .files_in = files_to_validate_on},
      {.name = "val_images",
       .member = bind<&CaptionsData::val_image_folder>(),
       .doc = "Folder of the images that data.val_path names; \"\": the folder of that file.",
       .may_be_empty = true,
       .per_rank = true},
      {.name = "on_too_long",
       .member = bind<&CaptionsData::on_too_long>(),
       .doc = "A caption that is longer than the sequence length is an error, or is truncated."},
      on_bad_sample_key<CaptionsData>(),
      max_pixels_key<CaptionsData>(),
      file_size_key<CaptionsData>()};
  add_image_keys<CaptionsData>(out);
  return out;
}

void CaptionsData::check(const Config& run, const ReportProblem& report) const {
  if (run.tokenizer.type == TokenizerType::kNone)
    report({"tokenizer.type", "data.type", "model.name"},
           "missing required key 'tokenizer.type': captions data needs one (char, gpt2 or file)");
  if (images.soft_labels.mixup > 0 || images.soft_labels.smoothing > 0)
    report(
        {images.soft_labels.mixup > 0 ? "data.mixup" : "data.label_smoothing", "data.type"},
        "'data.mixup' and 'data.label_smoothing' are for models that classify, not for captions");
  check_images(images, run, report);
  check_val_path(val_path.empty(), run, report);
}

DataSource CaptionsData::open(const OpenContext& context) const {
  const DataNeeds& needs = context.needs;
  const Shape shape = images.shape_for(needs.image);
  check_channels_of_files(shape[0], "the model");
  CaptionOptions options{.images = images.options(shape, 0),
                         .limits = images.limits(),
                         .limit = {.tokens = context.sequence_length, .on_too_long = on_too_long}};
  options.images.on_bad_sample = on_bad_sample;
  const CaptionFile captions = read_captions(path, image_folder);
  // As for documents, the characters are those of the file to train on.
  const TokenizerPtr tokenizer = context.open_tokenizer(path, captions.text());
  options.frame = caption_frame(needs, *tokenizer);
  const auto train = std::make_shared<CaptionDataset>(captions, *tokenizer, options);
  DataSource out{.train = train,
                 .tokenizer = tokenizer,
                 .vocab_size = tokenizer->vocab_size(),
                 .tokens_per_sample = std::llround(train->mean_length())};
  if (!val_path.empty()) {
    options.unit = CaptionUnit::kCaption;
    out.validation = std::make_shared<CaptionDataset>(read_captions(val_path, val_image_folder),
                                                      *tokenizer, options);
  }
  return out;
}

}  // namespace lockstep

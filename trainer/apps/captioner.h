// Captions of images by a model that sees images.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "data/samples/dataset.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/settings/config.h"
#include "trainer/task/data_needs.h"
#include "trainer/task/model.h"

namespace lockstep {

class Captioner {
 public:
  /// `sample`: how captions are generated; those of beam search if num_beams is above 1, else
  /// drawn. Engine, model and tokenizer must outlive it. Error kUsage if neither model nor
  /// tokenizer have tokens around captions.
  Captioner(Engine& engine, const Model& model, DType compute_dtype, const DataNeeds& needs,
            const Tokenizer& tokenizer, SampleConfig sample);

  /// The captions of `inputs`, the field "image" [n,C,H,W]: num_samples of each image, the best
  /// first with beam search. A caption ends with the end token, after max_new_tokens, or where the
  /// model's positions end. `first`: the number of the first image among all that are captioned,
  /// which draws depend on. One program serves all batches of one size.
  std::vector<std::vector<std::string>> captions(HostBatch inputs, std::int64_t first) const;

 private:
  bool searches() const { return sample_.num_beams > 1; }
  std::string text_of(const std::vector<std::int32_t>& tokens) const;

  Engine& engine_;
  const Model& model_;
  DType compute_dtype_;
  std::int64_t length_;
  const Tokenizer& tokenizer_;
  SampleConfig sample_;
  std::vector<std::int32_t> prompt_;  ///< the start token and those of sample.prompt
  std::int32_t end_ = 0;
};

struct ImageBatch {
  HostBatch fields;                  ///< "image"
  std::vector<std::string> skipped;  ///< why one could not be read, and is black; "": it could
};
/// The images [first, first + count) of a dataset, as in an evaluation; the last one again where
/// there are no more, so that batches are of one size. Error kData for one that cannot be read,
/// unless the dataset skips it.
ImageBatch image_batch(const Dataset& images, std::int64_t first, std::int64_t count);

}  // namespace lockstep

// A dataset returns samples by index. Order, shuffling and batching are done elsewhere (see
// sampler.h, collate.h, loader.h), so a dataset is a pure function of the index and its files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/api.h"
#include "core/base/buffer.h"
#include "core/base/dtype.h"
#include "core/base/shape.h"

namespace LOCKSTEP_API lockstep {

/// Named tensors of one sample: {"tokens": i32 [T], "targets": i32 [T]} for text,
/// {"image": f32 [C,H,W], "label": i32 []} for images.
using Sample = std::map<std::string, HostTensor>;

/// Named tensors of several samples, stacked along a new leading dimension.
using HostBatch = std::map<std::string, HostTensor>;

/// The type of a field, the same for every sample; known without fetching one.
struct FieldSpec {
  std::string name;           ///< in Sample and in Batch
  DType dtype = DType::kF32;  ///< of the elements
  /// Its dimensions may have names, Shape{{32, "boxes"}, 4}; reports about recompilation use them,
  /// "batch.boxes[boxes]: 17 -> 23".
  Shape shape = {};
  /// Dimension 0 differs from sample to sample; shape[0] is then its maximum. Its default name is
  /// "length".
  bool variable_length = false;
  double pad_value = 0;  ///< value of padding, unless Padding::pad_values sets another
};

/// What a sample that is drawn anew each time (masked words, an augmented image) depends on besides
/// its index, so that a resume, other ranks and other workers draw the same one.
struct DrawKey {
  std::uint64_t seed = 0;  ///< of the run
  /// Nothing in an evaluation, where a sample is the same each time.
  std::optional<std::int64_t> epoch = {};
  /// Receives the reason for each sample that could not be read and was replaced by another one;
  /// null: nobody receives them.
  std::vector<std::string>* skipped = nullptr;
};

/// Samples by index, a pure function of the index and the dataset's files.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;              ///< number of samples
  virtual std::vector<FieldSpec> fields() const = 0;  ///< of every sample

  /// Sample `index` in [0, size()). Thread-safe. Error kData naming the file if it cannot be read.
  virtual Sample get(std::int64_t index) const = 0;

  /// Sample `index` as a run uses it. The default is get(index), whatever the key. An override that
  /// draws random numbers (core/base/rng.h) depends only on index and key. Thread-safe, errors as
  /// get().
  virtual Sample draw(std::int64_t index, const DrawKey& key) const;

  /// Mixes samples that were drawn with `key` and train together, in their order: the samples of
  /// one micro-batch, so that the result is the same on any number of ranks. The default changes
  /// nothing. It keeps the fields' types and shapes. Thread-safe, errors as get().
  virtual void mix(std::span<Sample> samples, std::span<const std::int64_t> indices,
                   const DrawKey& key) const;

  /// Size of dimension 0 in sample `index`, by field of variable length, independent of random
  /// draws. Thread-safe. Called for every sample of a step that is padded to its longest; the
  /// default gets the sample.
  virtual std::map<std::string, std::int64_t> lengths(std::int64_t index) const;

  /// SHA-256 (hexadecimal) of the contents that get() can return; independent of paths and file
  /// times. Reads everything once: the default gets every sample.
  virtual std::string digest() const;

  /// One line for users: what it is, where it comes from, how much there is.
  virtual std::string describe() const;

  /// The file that sample `index` comes from; the default is empty, for none.
  virtual std::string source(std::int64_t index) const;
};

using DatasetPtr = std::shared_ptr<const Dataset>;  ///< a dataset shared by loaders

/// Error kInternal unless `index` is a sample of `dataset`.
void check_index(const Dataset& dataset, std::int64_t index);

}  // namespace lockstep

// A dataset gives samples by index. Order, shuffling and batching are somebody else's business (see
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

/// What a field of every sample looks like, known without fetching one.
struct FieldSpec {
  std::string name;
  DType dtype = DType::kF32;
  /// Its dimensions may have names, Shape{{32, "boxes"}, 4}: what recompiled is told by them,
  /// "batch.boxes[boxes]: 17 -> 23".
  Shape shape;
  /// Dimension 0 differs from sample to sample; shape[0] is then its maximum. Without a name it is
  /// called "length".
  bool variable_length = false;
  double pad_value = 0;  ///< what padding is filled with, unless Padding::pad_values says otherwise
};

/// What a sample that is made anew whenever it comes up (masked words, an augmented image) depends
/// on besides its index, so that a resume, other ranks and other workers make the same one.
struct DrawKey {
  std::uint64_t seed = 0;
  /// Nothing in an evaluation, where a sample is the same each time.
  std::optional<std::int64_t> epoch = {};
  /// Is told of each sample that could not be read, where another took its place, what is wrong
  /// with it; null: nobody is.
  std::vector<std::string>* skipped = nullptr;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;
  virtual std::vector<FieldSpec> fields() const = 0;

  /// Sample `index` in [0, size()). Thread-safe. Error kData naming the file if it cannot be had.
  virtual Sample get(std::int64_t index) const = 0;

  /// What a run is given of sample `index`. As it stands, get(index), whatever the key; who draws
  /// (by core/base/rng.h) depends on nothing but index and key. Thread-safe, errors as get().
  virtual Sample draw(std::int64_t index, const DrawKey& key) const;

  /// What samples make of each other that were drawn with `key` and train together, in their order:
  /// those of one logical shard, so that it is the same on any number of ranks. As it stands,
  /// nothing. It keeps the fields' types and shapes. Thread-safe, errors as get().
  virtual void mix(std::span<Sample> samples, std::span<const std::int64_t> indices,
                   const DrawKey& key) const;

  /// What dimension 0 of the fields of variable length is in sample `index`, by field, whatever is
  /// drawn. Thread-safe.
  /// Asked of every sample of a step that is padded to its longest; as it stands, it gets the
  /// sample.
  virtual std::map<std::string, std::int64_t> lengths(std::int64_t index) const;

  /// SHA-256 (hexadecimal) of the contents that get() can return; independent of paths and file
  /// times. Reads everything once: as it stands, it gets every sample.
  virtual std::string digest() const;

  /// One line for people: what it is, where it comes from, how much there is.
  virtual std::string describe() const;

  /// The file sample `index` comes from; empty, as it stands, if none.
  virtual std::string source(std::int64_t index) const;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

/// Error kInternal unless `index` is a sample of `dataset`.
void check_index(const Dataset& dataset, std::int64_t index);

}  // namespace lockstep

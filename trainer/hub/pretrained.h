// Given values, matched with a model that starts from them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "trainer/hub/grow_positions.h"
#include "trainer/hub/hub_format.h"
#include "trainer/hub/weight_source.h"

namespace lockstep {

/// How values are made to fit.
struct FitOptions {
  /// The source's values must be exactly the model's; false takes those that fit.
  bool strict = true;
  GrowPositions grow_positions = GrowPositions::kNone;
  /// For each token of the model its row in the source, -1 for a token that the source does not
  /// have; empty: both have the same vocabulary.
  std::vector<std::int64_t> token_rows = {};
  std::string part = {};  ///< only of parameters and buffers whose names begin so
  std::string lenient = "'model.strict: false'";  ///< what sets `strict` to false, for messages
};

class Pretrained {
 public:
  /// Matches the source's tensors with the model's parameters and buffers. Error kCheckpoint that
  /// lists every tensor that is missing, surplus, of another shape or type, or not what it is tied
  /// to; with `strict` false only files that cannot be read are errors.
  Pretrained(WeightSource source, const HubFormat& format, const Module& model, FitOptions options);

  /// Reads the value of a parameter or buffer, in its dtype; nothing if it must be drawn. The row
  /// of a token that the source does not have is the mean of the source's rows (J. Hewitt,
  /// "Initializing new word embeddings for pretrained language models", 2021).
  std::optional<HostTensor> value(const std::string& name) const;

  /// Describes which tensors were used, changed and not used, in lines for the log.
  std::vector<std::string> describe() const;

 private:
  enum class Change : std::uint8_t { kNone, kTokens, kTextPositions, kImagePositions };
  struct Taken {
    SourceTensor tensor;
    Shape shape;  ///< of the model
    Change change;
  };
  using Tensors = std::map<std::string, SourceTensor>;

  Tensors named_as_parameters(const HubFormat& format);
  void join_tied(const HubFormat& format, const ParameterSet& parameters, Tensors& tensors);
  /// Takes the tensor of the model's `type` from `tensors`, or records why it cannot.
  void take(const std::string& name, const Type& type, const HubFormat& format, Tensors& tensors);
  /// How a value gets the model's shape; nothing if it cannot.
  std::optional<Change> change_of(const std::string& name, const Shape& from, const Shape& to,
                                  const HubFormat& format) const;
  HostTensor with_token_rows(const HostTensor& from, const Shape& shape) const;

  std::string path_;
  FitOptions options_;
  Tensors source_;
  std::map<std::string, Taken> taken_;  ///< by the parameter's name
  std::int64_t elements_ = 0;           ///< of those
  std::vector<std::string> missing_;
  std::vector<std::string> surplus_;
  std::vector<std::string> unfit_;    ///< why a tensor of the right name is not used
  std::vector<std::string> changed_;  ///< what was made to fit
};

}  // namespace lockstep

// The weights of a Hugging Face folder, held against a model that is to begin with them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/safetensors_folder.h"
#include "core/nn/module.h"
#include "trainer/hub/hub_format.h"

namespace lockstep {

class Pretrained {
 public:
  /// Matches the files' tensors with the model's parameters and buffers. Error kCheckpoint that
  /// lists every tensor that is missing, surplus, of another shape or type, or not what it is tied
  /// to; with `strict` false only files that cannot be read are errors.
  Pretrained(const std::string& folder, const HubFormat& format, const Module& model, bool strict);

  /// The value of a parameter or buffer, of its dtype, read now; nothing if it is to be drawn.
  std::optional<HostTensor> value(const std::string& name) const;

  /// What was taken, and what else there was, in lines for the log.
  std::vector<std::string> describe() const;

 private:
  using Tensor = SafetensorsFolder::Tensor;
  using Tensors = std::map<std::string, Tensor>;

  Tensors named_as_parameters(const HubFormat& format);
  void join_tied(const HubFormat& format, const ParameterSet& parameters, Tensors& tensors);
  /// Takes what the model has as `type` from `tensors`, or notes why not.
  void take(const std::string& name, const Type& type, bool may_lack, Tensors& tensors);

  SafetensorsFolder folder_;
  Tensors taken_;              ///< by the parameter's name
  std::int64_t elements_ = 0;  ///< of those
  std::vector<std::string> missing_;
  std::vector<std::string> surplus_;
  std::vector<std::string> unfit_;  ///< why a tensor of the right name is not taken
};

}  // namespace lockstep

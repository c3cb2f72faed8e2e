// The weights of a Hugging Face folder, matched with a model that starts from them.
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
  /// to; with `strict` false only files that cannot be read are errors. `part`: only parameters and
  /// buffers whose names begin with it.
  Pretrained(const std::string& folder, const HubFormat& format, const Module& model, bool strict,
             const std::string& part = "");

  /// Reads the value of a parameter or buffer, in its dtype; nothing if it must be drawn.
  std::optional<HostTensor> value(const std::string& name) const;

  /// Describes which tensors were used and which were not, in lines for the log.
  std::vector<std::string> describe() const;

 private:
  using Tensor = SafetensorsFolder::Tensor;
  using Tensors = std::map<std::string, Tensor>;

  Tensors named_as_parameters(const HubFormat& format);
  void join_tied(const HubFormat& format, const ParameterSet& parameters, Tensors& tensors);
  /// Takes the tensor of the model's `type` from `tensors`, or records why it cannot.
  void take(const std::string& name, const Type& type, bool may_lack, Tensors& tensors);

  SafetensorsFolder folder_;
  Tensors taken_;              ///< by the parameter's name
  std::int64_t elements_ = 0;  ///< of those
  std::vector<std::string> missing_;
  std::vector<std::string> surplus_;
  std::vector<std::string> unfit_;  ///< why a tensor of the right name is not used
};

}  // namespace lockstep

// The settings of the image captioner (trainer/models/vit_gpt2/vit_gpt2.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/hub/hub_format.h"
#include "trainer/models/gpt2/gpt2_config.h"
#include "trainer/models/vit/vit_config.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_needs.h"

namespace lockstep {

/// The keys are those of Hugging Face's VisionEncoderDecoderConfig: "encoder." those of a
/// ViTConfig, "decoder." those of a GPT2Config.
struct VitGpt2Config {
  VitConfig encoder;
  Gpt2Config decoder;
  CaptionTokens tokens;
  std::string
      encoder_folder;  ///< Hugging Face folder of a ViT that the encoder starts from; "": none
  std::string decoder_folder;  ///< the same of a GPT-2; "": none

  static std::vector<Key> keys();
  DataNeeds needs() const;
  void check(const Config& run, const ReportProblem& report) const;
  static std::vector<std::pair<std::string, VitGpt2Config>> sizes();
  static HubFormat hub();
};

}  // namespace lockstep

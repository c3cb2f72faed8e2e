// lockstep's own rows: a new model, dataset or optimizer needs its own files and a line here.
#include "trainer/datasets/captions_data.h"
#include "trainer/datasets/cifar_data.h"
#include "trainer/datasets/digit_scenes_data.h"
#include "trainer/datasets/document_files.h"
#include "trainer/datasets/hdf5_data.h"
#include "trainer/datasets/idx_data.h"
#include "trainer/datasets/image_folder_data.h"
#include "trainer/datasets/synthetic_data.h"
#include "trainer/datasets/token_files.h"
#include "trainer/evaluators/class_scores.h"
#include "trainer/evaluators/perplexity.h"
#include "trainer/models/bert/bert.h"
#include "trainer/models/gpt2/gpt2.h"
#include "trainer/models/llama/llama.h"
#include "trainer/models/resnet/resnet.h"
#include "trainer/models/vision/vision.h"
#include "trainer/models/vit/vit.h"
#include "trainer/models/vit_gpt2/vit_gpt2.h"
#include "trainer/optimizers/adam.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/lamb.h"
#include "trainer/optimizers/lion.h"
#include "trainer/optimizers/sgd.h"
#include "trainer/registry/registry.h"

namespace lockstep {

Registry built_in() {
  Registry out;
  out.add_model<Mlp>();
  out.add_model<Lenet>();
  out.add_model<ResNet>();
  out.add_model<Vit>();
  out.add_model<Gpt2>();
  out.add_model<Llama>();
  out.add_model<Bert>();
  out.add_model<BertClassifier>();
  out.add_model<VitGpt2>();

  out.add_dataset<TextData>();
  out.add_dataset<TokensData>();
  out.add_dataset<JsonlData>();
  out.add_dataset<DocumentsData>();
  out.add_dataset<ImageFolderData>();
  out.add_dataset<CifarData>();
  out.add_dataset<IdxData>();
  out.add_dataset<Hdf5Data>();
  out.add_dataset<CaptionsData>();
  out.add_dataset<DigitScenesData>();
  out.add_dataset<SyntheticData>();

  out.add_optimizer<AdamW>();
  out.add_optimizer<Adam>();
  out.add_optimizer<Sgd>();
  out.add_optimizer<Lion>();
  out.add_optimizer<Lamb>();

  out.add_metric<Perplexity>();
  out.add_metric<ClassScoreMetric<ClassScore::kPrecisionMacro>>();
  out.add_metric<ClassScoreMetric<ClassScore::kPrecisionMicro>>();
  out.add_metric<ClassScoreMetric<ClassScore::kRecallMacro>>();
  out.add_metric<ClassScoreMetric<ClassScore::kRecallMicro>>();
  out.add_metric<ClassScoreMetric<ClassScore::kF1Macro>>();
  out.add_metric<ClassScoreMetric<ClassScore::kF1Micro>>();
  out.add_metric<ClassScoreMetric<ClassScore::kMatthews>>();
  return out;
}

}  // namespace lockstep

// `lockstep` with a dataset of arrays: samples are the rows of the data sets of an HDF5 file. So a
// test in another language sets the input of a model, field by field, or the gradients of one.
#include <string>

#include "checkpoint/tensors_file.h"
#include "core/base/error.h"
#include "data/samples/tensor_dataset.h"
#include "trainer/cli/command_line.h"
#include "trainer/registry/registry.h"
#include "trainer/task/data_source.h"
#include "trainer/task/model.h"

using namespace lockstep;

namespace {

DatasetPtr read_arrays(const std::string& path) {
  std::map<std::string, HostTensor> fields;
  for (auto& [name, tensor] : read_tensors_file(path)) fields.emplace(name, std::move(tensor));
  return tensor_dataset(std::move(fields));
}

struct ArraysData {
  static constexpr std::string_view kName = "arrays";
  static constexpr std::string_view kDoc = "rows of the data sets of an HDF5 file";
  static constexpr std::string_view kGives =
      "tokens masked_tokens labelled_tokens images captioned_images gradients";

  std::string path = {};
  std::string val_path = {};

  static std::vector<Key> keys() {
    return {{.name = "path",
             .member = bind<&ArraysData::path>(),
             .doc = "File to train on.",
             .required = true,
             .per_rank = true,
             .file = true},
            {.name = "val_path",
             .member = bind<&ArraysData::val_path>(),
             .doc = "File to validate on.",
             .required = true,
             .per_rank = true,
             .file = true}};
  }
  DataSource open(const OpenContext& context) const {
    return {.train = read_arrays(path),
            .validation = read_arrays(val_path),
            .vocab_size = context.needs.vocab_size,
            .tokens_per_sample = context.sequence_length};
  }
};

/// A model whose gradients are given: the loss is the sum of products of each parameter with the
/// field of its name.
struct GivenGradients final : Model {
  static constexpr std::string_view kName = "given_gradients";
  static constexpr std::string_view kDoc = "parameters whose gradients are the data";
  struct Config {
    static std::vector<Key> keys() { return {}; }
    DataNeeds needs() const { return {.inputs = "gradients"}; }
  };

  explicit GivenGradients(const Config&) {
    const auto add = [&](const char* name, const Shape& shape, ParameterKind kind) {
      parameter(name, shape, kind, Initializer::normal(0.5));
    };
    add("layer.0.weight", {24, 16}, ParameterKind::kMatrix);
    add("layer.0.bias", {16}, ParameterKind::kVector);
    add("layer.1.weight", {16, 8}, ParameterKind::kMatrix);
    add("layer.1.ln.weight", {8}, ParameterKind::kVector);
    add("head.weight", {8, 4}, ParameterKind::kMatrix);
  }
  Loss operator()(const Batch& batch) const override {
    Tensor sum;
    for (const Parameter& one : parameters().all()) {
      const Tensor products = batch.masked_sum(batch[one.name] * one.get());
      sum = sum.defined() ? sum + products : products;
    }
    return {.sum = sum, .count = batch.count()};
  }
};

}  // namespace

int main(int argc, char** argv) {
  Registry registry = built_in();
  registry.add_dataset<ArraysData>();
  registry.add_model<GivenGradients>();
  return command_line(argc, argv, registry);
}

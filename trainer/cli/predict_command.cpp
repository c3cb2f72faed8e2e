#include "trainer/cli/commands.h"
#include "trainer/cli/standard_output.h"
#include "trainer/train.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostClasses = 1 << 24;

int run(const CommandCall& call) {
  const std::vector<std::string>& words = call.arguments.positionals();
  PredictOptions options{.images = {words.begin() + 1, words.end()}};
  options.top = call.arguments.integer("top", 1, kMostClasses).value_or(options.top);
  const int status = predict(words[0], call.registry, options, call.settings, call.watch);
  finish_standard_output();
  return status;
}

}  // namespace

CliCommand predict_command() {
  return {
      .name = "predict",
      .positionals = {"RUN", "IMAGE"},
      .rest = "...",
      .max_rest = CliCommand::kAnyNumber,
      .help = "print the likeliest classes of images",
      .details =
          "RUN is a run's folder, whose newest good checkpoint is used, or a checkpoint.\n"
          "Each IMAGE is a PNG or JPEG file. It is resized, cropped to its centre and normalized\n"
          "as in the run's evaluation, and converted to grey or to colour as the model requires.\n",
      .options = {{"top", "N", "number of classes of each image, the likeliest first (5)"}},
      .run = run};
}

}  // namespace lockstep

#include "trainer/apps/predict.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/standard_output.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMaxClasses = 1 << 24;

int run_predict(const CommandCall& call) {
  const std::vector<std::string>& words = call.arguments.positionals();
  PredictOptions options{.images = {words.begin() + 1, words.end()}};
  options.top = call.arguments.integer("top", 1, kMaxClasses).value_or(options.top);
  const int status = predict(words[0], call.registry, options, call.settings, call.watch);
  finish_standard_output();
  return status;
}

}  // namespace

CliCommand predict_command() {
  return {.name = "predict",
          .positionals = {"RUN", "IMAGE"},
          .rest = "...",
          .max_rest = CliCommand::kAnyNumber,
          .help = "print the classes that images are likely of",
          .details =
              "RUN is a run's folder, whose newest good checkpoint is taken, or a checkpoint.\n"
              "Each IMAGE is a PNG or JPEG file. It is resized, its centre is cut out, and pixels\n"
              "are normalized as in the run's evaluation; colours become grey, or grey becomes\n"
              "colours, as the model takes them.\n",
          .options = {{"top", "N", "classes of each image, the likeliest first; 5 unless given"}},
          .run = run_predict};
}

}  // namespace lockstep

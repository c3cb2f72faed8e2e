#include "trainer/apps/predict.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/standard_output.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMaxClasses = 1 << 24;

int run_predict(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const std::vector<std::string>& words = arguments.positionals();
  PredictOptions options{.images = {words.begin() + 1, words.end()},
                         .folder = arguments.value("folder"),
                         .text = arguments.value("text"),
                         .text_pair = arguments.value("text-pair"),
                         .file = arguments.value("file"),
                         .text_field = arguments.value("text-field"),
                         .pair_field = arguments.value("text-pair-field"),
                         .fill_mask = arguments.has("fill-mask"),
                         .perplexity = arguments.has("perplexity"),
                         .json = arguments.has("json"),
                         .ema = arguments.has("ema"),
                         .stride = arguments.integer("stride", 1, kMaxClasses)};
  options.top = arguments.integer("top", 1, kMaxClasses).value_or(options.top);
  const int status = predict(words[0], call.registry, options, call.settings, call.watch);
  finish_standard_output();
  return status;
}

}  // namespace

CliCommand predict_command() {
  return {
      .name = "predict",
      .positionals = {"RUN"},
      .rest = "[IMAGE ...]",
      .max_rest = CliCommand::kAnyNumber,
      .help = "print the classes that images or texts are likely of, masked words, or perplexity",
      .details =
          "RUN is a run's folder, whose newest good checkpoint is taken, or a checkpoint; or the\n"
          "folder of a Hugging Face model, as export writes it.\n"
          "Each IMAGE is a PNG or JPEG file. It is resized, its centre is cut out, and pixels\n"
          "are normalized as in the run's evaluation; colours become grey, or grey becomes\n"
          "colours, as the model takes them. An image that cannot be read is named on standard\n"
          "error; the others are answered, and the command ends with 3.\n"
          "Texts are --text, or those of a file, one JSON object a line; answers are in their\n"
          "order, and none depends on the other texts. A text that is longer than the model's\n"
          "context is cut; its perplexity is that of all its tokens, in windows.\n",
      .options = {{"folder", "FOLDER",
                   "in place of images: all in a folder, at any depth, by path"},
                  {"text", "TEXT", "classify this text"},
                  {"text-pair", "TEXT", "the second text of a pair"},
                  {"file", "FILE", "classify the texts of JSON Lines"},
                  {"text-field", "NAME", "of the file; as in the run's data unless given"},
                  {"text-pair-field", "NAME", "of the file; as in the run's data unless given"},
                  {"fill-mask", "", "the likeliest tokens for each mask token of the texts"},
                  {"perplexity", "", "how well the model predicts the texts, and all together"},
                  {"stride", "N", "tokens between windows of a long text; half the context"},
                  {"ema", "", "the averaged weights (training.ema), not the trained ones"},
                  {"json", "", "print an object a line"},
                  {"top", "N", "classes or tokens, the likeliest first; 5 unless given"}},
      .exits = {3, 4, 5, 7},
      .run = run_predict};
}

}  // namespace lockstep

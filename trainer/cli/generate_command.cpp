#include <optional>

#include "trainer/apps/generate.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/standard_output.h"
#include "trainer/config/schema.h"

namespace lockstep {
namespace {

int run_generate(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const Schema schema(call.registry);
  const auto like = [&](const char* path) -> const Key& { return *schema.find(path); };
  const GenerateOptions options{
      .prompt = arguments.value("prompt"),
      .max_new_tokens = arguments.integer("max-new-tokens", like("sample.max_new_tokens")),
      .temperature = arguments.number("temperature", like("sample.temperature")),
      .top_k = arguments.integer("top-k", like("sample.top_k")),
      .top_p = arguments.number("top-p", like("sample.top_p")),
      .num_samples = arguments.integer("num-samples", like("sample.num_samples")),
      .seed = arguments.integer("seed", like("sample.seed")),
      .num_beams = arguments.integer("num-beams", like("sample.num_beams")),
      .length_penalty = arguments.number("length-penalty", like("sample.length_penalty")),
      .early_stopping = arguments.has("early-stopping") ? std::optional(true) : std::nullopt,
      .images = arguments.values("image"),
      .folder = arguments.value("folder"),
      .json = arguments.has("json"),
      .ema = arguments.has("ema")};
  const int status =
      generate(arguments.positionals()[0], call.registry, options, call.settings, call.watch);
  finish_standard_output();
  return status;
}

}  // namespace

CliCommand generate_command() {
  return {
      .name = "generate",
      .positionals = {"RUN"},
      .help = "print a prompt and how a run's model continues it, or captions of images",
      .details =
          "RUN is a run's folder, whose newest good checkpoint is taken, or a checkpoint; or the\n"
          "folder of a Hugging Face model, as export writes it.\n"
          "What is not given is as in the `sample` section of the run's config.\n"
          "Two beams or more: beam search, as Hugging Face's generate(num_beams=N) without\n"
          "do_sample. It draws nothing, so the config's temperature, top_k, top_p and seed have\n"
          "no effect, and it ends where the model's context is full.\n"
          "An image that cannot be read is named on standard error; the others get captions, and\n"
          "the command ends with 3.\n",
      .options = {{.name = "image",
                   .value = "FILE",
                   .help = "PNG or JPEG files to caption, with a model that sees images",
                   .many = true},
                  {"folder", "FOLDER",
                   "in place of --image: all in a folder, at any depth, by path"},
                  {"json", "", "of images: print an object a line"},
                  {"prompt", "TEXT", "what to continue; empty: from the token that begins a text"},
                  {"max-new-tokens", "N", "tokens to add"},
                  {"temperature", "T", "divides the logits; 0: always the likeliest token"},
                  {"top-k", "K", "choose among the K likeliest tokens; 0: among all"},
                  {"top-p", "P", "among the fewest likeliest with this probability together"},
                  {"num-samples", "N", "so many continuations; of beam search the best ones"},
                  {"seed", "S", "of the random choice"},
                  {"num-beams", "N", "keep the N likeliest continuations; 1: draw"},
                  {"length-penalty", "A",
                   "of beams: above 0 prefers long texts, below 0 short ones"},
                  {"early-stopping", "", "of beams: end when N texts have ended"},
                  {"ema", "", "the averaged weights (training.ema), not the trained ones"}},
      .exits = {3, 4, 5, 7},
      .run = run_generate};
}

}  // namespace lockstep

#include "trainer/cli/commands.h"
#include "trainer/cli/standard_output.h"
#include "trainer/config/schema.h"
#include "trainer/train.h"

namespace lockstep {
namespace {

int run(const CommandCall& call) {
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
      .seed = arguments.integer("seed", like("sample.seed"))};
  const int status =
      generate(arguments.positionals()[0], call.registry, options, call.settings, call.watch);
  finish_standard_output();
  return status;
}

}  // namespace

CliCommand generate_command() {
  return {.name = "generate",
          .positionals = {"RUN"},
          .help = "print a prompt and its continuation by a run's model",
          .details =
              "RUN is a run's folder, whose newest good checkpoint is used, or a checkpoint.\n"
              "The defaults are those of the `sample` section of the run's config.\n",
          .options = {{"prompt", "TEXT",
                       "text to continue; empty: start from the token that begins a text"},
                      {"max-new-tokens", "N", "number of tokens to generate"},
                      {"temperature", "T", "divides the logits; 0: always the likeliest token"},
                      {"top-k", "K", "draw from the K likeliest tokens; 0: from all"},
                      {"top-p", "P",
                       "draw from the fewest likeliest tokens with this total probability"},
                      {"num-samples", "N", "number of continuations"},
                      {"seed", "S", "seed of the random draws"}},
          .run = run};
}

}  // namespace lockstep

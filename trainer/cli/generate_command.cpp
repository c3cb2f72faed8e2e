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
      .seed = arguments.integer("seed", like("sample.seed"))};
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
      .help = "print a prompt and how a run's model continues it",
      .details =
          "RUN is a run's folder, whose newest good checkpoint is taken, or a checkpoint.\n"
          "What is not given is as in the `sample` section of the run's config.\n",
      .options = {{"prompt", "TEXT", "what to continue; empty: from the token that begins a text"},
                  {"max-new-tokens", "N", "tokens to add"},
                  {"temperature", "T", "divides the logits; 0: always the likeliest token"},
                  {"top-k", "K", "choose among the K likeliest tokens; 0: among all"},
                  {"top-p", "P", "among the fewest likeliest with this probability together"},
                  {"num-samples", "N", "so many continuations"},
                  {"seed", "S", "of the random choice"}},
      .run = run_generate};
}

}  // namespace lockstep

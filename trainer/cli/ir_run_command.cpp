#include <algorithm>
#include <ostream>
#include <set>

#include "checkpoint/tensors_file.h"
#include "core/base/error.h"
#include "core/base/suggest.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/ir_file.h"
#include "trainer/cli/run_graph.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMaxThreads = 1024;
constexpr std::int64_t kMaxGigabytes = 1 << 20;

/// The data set of input number i in the file: its name, or "i" if it has none.
std::vector<std::string> input_names(const Graph& graph, const std::string& file) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string_view name = graph[graph.inputs[i]].name;
    out.emplace_back(name.empty() ? std::to_string(i) : std::string(name));
    LS_USER_CHECK(std::count(out.begin(), out.end(), out.back()) == 1,
                  "{}: two inputs are called '{}', so that their data sets cannot be distinguished",
                  file, out.back());
  }
  return out;
}

/// All differences between the file's data sets and the graph's inputs, one line each.
std::string find_problems(const Graph& graph, const std::vector<std::string>& names,
                          const NamedTensors& tensors, const std::string& file) {
  std::vector<std::string_view> unused;  // data sets that are not inputs: possible misspellings
  for (const auto& [name, tensor] : tensors)
    if (std::find(names.begin(), names.end(), name) == names.end()) unused.push_back(name);
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Type& expected = graph[graph.inputs[i]].type;
    const auto found = tensors.find(names[i]);
    if (found == tensors.end()) {
      out += fmt::format("\n{}: data set '{}' is missing, the input {}{}", file, names[i],
                         expected.to_string(), did_you_mean(nearest_word(names[i], unused)));
      continue;
    }
    const Type actual{found->second.dtype(), found->second.shape()};
    if (actual != expected)
      out += fmt::format("\n{}: data set '{}' is {}, but the input is {}", file, names[i],
                         actual.to_string(), expected.to_string());
  }
  const std::vector<std::string_view> inputs(names.begin(), names.end());
  for (const std::string_view name : unused)
    out += fmt::format("\n{}: data set '{}' is not an input of the graph{}", file, name,
                       did_you_mean(nearest_word(name, inputs)));
  return out;
}

std::vector<HostTensor> read_inputs(const Graph& graph, const std::string& ir_file,
                                    const std::optional<std::string>& file, double max_gb) {
  const std::vector<std::string> names = input_names(graph, ir_file);
  LS_USER_CHECK(file || names.empty(), "{} has {} inputs: give their values with --input", ir_file,
                names.size());
  if (!file) return {};
  const NamedTensors tensors = read_tensors_file(*file, max_gb);
  const std::string problems = find_problems(graph, names, tensors, *file);
  LS_USER_CHECK(problems.empty(), "{}", problems.substr(1));
  std::vector<HostTensor> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.push_back(tensors.at(name));
  return out;
}

int run_ir_run(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const std::string& file = arguments.positionals()[0];
  const std::string kernels = arguments.value("kernels").value_or("compiled");
  LS_USER_CHECK(kernels == "compiled" || kernels == "reference",
                "--kernels must be compiled or reference, not '{}'", kernels);
  const auto threads = static_cast<int>(arguments.integer("threads", 1, kMaxThreads).value_or(1));
  const std::optional<std::string> output = arguments.value("output");
  LS_USER_CHECK(output.has_value(), "--output is missing: the file to write the results to");

  const Graph graph = read_ir_file(file, /*ranks=*/1);
  const std::optional<std::int64_t> max_gb = arguments.integer("max-gb", 1, kMaxGigabytes);
  const std::vector<HostTensor> inputs =
      read_inputs(graph, file, arguments.value("input"),
                  max_gb ? static_cast<double>(*max_gb) : kHdf5Gigabytes);
  Log log({.console = true, .file = {}, .debug = call.settings.debug});
  const Target target = host_target(call.settings.max_isa);
  const std::vector<HostTensor> outputs = kernels == "compiled"
                                              ? run_compiled(graph, inputs, threads, target, log)
                                              : run_reference(graph, inputs);
  NamedTensors results;
  for (std::size_t i = 0; i < outputs.size(); ++i) results[std::to_string(i)] = outputs[i];
  write_tensors_file(*output, results);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    call.out << fmt::format("{}: /{} {}\n", *output, i,
                            Type{outputs[i].dtype(), outputs[i].shape()}.to_string());
  return 0;
}

}  // namespace

CliCommand ir_run_command() {
  return {
      .name = "ir run",
      .positionals = {"FILE.ir"},
      .help = "run a graph on tensors from an HDF5 file",
      .details =
          "Every input of the graph is read from the data set of its name, /NAME (input number i\n"
          "from 0 from /i if it has no name), of exactly its type; a scalar is a data set of rank "
          "0.\n"
          "Output number i becomes the data set /i. f32, f64, f16, i32, i64 and u8 are the HDF5\n"
          "types of those names; bf16 is u16 with the attribute dtype = \"bf16\", and bool is u8\n"
          "with dtype = \"bool\". Collectives run for one rank and one micro-batch.\n"
          "A graph with a host_call runs only in the program that has its function, not here.\n",
      .options = {{"input", "A.h5", "file with the inputs; not needed if the graph has none"},
                  {"max-gb", "N",
                   "maximum size of all inputs in GiB; a larger file is refused unread (16)"},
                  {"output", "B.h5", "file to write the outputs to; replaced if it exists"},
                  {"kernels", "KIND",
                   "compiled: as in training (default); reference: naive loops in f64, rounded "
                   "after every node"},
                  {"threads", "N", "cores for compiled kernels (1)"}},
      .exits = {3, 4},
      .run = run_ir_run};
}

}  // namespace lockstep

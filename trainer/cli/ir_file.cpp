#include "trainer/cli/ir_file.h"

#include "core/base/error.h"
#include "core/ir/text.h"
#include "core/ir/verify.h"
#include "data/files/read_text.h"

namespace lockstep {
namespace {

std::string read_text_form(const std::string& path) {
  try {
    return read_text(path);
  } catch (const Error& e) {  // a file of the command line, not of a run's data
    raise(ErrorKind::kUsage, "{}", e.what());
  }
}

}  // namespace

Graph read_ir_file(const std::string& path, std::optional<int> ranks) {
  Graph graph = parse(read_text_form(path), path, ranks);
  try {
    verify(graph, "parse");
  } catch (const Error& e) {  // an error of the file, not of lockstep
    raise(ErrorKind::kUsage, "{}: {}", path, e.what());
  }
  return graph;
}

}  // namespace lockstep

#include "core/observe/program_dump.h"

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/ir/text.h"
#include "core/runtime/compiled_step.h"
#include "core/runtime/plan_text.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

void write_file(const std::string& path, const std::string& text) {
  AtomicFile target(path, ErrorKind::kUsage);
  target.file().write(0, std::as_bytes(std::span(text)));
  target.commit();
}

std::string plans_text(const CompiledStep& step) {
  std::string out;
  if (step.has_gradient_program()) out += "gradient program: " + print(step.gradient);
  if (!step.update.graph.outputs.empty()) out += "update program: " + print(step.update);
  return out;
}

}  // namespace

ProgramDump::ProgramDump(std::string folder, Log& log) : folder_(std::move(folder)), log_(log) {
  if (!enabled()) return;
  constexpr const char* kWhat =
      "environment variable LOCKSTEP_DUMP_DIR: programs cannot be dumped to {}: {}; name a "
      "writable folder";
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) raise(ErrorKind::kUsage, kWhat, folder_, error.message());
  try {
    const AtomicFile probe((fs::path(folder_) / "probe").string(), ErrorKind::kUsage);
  } catch (const Error& e) {
    raise(ErrorKind::kUsage, kWhat, folder_, e.what());
  }
}

void ProgramDump::write(const std::string& name, const CompiledStep& step, std::string_view about) {
  if (!enabled()) return;
  try {
    const std::string path = (fs::path(folder_) / name).string();
    const auto write_graph = [&](std::string_view which, const Graph& graph) {
      write_file(fmt::format("{}.{}.ir", path, which),
                 fmt::format("// {}: {}, {}\n{}", name, which, about, print(graph)));
    };
    write_graph("recorded", step.step);
    if (step.has_gradient_program()) write_graph("gradient", step.gradient.graph);
    if (!step.update.graph.outputs.empty()) write_graph("update", step.update.graph);
    write_file(path + ".plan.txt", fmt::format("// {}: {}\n{}", name, about, plans_text(step)));
  } catch (const std::exception& e) {
    if (!std::exchange(warned_, true))
      log_.warn("LOCKSTEP_DUMP_DIR: programs are not dumped, or only in part: {}", e.what());
  }
}

}  // namespace lockstep

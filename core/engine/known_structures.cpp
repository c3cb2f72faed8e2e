#include "core/engine/known_structures.h"

#include <algorithm>
#include <string_view>

namespace lockstep {
namespace {

/// Maximum per structure: those that were compiled last.
constexpr std::size_t kMaxSettings = 8;
constexpr std::uint64_t kMaxBytes = 2 << 20;

ArtifactOptions beside(ArtifactOptions artifacts) {
  artifacts.ending = ".known";
  artifacts.max_bytes = kMaxBytes;
  artifacts.on_warning = nullptr;
  return artifacts;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = text.find(at);
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

CompileSettings parse(std::string_view line) {
  const std::vector<std::string_view> words = split(line, '\t');
  CompileSettings out;
  for (std::size_t i = 0; i + 2 < words.size(); i += 3)
    if (const auto cause = parse_cause(words[i + 2]))
      out.push_back({std::string(words[i]), std::string(words[i + 1]), *cause});
  return out;
}

std::vector<Difference> compare(const CompileSettings& old, const CompileSettings& now) {
  std::vector<Difference> out;
  for (const CompileSetting& setting : now) {
    const auto before = std::ranges::find(old, setting.name, &CompileSetting::name);
    if (before == old.end() || before->value == setting.value) continue;
    out.push_back({.cause = setting.cause,
                   .subject = setting.name,
                   .from = before->value,
                   .to = setting.value});
  }
  return out;
}

}  // namespace

// Name, value, cause, name, ... with tabs between them.
std::string print(const CompileSettings& settings) {
  std::string out;
  for (const CompileSetting& setting : settings)
    out += fmt::format("{}{}\t{}\t{}", out.empty() ? "" : "\t", setting.name, setting.value,
                       name_of(setting.cause));
  return out + "\n";
}

KnownStructures::KnownStructures(const ArtifactOptions& artifacts)
    : files_(beside(artifacts), Log::null()) {}

std::vector<CompileSettings> KnownStructures::load(const Hash128& structure) {
  std::vector<CompileSettings> out;
  const std::string text = files_.load(structure).value_or("");
  for (const std::string_view line : split(text, '\n')) out.push_back(parse(line));
  return out;
}

std::vector<Difference> KnownStructures::explain(const Hash128& structure,
                                                 const CompileSettings& settings) {
  std::vector<Difference> fewest;
  bool known = false;
  for (const CompileSettings& before : load(structure)) {
    std::vector<Difference> differences = compare(before, settings);
    if (!known || differences.size() <= fewest.size()) fewest = std::move(differences);
    known = true;
  }
  if (known && fewest.empty())
    fewest.push_back({.cause = Cause::kEvicted,
                      .subject = "the file in device.compile_cache",
                      .to = "had been removed, to make room (device.compile_cache_gb) or by hand",
                      .remedy = "raise device.compile_cache_gb"});
  return fewest;
}

void KnownStructures::add(const Hash128& structure, const CompileSettings& settings) {
  std::vector<CompileSettings> all = load(structure);
  std::erase(all, settings);
  all.push_back(settings);
  if (all.size() > kMaxSettings) all.erase(all.begin());
  std::string text;
  for (const CompileSettings& each : all) text += print(each);
  files_.save(structure, text);
}

}  // namespace lockstep

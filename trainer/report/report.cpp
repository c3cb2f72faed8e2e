#include "trainer/report/report.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "trainer/report/embedded_page.h"
#include "trainer/report/run_facts.h"
#include "trainer/report/sections.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kReportVersion = 1;

struct SectionRow {
  const char* name;
  std::string (*make)(const RunFacts& facts);
};
/// In the order of the page.
constexpr std::array<SectionRow, 11> kSections{{{"verdict", verdict_section},
                                                {"learning", learning_section},
                                                {"step", step_section},
                                                {"ranks", ranks_section},
                                                {"ops", ops_section},
                                                {"memory", memory_section},
                                                {"compilation", compilation_section},
                                                {"communication", communication_section},
                                                {"graph", graph_section},
                                                {"foresight", foresight_section},
                                                {"reproduce", reproduce_section}}};

std::string json_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string run_json(const RunFacts& facts) {
  std::string out =
      fmt::format("{{\"name\":{},\"folder\":{}", json_text(facts.name), json_text(facts.folder));
  for (const SectionRow& section : kSections)
    out += fmt::format(",\"{}\":{}", section.name, section.make(facts));
  return out + "}";
}

std::string data_json(const std::vector<RunFacts>& runs, const std::string& command) {
  const OrderedJson made{
      {"at", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"lockstep", LOCKSTEP_VERSION},
      {"command", command}};
  OrderedJson notices = OrderedJson::array();
  std::vector<std::string> texts;
  for (const RunFacts& run : runs) {
    for (const std::string& notice : run.notices) notices.push_back(notice);
    texts.push_back(run_json(run));
  }
  return fmt::format(
      "{{\"format\":\"lockstep report\",\"version\":{},\"made\":{},\"notices\":{},"
      "\"differences\":{},\"runs\":[{}]}}",
      kReportVersion, json_text(made), json_text(notices),
      runs.size() > 1 ? config_differences(runs) : "[]", fmt::join(texts, ","));
}

/// No text in it can end the element that holds it, or begin another.
std::string for_script(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string report_html(const std::vector<std::string>& folders, const MachineLimits& limits,
                        const std::string& command, const Registry& registry) {
  std::vector<RunFacts> runs;
  runs.reserve(folders.size());
  for (const std::string& folder : folders)
    runs.push_back(read_run_facts(folder, limits, registry));
  const EmbeddedPage page = embedded_page();
  return fmt::format("{}{}{}", page.before_data, for_script(data_json(runs, command)),
                     page.after_data);
}

}  // namespace lockstep

#include "trainer/devices/device_profiles.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/suggest.h"
#include "data/files/read_text.h"
#include "trainer/config/yaml_tree.h"
#include "trainer/devices/embedded_devices.h"
#include "trainer/devices/this_machine.h"

namespace lockstep {
namespace {

constexpr double kMostFigure = 1e9;

/// A figure of a profile: its key, with the section that it is in, and where it goes.
struct FigureKey {
  std::string key;
  std::string doc;
  bool required = true;
  std::function<void(DeviceProfile&, Figure)> set;
};

FigureKey required_figure(std::string key, Figure DeviceProfile::*member, std::string doc) {
  return {std::move(key), std::move(doc), true,
          [member](DeviceProfile& to, Figure figure) { to.*member = std::move(figure); }};
}

FigureKey optional_figure(std::string key, std::optional<Figure> DeviceProfile::*member,
                          std::string doc) {
  return {std::move(key), std::move(doc), false,
          [member](DeviceProfile& to, Figure figure) { to.*member = std::move(figure); }};
}

std::vector<FigureKey> figure_keys() {
  using P = DeviceProfile;
  std::vector<FigureKey> out;
  out.reserve(kMathTypes);
  for (std::size_t i = 0; i < kMathTypes; ++i)
    out.push_back({fmt::format("peak_tflops.{}", name_of(static_cast<MathType>(i))),
                   "TFLOP/s, dense; leave out what the device lacks", false,
                   [i](P& to, Figure figure) { to.peak_tflops[i] = std::move(figure); }});
  for (FigureKey& key : std::vector<FigureKey>{
           required_figure("matmul_fraction", &P::matmul_fraction,
                           "of the peak that the largest products reach"),
           required_figure("memory_gib", &P::memory_gib, "GiB"),
           required_figure("memory_gb_per_s", &P::memory_gb_per_s, "1e9 bytes a second"),
           required_figure("memory_fraction", &P::memory_fraction, "of it that a copy reaches"),
           optional_figure("cache_mib", &P::cache_mib, "MiB, the last level"),
           required_figure("compute_units", &P::compute_units,
                           "streaming multiprocessors, product units or cores"),
           required_figure("launch_us.eager", &P::launch_us_eager,
                           "microseconds between kernels that a framework starts one by one"),
           required_figure("launch_us.graph", &P::launch_us_graph, "the same in a recorded graph"),
           required_figure("launch_us.xla", &P::launch_us_xla, "the same in an XLA program"),
           optional_figure("host_link_gb_per_s", &P::host_link_gb_per_s, "each direction"),
           optional_figure("node.devices", &P::node_devices, "the most that one node holds"),
           optional_figure("node.link_gb_per_s", &P::node_link_gb_per_s,
                           "of a device to those of its node, each direction"),
           optional_figure("node.all_reduce_gb_per_s", &P::all_reduce_gb_per_s,
                           "bus bandwidth, if it was measured"),
           optional_figure("node.latency_us", &P::node_latency_us, "of an all-reduce of no bytes"),
           optional_figure("network.gb_per_s", &P::network_gb_per_s,
                           "between nodes, for each device, each direction"),
           optional_figure("network.latency_us", &P::network_latency_us, "between nodes")})
    out.push_back(std::move(key));
  return out;
}

constexpr std::array<DeviceKind, 4> kKinds{DeviceKind::kGpu, DeviceKind::kTpu, DeviceKind::kNpu,
                                           DeviceKind::kCpu};
constexpr std::array<std::string_view, 5> kOthers{"kind", "form", "topology", "sources",
                                                  "tensor_units"};

/// Collects the problems of a file; throws them together.
class ProfileReader {
 public:
  ProfileReader(std::string_view text, std::string file, const std::string& name)
      : file_(std::move(file)) {
    profile_.name = name;
    std::vector<YamlIssue> issues;
    const YamlNode root = parse_yaml(text, issues);
    for (const YamlIssue& issue : issues) add(issue.line, issue.column, issue.message);
    if (issues.empty()) read(root);
    if (!problems_.empty())
      raise(ErrorKind::kUsage, "{}", fmt::to_string(fmt::join(problems_, "\n")));
  }

  DeviceProfile take() { return std::move(profile_); }

 private:
  void add(int line, int column, const std::string& what) {
    problems_.push_back(fmt::format("{}:{}:{}: {}", file_, line, column, what));
  }
  void add(const YamlEntry& entry, const std::string& what) { add(entry.line, entry.column, what); }

  void read(const YamlNode& root) {
    if (root.kind != YamlNode::Kind::kMap)
      return add(1, 1,
                 fmt::format("a device profile is a section of keys, not {}", root.describe()));
    for (const YamlEntry& entry : root.entries)
      if (entry.key == "sources") read_sources(entry);
    bool has_kind = false;
    for (const YamlEntry& entry : root.entries) {
      if (entry.key == "sources") continue;
      if (entry.key == "kind") {
        has_kind = true;
        read_kind(entry);
      } else if (entry.key == "tensor_units") {
        read_tensor_units(entry);
      } else if (entry.key == "form" || entry.key == "topology") {
        (entry.key == "form" ? profile_.form : profile_.topology) = entry.value.text;
      } else {
        read_figures(entry);
      }
    }
    if (!has_kind) add(1, 1, "'kind' is missing: gpu, tpu, npu or cpu");
    for (const FigureKey& key : keys_)
      if (key.required && !given_.contains(key.key))
        add(1, 1, fmt::format("'{}' is missing: {}", key.key, key.doc));
    if (std::ranges::none_of(profile_.peak_tflops,
                             [](const auto& peak) { return peak.has_value(); }))
      add(1, 1, "'peak_tflops' is missing: TFLOP/s of fp32, tf32, bf16, fp16 or fp8");
  }

  void read_sources(const YamlEntry& entry) {
    for (const YamlEntry& source : entry.value.entries) sources_[source.key] = source.value.text;
    if (entry.value.kind != YamlNode::Kind::kMap)
      add(entry, fmt::format("'sources' must be a section of names and texts, not {}",
                             entry.value.describe()));
  }

  void read_kind(const YamlEntry& entry) {
    const auto* found =
        std::ranges::find(kKinds, entry.value.text, [](DeviceKind kind) { return name_of(kind); });
    if (found == kKinds.end())
      return add(entry, fmt::format("'kind' must be gpu, tpu, npu or cpu, not {}",
                                    entry.value.describe()));
    profile_.kind = *found;
  }

  void read_tensor_units(const YamlEntry& entry) {
    if (entry.value.kind != YamlNode::Kind::kList)
      return add(entry, fmt::format("'tensor_units' must be a list of types, [bf16, fp16], not {}",
                                    entry.value.describe()));
    for (const YamlNode& item : entry.value.items) {
      const auto type = parse_math_type(item.text);
      if (!type)
        add(entry, fmt::format("'tensor_units' knows fp32, tf32, bf16, fp16 and fp8, not {}",
                               item.describe()));
      else
        profile_.on_tensor_units[static_cast<std::size_t>(*type)] = true;
    }
  }

  void read_figures(const YamlEntry& entry) {
    if (entry.value.kind != YamlNode::Kind::kMap || !is_section(entry.key))
      return read_figure(entry, entry.key);
    for (const YamlEntry& inner : entry.value.entries)
      read_figure(inner, entry.key + "." + inner.key);
  }

  bool is_section(const std::string& name) const {
    return std::ranges::any_of(
        keys_, [&](const FigureKey& key) { return key.key.starts_with(name + "."); });
  }

  void read_figure(const YamlEntry& entry, const std::string& path) {
    const auto key = std::ranges::find(keys_, path, &FigureKey::key);
    if (key == keys_.end()) return add(entry, unknown(path));
    given_.insert(path);
    const auto& items = entry.value.items;
    const std::string needed =
        fmt::format("'{}' must be a number and its source, [312, sheet]", path);
    if (entry.value.kind != YamlNode::Kind::kList || items.size() != 2)
      return add(entry, fmt::format("{}, not {}", needed, entry.value.describe()));
    Figure figure;
    const std::string& text = items[0].text;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, figure.value);
    if (read.ec != std::errc{} || read.ptr != end || !std::isfinite(figure.value))
      return add(entry, fmt::format("{}; {} is no number", needed, items[0].describe()));
    if (figure.value <= 0 || figure.value > kMostFigure)
      return add(entry,
                 fmt::format("'{}' must be > 0 and <= {:g}, not {}", path, kMostFigure, text));
    if (path.ends_with("_fraction") && figure.value > 1)
      return add(entry, fmt::format("'{}' is a part of 1, not {}", path, text));
    if (const std::string& name = items[1].text; name != "estimate") {
      const auto source = sources_.find(name);
      if (source == sources_.end())
        return add(entry, fmt::format("'{}' names the source '{}', which 'sources' does not have; "
                                      "a figure without one is an 'estimate'",
                                      path, name));
      figure.source = source->second;
    }
    key->set(profile_, std::move(figure));
  }

  std::string unknown(const std::string& path) const {
    std::vector<std::string_view> known(kOthers.begin(), kOthers.end());
    for (const FigureKey& key : keys_) known.push_back(key.key);
    return fmt::format("unknown key '{}'{}", path, did_you_mean(nearest_word(path, known)));
  }

  std::string file_;
  DeviceProfile profile_;
  std::vector<FigureKey> keys_ = figure_keys();
  std::map<std::string, std::string> sources_;
  std::set<std::string> given_;
  std::vector<std::string> problems_;
};

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::string device_profile_keys() {
  std::string out;
  for (const FigureKey& key : figure_keys())
    out += fmt::format("  {:<28} {}{}\n", key.key, key.doc, key.required ? "" : " (optional)");
  return out;
}

DeviceProfile parse_device_profile(std::string_view text, const std::string& file,
                                   const std::string& name) {
  return ProfileReader(text, file, name).take();
}

const std::vector<DeviceProfile>& built_in_devices() {
  static const std::vector<DeviceProfile> devices = [] {
    std::vector<DeviceProfile> out;
    for (const EmbeddedDevice& each : embedded_devices())
      out.push_back(parse_device_profile(
          each.text, fmt::format("configs/devices/{}.yaml", each.name), std::string(each.name)));
    return out;
  }();
  return devices;
}

DeviceProfile find_device(const std::string& name) {
  if (name.ends_with(".yaml"))
    return parse_device_profile(read_text(name), name, std::filesystem::path(name).stem());
  std::vector<std::string_view> names{kThisMachine};
  for (const DeviceProfile& device : built_in_devices()) {
    if (device.name == in_lower_case(name)) return device;
    names.push_back(device.name);
  }
  raise(ErrorKind::kUsage,
        "there is no device '{}'{} (`lockstep devices` lists them; a file of your own ends with "
        ".yaml)",
        name, did_you_mean(nearest_word(in_lower_case(name), names)));
}

DeviceProfile find_device(const std::string& name, const Settings& settings) {
  return in_lower_case(name) == kThisMachine ? this_machine_device(settings) : find_device(name);
}

std::string device_name(const std::string& name) {
  return in_lower_case(name) == kThisMachine ? std::string(kThisMachine) : find_device(name).name;
}

}  // namespace lockstep

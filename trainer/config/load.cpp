#include "trainer/config/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/base/posix_file.h"
#include "core/base/suggest.h"
#include "trainer/config/checks.h"
#include "trainer/config/folder_keys.h"
#include "trainer/config/schema.h"
#include "trainer/config/suggestions.h"
#include "trainer/config/values.h"
#include "trainer/config/words_of_others.h"
#include "trainer/config/yaml_tree.h"

namespace lockstep {
namespace {

using Source = ConfigOrigin::Source;

/// A long text without its middle, so that messages do not repeat large values of a hostile config.
std::string shorten(std::string text) {
  constexpr std::size_t kHead = 300;
  constexpr std::size_t kTail = 150;
  if (text.size() <= 2 * (kHead + kTail)) return text;
  const auto is_inside_a_character = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
  };
  std::size_t head = kHead;
  std::size_t tail = text.size() - kTail;
  while (is_inside_a_character(head)) --head;
  while (is_inside_a_character(tail)) --tail;
  return fmt::format("{} [... {} bytes ...] {}", text.substr(0, head), tail - head,
                     text.substr(tail));
}

class ConfigLoader {
 public:
  /// How to handle model.init_from.
  enum class Folder : std::uint8_t { kIsRead, kMayBeGone, kIsPassedOver };

  ConfigLoader(const std::string& file, const Registry& registry, Folder folder)
      : schema_(registry), folder_(folder) {
    out_.file = file;
  }

  LoadedConfig load(std::string_view text, std::span<const std::string> overrides) {
    std::vector<YamlIssue> yaml_issues;
    const YamlNode root = parse_yaml(text, yaml_issues);
    for (const YamlIssue& issue : yaml_issues) {
      report(in_file(issue.line, issue.column), issue.message);
    }
    if (root.kind != YamlNode::Kind::kMap) {
      if (problems_.empty()) {
        report(in_file(1, 1), fmt::format("a config is made of sections of 'key: value' lines, but "
                                          "this file holds {}",
                                          root.describe()));
      }
      raise_problems();
    }
    // The selectors' choices determine the existing keys, and the suggestions for misspelled ones.
    choose_rows(root, overrides);
    for (const YamlEntry& entry : root.entries) take_section(entry);
    for (const std::string& override : overrides) take_override(override);
    if (!given("run.name")) {
      out_.config.run.name = std::filesystem::path(out_.file).stem().string();
    }
    for (const ConfigKey& key : schema_.keys()) check_effect(key);
    if (folder_ != Folder::kIsPassedOver) take_pretrained();
    check_config(out_.config, schema_.registry(), [this](auto keys, std::string message) {
      if (std::any_of(keys.begin(), keys.end(), [&](auto k) { return bad_.contains(k); })) return;
      for (const std::string_view key : keys) message = as_written(std::move(message), key);
      report(blame(culprit(keys)), std::move(message));
    });
    raise_problems();
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kMaxProblems = 30;  ///< that are listed; the others are counted

  struct Problem {
    ConfigOrigin origin;
    std::string message;
  };

  ConfigOrigin in_file(int line, int column) const {
    return {Source::kFile, line, column, fmt::format("{}:{}:{}", out_.file, line, column)};
  }
  bool given(std::string_view path) const { return out_.origins.contains(path); }

  /// The location of a key, of its section, or of the whole file.
  ConfigOrigin blame(std::string_view path) const {
    if (const auto key = out_.origins.find(path); key != out_.origins.end()) return key->second;
    const std::string_view section = path.substr(0, path.find('.'));
    const auto found = out_.origins.find(section);
    return found == out_.origins.end() ? in_file(1, 1) : found->second;
  }

  /// Of keys that contradict each other: the one from the command line, else the first.
  std::string_view culprit(std::initializer_list<std::string_view> keys) const {
    for (std::string_view key : keys) {
      if (given(key) && blame(key).source == Source::kCommandLine) return key;
    }
    return *keys.begin();
  }

  void report(const ConfigOrigin& origin, std::string message) {
    problems_.push_back({origin, std::move(message)});
  }

  /// Sets the selectors that can be read, and the structs of their rows. Errors in them are
  /// reported later, with the other keys.
  void choose_rows(const YamlNode& root, std::span<const std::string> overrides) {
    Config& config = out_.config;
    for (const RowSection& section : row_sections()) {
      const ConfigKey& selector = *schema_.find(section.selector);
      for (const YamlEntry& entry : root.entries)
        for (const YamlEntry& key : entry.value.entries)
          if (entry.key == section.name && key.key == selector.name)
            set_value(selector, key.value, config);
      const std::string prefix = selector.path + "=";
      for (const std::string& override : overrides)
        if (override.starts_with(prefix))
          set_value(selector, std::string_view(override).substr(prefix.size()), config);
      for (const Row* row : section.rows(schema_.registry()))
        if (row->name == section.chosen(config)) section.keys(config) = row->defaults;
    }
  }

  void take_section(const YamlEntry& entry) {
    const ConfigOrigin origin = in_file(entry.line, entry.column);
    if (!schema_.has_section(entry.key)) {
      return unknown_section(entry.key, origin);
    }
    out_.origins[entry.key] = origin;
    if (entry.value.kind == YamlNode::Kind::kNull) {
      report(origin, fmt::format("section '{}' is empty; give it keys or remove it", entry.key));
    } else if (entry.value.kind != YamlNode::Kind::kMap) {
      report(origin, fmt::format("'{}' must be a section of 'key: value' lines, not {}", entry.key,
                                 entry.value.describe()));
    }
    take_keys(entry.key + ".", entry.value);
  }

  void take_keys(const std::string& prefix, const YamlNode& map) {
    for (const YamlEntry& key : map.entries) {
      const std::string path = prefix + key.key;
      const ConfigOrigin origin = in_file(key.line, key.column);
      if (!schema_.has_subsection(path)) {
        take_key(path, key.value, origin);
      } else if (key.value.kind == YamlNode::Kind::kMap) {
        take_keys(path + ".", key.value);
      } else {
        report(origin, fmt::format("'{}' must be a section of 'key: value' lines, not {}", path,
                                   key.value.describe()));
      }
    }
  }

  /// `written` is a key's path, or one that is made with an alias.
  template <class Value>
  void take_key(const std::string& written, const Value& value, const ConfigOrigin& origin) {
    const std::vector<std::string> paths = schema_.resolve(written, out_.config);
    if (paths.empty()) return unknown_key(written, origin);
    std::optional<std::string> first_problem;
    for (const std::string& path : paths) {
      if (refuse_second_name(path, written, origin)) return;
      written_[path] = written;
      if (auto problem = set_key(path, value)) {
        if (!first_problem) first_problem = as_written(std::move(*problem), path);
        bad_.insert(path);
      } else {
        bad_.erase(path);
      }
      out_.origins[path] = origin;
    }
    if (first_problem) report(origin, std::move(*first_problem));
  }

  /// A file may give a key only once, by any of its names; on the command line the last one counts.
  bool refuse_second_name(const std::string& path, const std::string& written,
                          const ConfigOrigin& origin) {
    const auto before = written_.find(path);
    if (before == written_.end() || before->second == written || origin.source != Source::kFile)
      return false;
    report(origin, fmt::format("'{}' is given as '{}', too, at {}; keep one of them", written,
                               before->second, blame(path).text));
    return true;
  }

  /// A message about the key `path`, with the name that the config has for it.
  std::string as_written(std::string message, std::string_view path) const {
    const auto found = written_.find(path);
    const std::string quoted = fmt::format("'{}'", path);
    const std::size_t at = message.find(quoted);
    if (found != written_.end() && at != std::string::npos)
      message.replace(at, quoted.size(), fmt::format("'{}'", found->second));
    return message;
  }

  template <class Value>
  std::optional<std::string> set_key(const std::string& path, const Value& value) {
    const ConfigKey* key = schema_.find(path, out_.config);
    if (key != nullptr && !std::holds_alternative<ChoiceMember>(key->member))
      return set_value(*key, value, out_.config);
    Config scratch;  // selectors are set already
    if (key != nullptr) return set_value(*key, value, scratch);
    // A key of a row that was not chosen has no effect, whatever its value is (see check_effect).
    // If nothing is chosen, one of the rows must accept it.
    std::optional<std::string> problem;
    for (const ConfigKey& other : schema_.keys()) {
      if (other.path != path) continue;
      if (!other.rows->chosen(out_.config).empty()) return std::nullopt;
      other.rows->chosen(scratch) = other.row->name;
      other.rows->keys(scratch) = other.row->defaults;
      problem = set_value(other, value, scratch);
      if (!problem) break;
    }
    return problem;
  }

  /// Reports the word of another framework in place of a key here. The keys that it means are not
  /// reported as missing.
  bool report_word_of_others(const std::string& path, const ConfigOrigin& origin) {
    const auto word = word_of_others(path.substr(path.find('.') + 1));
    if (!word) return false;
    report(origin, fmt::format("unknown key '{}'; {}", path, word->text));
    bad_.insert(word->keys.begin(), word->keys.end());
    return true;
  }

  void unknown_section(const std::string& name, const ConfigOrigin& origin) {
    const std::string near = suggestions_.section(name);
    if (near.empty() && report_word_of_others(name, origin)) return;
    report(origin, fmt::format("unknown section '{}'{}", name, did_you_mean(near)));
    // Do not also report the intended key as missing.
    for (const ConfigKey& key : schema_.keys()) {
      if (key.section == near || key.path == near) bad_.insert(key.path);
    }
  }

  void unknown_key(const std::string& path, const ConfigOrigin& origin) {
    if (report_word_of_others(path, origin)) return;
    const std::string section = path.substr(0, path.find('.'));
    const std::string near = suggestions_.key(section, path.substr(section.size() + 1));
    report(origin, fmt::format("unknown key '{}'{}", path, did_you_mean(near)));
    for (const std::string& meant : {fmt::format("{}.{}", section, near), near})
      for (const std::string& key : schema_.resolve(meant, out_.config)) bad_.insert(key);
  }

  void take_override(const std::string& text) {
    const ConfigOrigin origin{Source::kCommandLine, 0, 0,
                              shorten(fmt::format("command line: {}", text))};
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return report(origin, "an override is written section.key=value");
    }
    const std::string path = text.substr(0, equals);
    const std::string section = path.substr(0, path.find('.'));
    if (path.find('.') == std::string::npos && schema_.has_section(path)) {
      return report(origin, fmt::format("'{0}' is a section; override its keys one by one, "
                                        "{0}.key=value",
                                        path));
    }
    if (!schema_.has_section(section)) {
      const std::string_view name =
          path == section ? "" : std::string_view(path).substr(section.size() + 1);
      if (report_word_of_others(path, origin)) return;
      const std::string near =
          name.empty() ? suggestions_.section(section) : suggestions_.path(section, name);
      return report(origin, fmt::format("unknown key '{}'{}", path, did_you_mean(near)));
    }
    take_key(path, std::string_view(text).substr(equals + 1), origin);
  }

  /// A key that is given must have an effect, and one that is required and has an effect must be
  /// given. Keys of a file that have no effect because of the command line (for example another
  /// model) are dropped.
  void check_effect(const ConfigKey& key) {
    for (const ConfigKey* k = &key; k->when; k = schema_.find(k->when->key)) {
      if (bad_.contains(k->when->key)) return;  // the condition is unknown
    }
    const Condition* unmet = schema_.unmet(key, out_.config);
    if (unmet == nullptr) {
      if (key.required && !given(key.path) && !bad_.contains(key.path)) {
        report(blame(key.path),
               fmt::format("missing required key '{}' ({})", key.path, key.type_text()));
        bad_.insert(key.path);
      }
      return;
    }
    // The path may be that of another row's key.
    const ConfigKey* meant = schema_.find(key.path, out_.config);
    if (!given(key.path) || (meant != nullptr && meant != &key)) return;
    const ConfigOrigin origin = blame(key.path);
    const bool overridden = given(unmet->key) && blame(unmet->key).source == Source::kCommandLine;
    out_.origins.erase(out_.origins.find(key.path));  // reported or dropped once
    if (origin.source == Source::kFile && overridden) {
      if (key.row == nullptr) reset_value(key, out_.config);
      bad_.erase(key.path);
      return;
    }
    const ConfigKey& selector = *schema_.find(unmet->key);
    report(origin, as_written(fmt::format("'{}' has no effect with '{}: {}'", key.path, unmet->key,
                                          value_text(selector, out_.config)),
                              key.path));
  }

  /// Sets the keys of the model that only its folders give.
  void take_pretrained() {
    const Config asked = out_.config;
    for (const WeightFolder& folder : weight_folders(schema_, asked))
      if (given(folder.key) && !bad_.contains(folder.key)) take_pretrained(folder);
  }

  void take_pretrained(const WeightFolder& folder) {
    const bool may_be_gone =
        folder_ == Folder::kMayBeGone || out_.config.checkpoint.resume != "none";
    std::error_code error;
    if (!std::filesystem::exists(folder.path, error)) {
      std::string problem = as_written(
          fmt::format("'{}' {}: no such run, checkpoint or folder", folder.key, folder.path),
          folder.key);
      out_.missing_folder = fmt::format("{}: {}", out_.where(folder.key), problem);
      if (!may_be_gone) report(blame(folder.key), std::move(problem));
    } else {
      try {
        FolderKeys keys = take_folder_keys(
            schema_, folder, [this](std::string_view path) { return given(path); }, out_.config);
        std::ranges::move(keys.overruled, std::back_inserter(out_.overruled));
        for (std::string& problem : keys.problems) report(blame(folder.key), std::move(problem));
      } catch (const Error& problem) {
        report(blame(folder.key), problem.what());
      }
      if (problems_.empty()) return;
    }
    // Rules about keys that were not given would mislead.
    for (const ConfigKey& key : schema_.keys())
      if (key.section == "model") bad_.insert(key.path);
    bad_.insert("tokenizer.type");
  }

  void raise_problems() {
    if (problems_.empty()) return;
    std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
      const auto order = [](const Problem& p) {
        return std::tuple(p.origin.source, p.origin.line, p.origin.column);
      };
      return order(a) < order(b);
    });
    // An alias of several keys was written only once.
    const auto repeated = std::ranges::unique(problems_, [](const Problem& a, const Problem& b) {
      return a.origin.text == b.origin.text && a.message == b.message;
    });
    problems_.erase(repeated.begin(), repeated.end());
    std::vector<std::string> lines;
    for (const Problem& p : problems_) {
      if (lines.size() == kMaxProblems) break;
      lines.push_back(shorten(p.origin.text + ": " + p.message));
    }
    if (problems_.size() > kMaxProblems)
      lines.push_back(fmt::format("and {} more", problems_.size() - kMaxProblems));
    raise(ErrorKind::kUsage, "{}", fmt::join(lines, "\n"));
  }

  const Schema schema_;
  const Folder folder_;
  LoadedConfig out_;
  const Suggestions suggestions_{schema_, out_.config};
  std::vector<Problem> problems_;
  /// Keys whose value was refused: rules about them would mislead.
  std::set<std::string, std::less<>> bad_;
  /// The name of a key in the config, by its path.
  std::map<std::string, std::string, std::less<>> written_;
};

std::string read_yaml_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    raise(ErrorKind::kUsage, "{}: no such file; name a YAML config such as configs/gpt_char.yaml",
          path);
  }
  if (status.type() == std::filesystem::file_type::directory) {
    raise(ErrorKind::kUsage, "{}: a folder; name a YAML config inside it", path);
  }
  // One byte more than allowed is enough for parse_yaml to refuse it.
  std::string text(kMaxYamlBytes + 1, '\0');
  const PosixFile file = PosixFile::open(path, ErrorKind::kUsage);
  text.resize(file.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace

std::string LoadedConfig::where(std::string_view path) const {
  if (const auto key = origins.find(path); key != origins.end()) return key->second.text;
  const auto section = origins.find(path.substr(0, path.find('.')));
  return section == origins.end() ? file : section->second.text;
}

LoadedConfig load_config(const std::string& path, const Registry& registry,
                         std::span<const std::string> overrides, bool may_go_on) {
  const auto folder = may_go_on ? ConfigLoader::Folder::kMayBeGone : ConfigLoader::Folder::kIsRead;
  return ConfigLoader(path, registry, folder).load(read_yaml_file(path), overrides);
}

LoadedConfig parse_config(std::string_view text, const std::string& file, const Registry& registry,
                          std::span<const std::string> overrides) {
  return ConfigLoader(file, registry, ConfigLoader::Folder::kIsPassedOver).load(text, overrides);
}

LoadedConfig parse_new_config(std::string_view text, const std::string& file,
                              const Registry& registry, std::span<const std::string> overrides) {
  return ConfigLoader(file, registry, ConfigLoader::Folder::kIsRead).load(text, overrides);
}

std::vector<MissingRow> find_missing_rows(std::string_view yaml, const Registry& registry) {
  std::vector<YamlIssue> issues;
  const YamlNode root = parse_yaml(yaml, issues);
  std::vector<MissingRow> out;
  for (const RowSection& section : row_sections()) {
    std::vector<std::string> names;
    for (const Row* row : section.rows(registry)) names.push_back(row->name);
    for (const YamlEntry& entry : root.entries)
      for (const YamlEntry& key : entry.value.entries) {
        const bool chooses = fmt::format("{}.{}", entry.key, key.key) == section.selector;
        if (chooses && std::ranges::find(names, key.value.text) == names.end())
          out.push_back({section.what, key.value.text, names});
      }
  }
  return out;
}

}  // namespace lockstep

#include "trainer/init/first_files.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/error.h"
#include "data/files/printable.h"
#include "trainer/config/values.h"
#include "trainer/init/embedded_templates.h"
#include "trainer/init/found_data.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

using TemplateValues = std::map<std::string, std::string>;

std::string_view template_text(std::string_view name) {
  for (const EmbeddedTemplate& row : embedded_templates())
    if (row.name == name) return row.text;
  LS_CHECK(false, "no template '{}'", name);
  return {};
}

/// Each @name@ becomes its value, which is not looked into. A single @ stays.
std::string filled(std::string_view text, const TemplateValues& values) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = text.find('@', at);
    const std::size_t end = begin == text.npos
                                ? begin
                                : text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin + 1);
    out += text.substr(at, begin == text.npos ? begin : begin - at);
    if (begin == text.npos) break;
    if (end == text.npos || text[end] != '@' || end == begin + 1) {
      out += '@';
      at = begin + 1;
      continue;
    }
    const std::string name(text.substr(begin + 1, end - begin - 1));
    const auto value = values.find(name);
    LS_CHECK(value != values.end(), "a template has @{}@, which has no value", name);
    out += value->second;
    at = end + 1;
  }
  return out;
}

/// Comments behind values begin at one column where there is room. A quote may hold "  # ".
std::string aligned(std::string_view text) {
  constexpr std::size_t kColumn = 26;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::size_t comment = line.find("  # ");
    const bool moves = comment != line.npos && comment > 0 && line.find('"') == line.npos;
    const std::size_t value = moves ? line.find_last_not_of(' ', comment) + 1 : line.size();
    out += line.substr(0, value);
    if (moves) {
      out.append(std::max(kColumn, value + 2) - value, ' ');
      out += line.substr(line.find('#', comment));
    }
    out += '\n';
    at = end + 1;
  }
  return out;
}

std::string replaced(std::string text, std::string_view old, std::string_view with) {
  std::size_t at = text.find(old);
  LS_CHECK(at != text.npos, "the example of an own model has no '{}'", old);
  for (; at != text.npos; at = text.find(old, at + with.size())) text.replace(at, old.size(), with);
  return text;
}

using DataFinder = std::optional<FoundData> (*)(const std::string&);

struct DataTask {
  FirstTask task;
  DataFinder find;
  const char* needs;
};

/// In the order in which a task is chosen for data: that of captions has images, too, and both may
/// have texts.
constexpr DataTask kDataTasks[] = {
    {FirstTask::kCaptions, find_captions,
     "JSON Lines such as {\"image\": \"a.png\", \"caption\": \"a cat\"}, or a folder with them"},
    {FirstTask::kImages, find_images,
     "a folder with a folder of PNG or JPEG files for each class, or IDX files"},
    {FirstTask::kText, find_texts, "a text file, JSON Lines, or a folder of .txt files"}};

const DataTask& data_task(FirstTask task) {
  return *std::ranges::find(kDataTasks, task, &DataTask::task);
}

bool fits(const DataTask& row, const std::string& path) {
  try {
    return row.find(path).has_value();
  } catch (const Error&) {
    return false;
  }
}

bool is_empty_folder(const std::string& path) {
  return is_folder(path) && entries_of(path).empty();
}

[[noreturn]] void refuse_data(const std::string& path, FirstTask task) {
  for (const DataTask& row : kDataTasks)
    if (row.task != task && fits(row, path))
      raise(ErrorKind::kUsage, "{}: not data for --task {}, but --task {} fits it", printable(path),
            name_of(task), name_of(row.task));
  raise(ErrorKind::kUsage, "{}: nothing that --task {} trains on: it takes {}", printable(path),
        name_of(task), data_task(task).needs);
}

std::pair<FirstTask, FoundData> find_data(std::optional<FirstTask> task, const std::string& given) {
  std::string path = fs::path(given).lexically_normal().string();  // "./a//b/" -> "a/b"
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::error_code error;
  LS_USER_CHECK(fs::exists(path, error), "{}: no such file or folder (--data)", printable(path));
  LS_USER_CHECK(!is_empty_folder(path), "{}: an empty folder (--data)", printable(path));
  if (task) {
    if (auto found = data_task(*task).find(path)) return {*task, std::move(*found)};
    refuse_data(path, *task);
  }
  for (const DataTask& row : kDataTasks)
    if (auto found = row.find(path)) return {row.task, std::move(*found)};
  std::string needs;
  for (const DataTask& row : kDataTasks)
    needs += fmt::format("\n  --task {}: {}", name_of(row.task), row.needs);
  raise(ErrorKind::kUsage, "{}: nothing that can be trained on:{}", printable(path), needs);
}

/// What the config of a task names if no data was given.
FoundData data_to_come(FirstTask task) {
  FoundData out{.what = "what you put there"};
  if (task == FirstTask::kText) {
    out.part = "data_text";
    out.paths = {"my_text.txt"};
  } else if (task == FirstTask::kImages) {
    out.part = "data_image_folder";
    out.paths = {"my_images"};
    out.values = {{"classes", "10"}, {"side", "64"}, {"channels", "3"}};
  } else {
    out.paths = {"my_captions/captions.jsonl"};
    out.values = {{"end", "0"}};
  }
  out.note = fmt::format(
      "without --data: put {} at {}, or set data.path{}",
      task == FirstTask::kText     ? "a text"
      : task == FirstTask::kImages ? "a folder of images for each class"
                                   : "lines such as {\"image\": \"a.png\", \"caption\": \"a cat\"}",
      out.paths[0],
      task == FirstTask::kImages ? ", and model.n_classes to the number of classes" : "");
  return out;
}

/// One path as a text, several as a list with a line for each.
std::string yaml_paths(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return string_text(paths[0]);
  std::string out = "[";
  for (const std::string& path : paths) out += fmt::format("\n    {},", string_text(path));
  out.back() = ']';
  return out;
}

/// How long a small model trains: about 20 times through little data, some minutes on much of it.
void add_lengths(const FoundData& data, TemplateValues& to) {
  constexpr std::int64_t kLargestBatch = 32;
  constexpr std::int64_t kEpochs = 20;
  constexpr std::int64_t kMostSteps = 3000;
  std::int64_t batch = kLargestBatch;
  while (data.samples > 0 && batch > 4 && data.samples < 4 * batch) batch /= 2;
  const std::int64_t epoch = std::max<std::int64_t>(data.samples / batch, 1);
  const std::int64_t steps = data.samples == 0
                                 ? kMostSteps / 2
                                 : std::clamp<std::int64_t>(kEpochs * epoch, 200, kMostSteps);
  const bool validates = !data.val_path.empty() || data.values.contains("ranges");
  const std::int64_t interval = std::min(std::max(epoch, steps / 10), steps);
  to["batch"] = std::to_string(batch);
  to["micro"] = std::to_string(batch / 4);
  to["epoch"] = data.samples == 0 ? "as many as the data fills" : std::to_string(epoch);
  to["steps"] = std::to_string(steps);
  to["warmup"] = std::to_string(std::min<std::int64_t>(50, steps / 10));
  to["save"] = std::to_string(interval);
  to["evaluate"] = validates ? std::to_string(interval) : "0";
  to["why"] = validates ? "" : "; they need data.val_path";
}

std::string idx_validation(const FoundData& data) {
  if (!data.val_path.empty())
    return fmt::format("  val_path: {}  # images to validate on\n  val_labels: {}",
                       string_text(data.val_path), string_text(data.values.at("val_labels")));
  const std::string& ranges = data.values.at("ranges");
  const std::size_t space = ranges.find(' ');
  const std::string middle = ranges.substr(0, space);
  return fmt::format(
      "  train_range: [0, {}]  # the images to train on\n"
      "  val_range: [{}, {}]  # those to validate on: the last tenth",
      middle, middle, ranges.substr(space + 1));
}

std::string config_text(FirstTask task, const std::string& name, const std::string& file,
                        const FoundData& data) {
  TemplateValues values = data.values;
  values["name"] = name;
  values["file"] = file;
  values["what"] = printable(data.what);
  values["path"] = yaml_paths(data.paths);
  values["val_path"] = string_text(data.val_path);
  values["prompt"] = string_text(data.first_word.empty() ? "\n" : data.first_word);
  values.try_emplace("positions", "64");
  if (values.contains("labels")) values["labels"] = string_text(values["labels"]);
  if (values.contains("field")) values["field"] = string_text(values["field"]);
  if (data.part == "data_idx") values["validation"] = idx_validation(data);
  add_lengths(data, values);
  if (!data.part.empty()) values["data"] = filled(template_text(data.part), values);
  return aligned(filled(template_text(name_of(task)), values));
}

FirstFiles own_model(const std::string& name, const std::string& short_name) {
  // Its comment says how it is started, and where its run is.
  std::string source(template_text("main.cpp"));
  source = replaced(std::move(source), "build/release/bin/own_model", name + "/build/train");
  source = replaced(std::move(source), "runs/net", "runs/" + short_name);
  const std::string version(LOCKSTEP_VERSION);
  return {
      .files = {{name + "/main.cpp", source},
                {name + "/CMakeLists.txt",
                 filled(template_text("own_model"),
                        {{"version", version.substr(0, version.rfind('.'))}})}},
      .folder = name,
      .what = "a model with its data and its loop in C++",
      .note =
          "cmake must find lockstep: `cmake --install build/release --prefix FOLDER` in its "
          "source, "
          "and -DCMAKE_PREFIX_PATH=FOLDER behind the first command",
      .next = {fmt::format("cmake -S {} -B {}/build && cmake --build {}/build", name, name, name),
               fmt::format("lockstep launch -n 2 -- {}/build/train", name),
               fmt::format("lockstep ckpt ls runs/{}", short_name)}};
}

std::vector<std::string> next_commands(FirstTask task, const std::string& file,
                                       const std::string& run, const std::string& first_word) {
  std::vector<std::string> out{"lockstep config check " + file,
                               "lockstep launch -n 2 -- train " + file};
  if (task == FirstTask::kText)
    out.push_back(fmt::format("lockstep generate {}{}", run,
                              first_word.empty() ? "" : fmt::format(" --prompt {}", first_word)));
  if (task == FirstTask::kImages) out.push_back("lockstep predict " + run + " IMAGE.png");
  if (task == FirstTask::kCaptions)
    out.push_back("lockstep generate " + run + " --image IMAGE.png");
  return out;
}

std::string checked_name(std::string name) {
  constexpr std::string_view kEnding = ".yaml";
  if (name.ends_with(kEnding)) name.resize(name.size() - kEnding.size());
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  const std::string last = fs::path(name).filename().string();
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '/';
  });
  LS_USER_CHECK(plain && !last.empty() && last != "." && last != ".." && !last.starts_with('-'),
                "'{}' is no name for a job: letters, digits, '_', '-' and '.'; folders may stand "
                "before it",
                printable(name));
  return name;
}

}  // namespace

FirstFiles first_files(const std::string& name, std::optional<FirstTask> task,
                       const std::optional<std::string>& data) {
  const std::string job = checked_name(name);
  const std::string last = fs::path(job).filename().string();
  if (task == FirstTask::kOwnModel) {
    LS_USER_CHECK(!data,
                  "--data is not for --task own_model: its main.cpp makes its data, and you "
                  "change that");
    return own_model(job, last);
  }
  LS_USER_CHECK(task || data, "--task is missing: text, images, captions or own_model");
  const auto [chosen, found] =
      data ? find_data(task, *data) : std::pair{*task, data_to_come(*task)};
  const std::string file = job + ".yaml";
  return {.files = {{file, config_text(chosen, last, file, found)}},
          .what = found.what,
          .note = found.note,
          .next = next_commands(chosen, file, "runs/" + last, found.first_word)};
}

}  // namespace lockstep

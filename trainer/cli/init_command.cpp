#include <filesystem>
#include <iterator>
#include <ostream>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/suggest.h"
#include "trainer/cli/commands.h"
#include "trainer/config/load.h"
#include "trainer/init/first_files.h"

namespace lockstep {
namespace {

std::optional<FirstTask> first_task(const Arguments& arguments) {
  const auto word = arguments.value("task");
  if (!word) return std::nullopt;
  constexpr auto& kNames = EnumNames<FirstTask>::kNames;
  const auto found = std::ranges::find(kNames, *word);
  LS_USER_CHECK(found != kNames.end(),
                "--task must be text, images, captions or own_model, not '{}'{}", *word,
                did_you_mean(nearest_word(*word, kNames)));
  return static_cast<FirstTask>(std::distance(kNames.begin(), found));
}

/// Nothing of the user's is replaced.
void refuse_existing(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  LS_USER_CHECK(type == std::filesystem::file_type::not_found,
                "{} is there already: choose another name, or move it away", path);
}

void write_first_files(const FirstFiles& first) {
  if (!first.folder.empty()) {
    refuse_existing(first.folder);
    std::error_code error;
    std::filesystem::create_directories(first.folder, error);
    LS_USER_CHECK(!error, "{}: the folder cannot be made: {}", first.folder, error.message());
  }
  for (const FirstFile& file : first.files) {
    refuse_existing(file.path);
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, error);  // else the file fails
    write_file(file.path, file.text, ErrorKind::kUsage);
  }
}

int run_init(const CommandCall& call) {
  const FirstFiles first = first_files(call.arguments.positionals()[0], first_task(call.arguments),
                                       call.arguments.value("data"));
  if (first.folder.empty()) {
    // A name of a file that the config cannot hold is found here, before anything is written.
    (void)parse_config(first.files[0].text, first.files[0].path, call.registry);
  }
  write_first_files(first);
  for (const FirstFile& file : first.files) call.out << "wrote " << file.path << "\n";
  call.out << "data: " << first.what << "\n";
  if (!first.note.empty()) call.out << "note: " << first.note << "\n";
  call.out << "next:\n";
  for (const std::string& command : first.next) call.out << "  " << command << "\n";
  return 0;
}

}  // namespace

CliCommand init_command() {
  return {.name = "init",
          .positionals = {"NAME"},
          .help = "write a config with comments for your data, or the source of an own model",
          .details =
              "Writes NAME.yaml for a small model that trains in minutes, and prints the next\n"
              "commands. own_model writes a folder NAME with main.cpp and CMakeLists.txt. Nothing\n"
              "that exists is replaced.\n",
          .options = {{"task", "TASK",
                       "text, images, captions or own_model; by default what the "
                       "data fits"},
                      {"data", "PATH",
                       "a text file or a folder of them, JSON Lines, a folder of images for each "
                       "class, IDX files, or captions"}},
          .exits = {3},
          .run = run_init};
}

}  // namespace lockstep

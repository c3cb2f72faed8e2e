#include "trainer/init/found_data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "data/files/printable.h"

namespace lockstep {
namespace {

/// Enough for the first line of nearly all files of JSON Lines.
constexpr std::size_t kFirstBytes = std::size_t{1} << 16;

}  // namespace

std::string first_bytes(const std::string& path) {
  // A pipe or a device could wait, or have no end.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    raise(ErrorKind::kData, "{}: not a regular file", printable(path));
  std::ifstream file(path, std::ios::binary);
  std::string out(kFirstBytes, '\0');
  file.read(out.data(), static_cast<std::streamsize>(out.size()));
  if (file.bad() || (file.fail() && !file.eof()))
    raise(ErrorKind::kData, "{}: cannot be read", printable(path));
  out.resize(static_cast<std::size_t>(file.gcount()));
  return out;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> out;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (!entry.path().filename().string().starts_with('.'))
        out.push_back(entry.path().lexically_normal().string());
  } catch (const std::filesystem::filesystem_error& error) {
    raise(ErrorKind::kData, "{}: cannot be read: {}", printable(folder), error.code().message());
  }
  std::ranges::sort(out);
  return out;
}

std::string extension_of(const std::string& path) {
  std::string out = std::filesystem::path(path).extension().string();
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool is_json_lines_name(const std::string& path) {
  const std::string extension = extension_of(path);
  return extension == ".jsonl" || extension == ".ndjson";
}

}  // namespace lockstep

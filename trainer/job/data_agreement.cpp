#include "trainer/job/data_agreement.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/base/metrics.h"
#include "core/engine/artifact_store.h"
#include "data/files/file_hash.h"
#include "data/samples/fetch.h"
#include "trainer/config/schema.h"
#include "trainer/config/values.h"
#include "trainer/job/agreement.h"

namespace lockstep {
namespace {

constexpr std::size_t kPieces = 256;  ///< into which a file is divided repeatedly
constexpr std::int64_t kYoungNs = 2'000'000'000;

/// A file of the config, identified by its place there: its path may differ between ranks.
struct DataFile {
  std::string key;
  std::string path;
  std::uint64_t bytes = 0;
  std::string problem;     ///< why it cannot be read; "" if it can
  bool in_folder = false;  ///< the config names its folder
};

struct FileIdentity {
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t bytes;
  std::int64_t modified_ns;
  std::int64_t changed_ns;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

std::int64_t in_ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::optional<FileIdentity> identify(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                      in_ns(status.st_mtim), in_ns(status.st_ctim)};
}

bool is_young(const FileIdentity& file) {
  const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  return now - std::max(file.modified_ns, file.changed_ns) < kYoungNs;
}

void add_file(const std::string& key, const std::string& path, bool in_folder,
              std::vector<DataFile>& to) {
  struct stat status {};
  DataFile file{key, path, 0, "", in_folder};
  if (::stat(path.c_str(), &status) != 0) {
    file.problem = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    file.problem = "not a regular file";
  } else {
    file.bytes = static_cast<std::uint64_t>(status.st_size);
  }
  to.push_back(std::move(file));
}

/// The files that the config has read, in the order of the schema, the same on all ranks.
std::vector<DataFile> files_of(const Config& config, const Registry& registry) {
  const Schema schema(registry);
  std::vector<DataFile> out;
  for (const ConfigKey& key : schema.keys()) {
    if (!key.file || schema.unmet(key, config) != nullptr) continue;
    const std::vector<std::string> paths = texts_of(key, config);
    std::vector<std::string> in_folder;
    if (key.files_in != nullptr && !paths.empty())
      in_folder = key.files_in(paths[0], key.object_in(config));
    // By their names in the folder, which may have a meaning: the class of an image.
    for (const std::string& file : in_folder)
      add_file(fmt::format("{}/{}", key.path,
                           std::filesystem::path(file).lexically_relative(paths[0]).string()),
               file, /*in_folder=*/true, out);
    // A folder without the required files is represented by itself.
    if (!in_folder.empty()) continue;
    for (std::size_t i = 0; i < paths.size(); ++i)
      add_file(paths.size() == 1 ? key.path : fmt::format("{}[{}]", key.path, i), paths[i],
               /*in_folder=*/false, out);
  }
  return out;
}

/// The hash of the whole file, computed or from the cache.
Hash128 whole_hash(const DataFile& file, ArtifactStore& kept, Activity activity) {
  const std::string& path = file.path;
  if (file.in_folder) return hash_file(path, activity);
  const std::optional<FileIdentity> before = identify(path);
  const bool keeps = kept.enabled() && before && !is_young(*before);
  constexpr char kPurpose[] = "file hash";
  Hasher key;
  key.bytes(kPurpose, sizeof kPurpose);
  if (before) key.value(*before);
  Hash128 out;
  if (keeps) {
    const std::optional<std::string> found = kept.load(key.finish());
    if (found && found->size() == sizeof out) {
      std::memcpy(&out, found->data(), sizeof out);
      return out;
    }
  }
  out = hash_file(path, activity);
  if (keeps && identify(path) == before)
    kept.save(key.finish(), {reinterpret_cast<const char*>(&out), sizeof out});
  return out;
}

HashCoverage coverage_of(const std::vector<DataFile>& files, const HashLimits& limits) {
  std::uint64_t bytes = 0;
  for (const DataFile& file : files) bytes += file.bytes;
  return hash_coverage(files.size(), bytes, limits);
}

std::vector<Term> terms_of(std::vector<DataFile>& files, HashCoverage coverage, ArtifactStore& kept,
                           Activity activity) {
  std::vector<Term> out;
  for (DataFile& file : files) {
    std::string value;
    try {
      if (file.problem.empty()) {
        value = fmt::format("{} bytes", file.bytes);
        if (coverage == HashCoverage::kWhole)
          value += ", hash " + whole_hash(file, kept, activity).hex();
        else if (is_hashed(out.size(), files.size(), coverage))
          value += ", hash of probes " + hash_probes(file.path, kProbes, kProbeBytes).hex();
        activity.progress();
      }
    } catch (const Error& e) {
      file.problem = e.what();
    }
    if (!file.problem.empty()) value = fmt::format("cannot be read, {}", file.problem);
    out.push_back({file.key, value, file.path});
  }
  return out;
}

/// The first byte in which the file differs between ranks. All ranks call it, for a file that each
/// of them can read.
std::string describe_first_difference(Communicator& communicator, const DataFile& file,
                                      Activity activity) {
  std::uint64_t begin = 0;
  std::uint64_t end = file.bytes;
  for (const std::string& size : communicator.exchange("file sizes", std::to_string(file.bytes)))
    end = std::min<std::uint64_t>(end, std::stoull(size));
  const std::uint64_t shortest = end;
  while (begin < end) {
    const std::vector<Hash128> mine = hash_pieces(file.path, begin, end, kPieces, activity);
    const std::string bytes(reinterpret_cast<const char*>(mine.data()),
                            mine.size() * sizeof(Hash128));
    std::size_t piece = kPieces;
    const std::vector<std::string> all = communicator.exchange("pieces of a file", bytes);
    for (const std::string& theirs : all) {
      const auto [a, b] = std::mismatch(all[0].begin(), all[0].end(), theirs.begin(), theirs.end());
      piece = std::min(piece, static_cast<std::size_t>(a - all[0].begin()) / sizeof(Hash128));
    }
    if (piece == kPieces) break;
    const std::uint64_t size = (end - begin + kPieces - 1) / kPieces;
    begin += piece * size;
    end = std::min(end, begin + size);
    if (size == 1) return fmt::format("\n  {} differs first in byte {}", file.key, begin);
  }
  return fmt::format("\n  {}: the first {} bytes are equal", file.key, shortest);
}

/// Where the first file that all ranks can read and that is not equal on them differs; "" if there
/// is none, or if the ranks' lists of files do not match.
std::string describe_first_file(Communicator& communicator, const std::vector<DataFile>& files,
                                const std::vector<Term>& terms, Activity activity) {
  std::string mine;
  for (std::size_t i = 0; i < files.size(); ++i)
    mine += fmt::format("{}\t{}\t{}\n", files[i].problem.empty() ? "ok" : "missing", files[i].key,
                        terms[i].value);
  const std::vector<std::string> all = communicator.exchange("states of files", mine);
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  };
  const std::vector<std::string> first = lines_of(all[0]);
  const auto key_of = [](const std::string& line) {
    const std::size_t begin = line.find('\t') + 1;
    return line.substr(begin, line.find('\t', begin) - begin);
  };
  std::vector<bool> readable(first.size(), true);
  std::vector<bool> equal(first.size(), true);
  for (const std::string& text : all) {
    const std::vector<std::string> lines = lines_of(text);
    if (!std::ranges::equal(lines, first, {}, key_of, key_of)) return "";
    for (std::size_t i = 0; i < lines.size(); ++i) {
      readable[i] = readable[i] && lines[i].starts_with("ok");
      equal[i] = equal[i] && lines[i] == first[i];
    }
  }
  for (std::size_t i = 0; i < first.size(); ++i)
    if (readable[i] && !equal[i])
      return describe_first_difference(communicator, files[i], activity);
  return "";
}

/// How much of the files was compared, for people.
std::string describe_coverage(const std::vector<DataFile>& files, HashCoverage coverage) {
  double bytes = 0, compared = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto of_file = static_cast<double>(files[i].bytes);
    bytes += of_file;
    if (coverage == HashCoverage::kWhole)
      compared += of_file;
    else if (is_hashed(i, files.size(), coverage))
      compared += std::min(of_file, static_cast<double>(kProbes * kProbeBytes));
  }
  return fmt::format("{:.3g} % of {}{}", bytes > 0 ? 100 * compared / bytes : 100.0,
                     format_bytes(bytes),
                     coverage == HashCoverage::kProbesOfSome
                         ? fmt::format(" and the names and sizes of {} files", files.size())
                         : "");
}

/// The hash of samples that are evenly spaced from the first to the last.
std::string hash_probes(const Dataset& dataset) {
  const std::int64_t last = dataset.size() - 1;
  const std::int64_t probes = std::min<std::int64_t>(kProbes, dataset.size());
  Hasher out;
  for (std::int64_t i = 0; i < probes; ++i)
    out.value(hash_sample(dataset, probes == 1 ? 0 : last * i / (probes - 1)));
  return "hash " + out.finish().hex();
}

}  // namespace

bool agree_on_files(Communicator& communicator, const Config& config, const Registry& registry,
                    const DataAgreementOptions& options, Log& log) {
  if (communicator.size() == 1) return true;
  std::vector<DataFile> files = files_of(config, registry);
  // Numbers or sizes that differ between ranks are always a difference.
  const HashCoverage coverage = coverage_of(files, options.limits);
  ArtifactStore kept({.folder = options.cache_folder, .on_warning = options.on_warning}, log);
  const std::vector<Term> terms = terms_of(files, coverage, kept, options.activity);
  if (const auto differences = find_differences(communicator, terms))
    raise(ErrorKind::kData, "the ranks were given different data:\n{}{}", *differences,
          describe_first_file(communicator, files, terms, options.activity));
  if (files.empty()) {
    log.info("data: made by the config, which was compared between {} ranks", communicator.size());
    return false;
  }
  log.info("data: {} compared between {} ranks", describe_coverage(files, coverage),
           communicator.size());
  return coverage == HashCoverage::kWhole;
}

void agree_on_datasets(Communicator& communicator, const DataSource& data) {
  if (communicator.size() == 1) return;
  const auto size_of = [](const DatasetPtr& dataset) {
    return dataset == nullptr ? std::string("none") : std::to_string(dataset->size());
  };
  std::vector<Term> terms{
      {"training samples", size_of(data.train), ""},
      {"validation samples", size_of(data.validation), ""},
      {"tokenizer", data.tokenizer == nullptr ? "none" : data.tokenizer->digest(), ""}};
  if (data.train->source(0).empty())
    terms.push_back({fmt::format("{} of the training samples", kProbes), hash_probes(*data.train)});
  require_agreement(communicator, terms, ErrorKind::kData);
}

}  // namespace lockstep

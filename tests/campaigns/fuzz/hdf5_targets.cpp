// HDF5 files of users: the inputs of `lockstep ir run`, and labelled images.
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <filesystem>

#include "checkpoint/tensors_file.h"
#include "tests/campaigns/fuzz/target.h"
#include "tests/checkpoint/hdf5_samples.h"
#include "tests/fixtures/file_contents.h"
#include "trainer/datasets/hdf5_data.h"

namespace lockstep::fuzz {
namespace {

using samples::Hdf5Version;
using samples::SampleDataset;
using samples::SampleFile;

/// The HDF5 library wants a file that has a name.
class DiskFile {
 public:
  DiskFile() { LS_CHECK(mkdtemp(folder_.data()) != nullptr, "no temporary folder"); }
  ~DiskFile() { std::filesystem::remove_all(folder_); }
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  std::string path() const { return folder_ + "/a.h5"; }

 private:
  std::string folder_ = (std::filesystem::temp_directory_path() / "ls-fuzz-XXXXXX").string();
};

std::string bytes_of(const SampleFile& sample) {
  const DiskFile file;
  samples::write_sample(file.path(), sample);
  return contents_of(file.path());
}

std::vector<std::string> tensors() {
  std::vector<std::string> out;
  for (const SampleFile& sample : samples::small_samples()) out.push_back(bytes_of(sample));
  for (const Hdf5Version version : {Hdf5Version::kEarliest, Hdf5Version::kLatest}) {
    const DiskFile file;
    const std::string path = file.path();
    samples::write_sample(path, {.version = version, .datasets = {{.path = "/x", .sizes = {4}}}});
    samples::add_hard_link(path, "again", "/x");
    out.push_back(contents_of(path));
    samples::add_soft_link(path, "soft", "/x");
    samples::add_external_link(path, "away", "b.h5", "/x");
    samples::add_virtual(path, "virtual", 4, ".", "x");
    samples::add_external_storage(path, "raw", 4, "/dev/zero");
    out.push_back(contents_of(path));
  }
  return out;
}

std::vector<std::string> images() {
  std::vector<std::string> out;
  for (const Hdf5Version version : {Hdf5Version::kEarliest, Hdf5Version::kLatest}) {
    SampleDataset images{.path = "/train/images", .sizes = {5, 2, 3}};
    SampleDataset labels{.path = "/train/labels", .type = SampleDataset::Type::kI64, .sizes = {5}};
    out.push_back(bytes_of({.version = version, .datasets = {images, labels}}));
    images.chunk = {2, 2, 2};
    images.shuffle = images.gzip = images.fletcher32 = true;
    labels.chunk = {2};
    labels.max_sizes = {0};
    out.push_back(bytes_of({.version = version, .datasets = {images, labels}}));
  }
  return out;
}

std::string refusal_of(void (*run)(const std::string&), const std::string& input) {
  try {
    run(input);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void run_tensors(const std::string& input) {
  const MemoryFile file(input);
  (void)read_tensors_file(file.path());
}

void run_images(const std::string& input) {
  const MemoryFile file(input);
  const Hdf5Data data{
      .path = file.path(), .image_dataset = "train/images", .label_dataset = "train/labels"};
  const DataSource source =
      data.open({.needs = {.inputs = "images", .n_classes = 10, .image = {{1, 2, 3}}}});
  (void)source.train->digest();
}

/// Most checksums are right: what the first wrong one should be, the refusal says.
void seal(void (*run)(const std::string&), std::string& input, std::mt19937_64& random) {
  constexpr int kMaxSums = 32;
  if (random() % 16 == 0) return;
  for (int i = 0; i < kMaxSums; ++i) {
    const std::string refusal = refusal_of(run, input);
    constexpr std::string_view kPlace = "the checksum at byte ";
    const std::size_t found = refusal.find(kPlace);
    if (found == std::string::npos) return;
    std::size_t place = 0;
    std::uint32_t sum = 0;
    constexpr std::size_t kDigits = 8;
    std::from_chars(refusal.data() + found + kPlace.size(), refusal.data() + refusal.size(), place);
    std::from_chars(refusal.data() + refusal.size() - kDigits, refusal.data() + refusal.size(), sum,
                    16);
    if (place + sizeof sum > input.size()) return;
    std::memcpy(input.data() + place, &sum, sizeof sum);
  }
}

}  // namespace

std::vector<Target> hdf5_targets() {
  const std::vector<std::string_view> words = {
      "TREE",
      "SNOD",
      "HEAP",
      "GCOL",
      "OHDR",
      "OCHK",
      "FRHP",
      "FHDB",
      "FHIB",
      "BTHD",
      "BTLF",
      "BTIN",
      "FAHD",
      "FADB",
      "EAHD",
      "EAIB",
      "EADB",
      "EASB",
      "\x89HDF\r\n\x1a\n",
      std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff", 8)};
  return {
      {.name = "hdf5_tensors",
       .refusal = ErrorKind::kUsage,
       .seeds = tensors,
       .words = words,
       .run = run_tensors,
       .seal = [](std::string& input,
                  std::mt19937_64& random) { seal(run_tensors, input, random); },
       .place = "/proc/self/fd/"},
      {.name = "hdf5_images",
       .refusal = ErrorKind::kData,
       .seeds = images,
       .words = words,
       .run = run_images,
       .seal = [](std::string& input, std::mt19937_64& random) { seal(run_images, input, random); },
       .place = "/proc/self/fd/"}};
}

}  // namespace lockstep::fuzz

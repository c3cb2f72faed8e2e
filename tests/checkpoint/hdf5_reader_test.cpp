// Files of users: those of other programs are read; a link out of a file or damage is refused, and
// the message names it.
#include "checkpoint/hdf5_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/hdf5_samples.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using samples::Hdf5Version;
using samples::SampleDataset;
using samples::SampleFile;
using samples::write_sample;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::write_bytes;

const Hdf5Limit kLimit{.gigabytes = 1, .changed_by = "the test"};

HostTensor read_hdf5(const std::string& path, const std::string& name,
                     const Hdf5Limit& limit = kLimit) {
  const PosixFile file = PosixFile::open(path, ErrorKind::kData);
  return Hdf5Reader(file, limit).read(name);
}

std::string hdf5_error(const std::string& path, const std::string& name,
                       const Hdf5Limit& limit = kLimit) {
  return data_error([&] { read_hdf5(path, name, limit); });
}

/// Elements count up from 0.
void expect_read(const std::string& path, const SampleDataset& dataset) {
  const HostTensor tensor = read_hdf5(path, dataset.path);
  Shape shape;
  for (const std::uint64_t size : dataset.sizes) shape.push_back(static_cast<std::int64_t>(size));
  ASSERT_EQ(tensor.shape(), shape) << dataset.path;
  const std::vector<double> values = to_doubles(tensor);
  const bool wraps = tensor.dtype() == DType::kU8 || tensor.dtype() == DType::kBool;
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], static_cast<double>(wraps ? i % 256 : i)) << dataset.path << ", " << i;
}

TEST(Hdf5Reader, ReadsEveryWayOfStoringADataSet) {
  const TemporaryFolder folder;
  for (const SampleFile& sample : samples::small_samples()) {
    write_sample(folder / "a.h5", sample);
    for (const SampleDataset& dataset : sample.datasets) expect_read(folder / "a.h5", dataset);
    if (!sample.attributes.empty()) {
      EXPECT_EQ(read_hdf5(folder / "a.h5", sample.datasets[0].path).dtype(), DType::kBool)
          << "by an attribute among many";
    }
  }
}

TEST(Hdf5Reader, FollowsIndexesOfManyChunks) {
  // More than a node of a tree, a page of an array and the blocks of its index hold.
  const std::vector<SampleDataset> large = {
      {.path = "/fixed", .sizes = {90, 77}, .chunk = {1, 2}},
      {.path = "/growing", .sizes = {140'000}, .chunk = {1}, .max_sizes = {0}},
      {.path = "/growing_gzip",
       .sizes = {9, 311},
       .chunk = {2, 1},
       .max_sizes = {9, 0},
       .gzip = true},
      {.path = "/growing_twice", .sizes = {60, 70}, .chunk = {1, 1}, .max_sizes = {0, 0}}};
  const TemporaryFolder folder;
  for (const Hdf5Version version : {Hdf5Version::kEarliest, Hdf5Version::kLatest})
    for (const SampleDataset& dataset : large) {
      if (version == Hdf5Version::kEarliest && dataset.path == "/growing") continue;  // slow
      write_sample(folder / "a.h5", {.version = version, .datasets = {dataset}});
      expect_read(folder / "a.h5", dataset);
    }
}

TEST(Hdf5Reader, FindsDataSetsInGroupsOfManyMembers) {
  const TemporaryFolder folder;
  for (const Hdf5Version version : {Hdf5Version::kEarliest, Hdf5Version::kLatest}) {
    SampleFile file{.version = version};
    for (int i = 0; i < 600; ++i)
      file.datasets.push_back(
          {.path = "/train/images/" + std::string(40, 'x') + std::to_string(i), .sizes = {1}});
    write_sample(folder / "a.h5", file);
    for (const int i : {0, 1, 299, 599})
      expect_read(folder / "a.h5", file.datasets[static_cast<std::size_t>(i)]);
    EXPECT_EQ(hdf5_error(folder / "a.h5", "/train/labels"),
              folder / "a.h5: cannot open /train/labels: object 'labels' doesn't exist");
    EXPECT_EQ(hdf5_error(folder / "a.h5", "/train"), folder / "a.h5: /train is not a data set");
    EXPECT_EQ(hdf5_error(folder / "a.h5", file.datasets[0].path + "/x"),
              folder / "a.h5: " + file.datasets[0].path + " is not a group");
  }
}

/// A file with u8 [4] as /x, to be added to.
std::string small_file(const TemporaryFolder& folder, Hdf5Version version) {
  write_sample(folder / "a.h5", {.version = version, .datasets = {{.path = "/x", .sizes = {4}}}});
  return folder / "a.h5";
}

TEST(Hdf5Reader, RefusesWhatIsInAnotherFile) {
  const TemporaryFolder folder;
  write_bytes(folder / "secret", "pass");
  const std::string copy = "copy it into one file, with h5py: new['NAME'] = old['NAME'][()]";
  for (const Hdf5Version version : {Hdf5Version::kEarliest, Hdf5Version::kLatest}) {
    const std::string path = small_file(folder, version);
    const std::string is_virtual =
        " is a virtual data set: its elements are those of others, which may be in other files; ";
    samples::add_virtual(path, "of_missing", 4, folder / "nowhere.h5", "x");
    EXPECT_EQ(hdf5_error(path, "/of_missing"), path + ": /of_missing" + is_virtual + copy);
    samples::add_virtual(path, "of_itself", 4, ".", "of_itself");
    EXPECT_EQ(hdf5_error(path, "/of_itself"), path + ": /of_itself" + is_virtual + copy);
    samples::add_external_storage(path, "raw", 4, folder / "secret");
    EXPECT_EQ(hdf5_error(path, "/raw"),
              path + ": /raw keeps its elements in other files (external storage); " + copy);
    samples::add_external_link(path, "away", "b.h5", "/x");
    EXPECT_EQ(hdf5_error(path, "/away/y"),
              path +
                  ": /away is an external link, to another file (b.h5: /x), which is not followed; "
                  "copy its target, with h5py: new['NAME'] = old['NAME'][()]");
    samples::add_soft_link(path, "soft", "/x");
    EXPECT_THAT(hdf5_error(path, "/soft"),
                HasSubstr(": /soft is a soft link to '/x' and not a data set; name that instead"));
    expect_read(path, {.path = "/x", .sizes = {4}});
  }
}

TEST(Hdf5Reader, ReadsAnObjectOfTwoNamesOnce) {
  const TemporaryFolder folder;
  const std::string path = small_file(folder, Hdf5Version::kLatest);
  samples::add_hard_link(path, "y", "/x");
  samples::add_hard_link(path, "root", "/");
  const PosixFile file = PosixFile::open(path, ErrorKind::kData);
  // The limit is what one of them takes.
  Hdf5Reader hdf5(file, {.gigabytes = 4 * 0x1p-30, .changed_by = "the test"});
  EXPECT_EQ(to_doubles(hdf5.read("/x")), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(hdf5.read("/root/root/y").bytes().data(), hdf5.read("/x").bytes().data());
}

TEST(Hdf5Reader, RefusesWhatWasNeverWritten) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  for (const Hdf5Version version : {Hdf5Version::kEarliest, Hdf5Version::kLatest}) {
    write_sample(path, {.version = version,
                        .datasets = {{.path = "/none", .sizes = {4}, .written_rows = 0},
                                     {.path = "/some",
                                      .sizes = {10, 2},
                                      .chunk = {2, 2},
                                      .max_sizes = {0, 2},
                                      .written_rows = 7},
                                     {.path = "/empty", .sizes = {0, 2}}}});
    EXPECT_EQ(hdf5_error(path, "/none"), path + ": /none was never written");
    EXPECT_EQ(hdf5_error(path, "/some"),
              path +
                  ": /some has 5 chunks, of which 1 were never written; write them, or make the "
                  "data set smaller");
    EXPECT_EQ(read_hdf5(path, "/empty").shape(), (Shape{0, 2}));
  }
}

TEST(Hdf5Reader, RefusesMoreThanItsLimitBeforeReading) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_sample(path,
               {.datasets = {{.path = "/x", .sizes = {1024}}, {.path = "/y", .sizes = {1024}}}});
  const PosixFile file = PosixFile::open(path, ErrorKind::kData);
  Hdf5Reader hdf5(file, {.gigabytes = 1500 * 0x1p-30, .changed_by = "data.max_gb"});
  hdf5.read("/x");
  EXPECT_EQ(data_error([&] { hdf5.read("/y"); }),
            path +
                ": /y is u8[1024], 1.00KiB; at most 1.46KiB of a file are read, which "
                "data.max_gb changes");
}

TEST(Hdf5Reader, RefusesFiltersThatItDoesNotHave) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_sample(path, {.datasets = {{.path = "/x", .sizes = {8}, .chunk = {8}, .gzip = true}}});
  std::string bytes = contents_of(path);
  const std::size_t filter = bytes.find(std::string("\1\0\10\0\1\0\1\0deflate", 15));
  ASSERT_NE(filter, std::string::npos);
  bytes.replace(filter, 2, std::string("\x00\x7d", 2));  // LZF, as h5py has it
  write_bytes(path, bytes);
  EXPECT_EQ(hdf5_error(path, "/x"),
            path +
                ": /x went through filter 32000 (deflate), which is not supported (gzip, "
                "shuffle and fletcher32 are); write it anew with compression='gzip'");
}

TEST(Hdf5Reader, RefusesAFileThatIsCutOffOrChanged) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  for (const SampleFile& sample : samples::small_samples()) {
    write_sample(path, sample);
    const std::string good = contents_of(path);
    const std::string name = sample.datasets[0].path;
    for (std::size_t length = 0; length < good.size(); length += 499) {
      write_bytes(path, good.substr(0, length));
      EXPECT_THAT(hdf5_error(path, name), HasSubstr(path + ": ")) << length;
    }
    for (std::size_t at = 0; at < good.size(); at += 257) {
      std::string changed = good;
      changed[at] = static_cast<char>(changed[at] ^ 0x10);
      write_bytes(path, changed);
      const std::string error = hdf5_error(path, name);  // or it is read
      EXPECT_THAT(error, AnyOf("no error", HasSubstr(path + ": "))) << at;
    }
  }
}

TEST(Hdf5Reader, NoticesDamageThatAChecksumCovers) {
  const TemporaryFolder folder;
  const std::string path = small_file(folder, Hdf5Version::kLatest);
  std::string bytes = contents_of(path);
  const std::size_t header = bytes.find("OHDR");
  bytes[header + 8] = static_cast<char>(bytes[header + 8] ^ 1);
  write_bytes(path, bytes);
  EXPECT_THAT(hdf5_error(path, "/x"), HasSubstr("damaged HDF5: /: the checksum at byte "));
}

}  // namespace
}  // namespace lockstep

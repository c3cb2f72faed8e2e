#include "checkpoint/tensors_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/checkpoint/sample_state.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep {
namespace {

using testing::expect_equal;
using testing::sample_state;
using testing::write_bytes;

std::string tensors_file_error(const std::string& path) {
  return usage_error([&] { read_tensors_file(path); });
}

TEST(TensorsFile, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const NamedTensors tensors = sample_state().model;
  write_tensors_file(folder / "a.h5", tensors);
  expect_equal(read_tensors_file(folder / "a.h5"), tensors);
  EXPECT_EQ(folder.names().size(), 1U) << "a temporary was left behind";
}

TEST(TensorsFile, IsReplacedWhole) {
  const TemporaryFolder folder;
  write_tensors_file(folder / "a.h5", {{"x", HostTensor::scalar<float>(1)}});
  const std::string before = contents_of(folder / "a.h5");
  EXPECT_THROW(write_tensors_file(folder / "a.h5", {{"y", HostTensor()}}), Error);
  EXPECT_EQ(contents_of(folder / "a.h5"), before);
  write_tensors_file(folder / "a.h5", {{"y", HostTensor::scalar<float>(2)}});
  EXPECT_EQ(read_tensors_file(folder / "a.h5").at("y").as<float>()[0], 2);
}

TEST(TensorsFile, NamesWhatIsWrong) {
  const TemporaryFolder folder;
  EXPECT_EQ(tensors_file_error(folder / "none.h5"),
            folder / "none.h5" + ": No such file or directory");
  write_bytes(folder / "text.h5", "x: 1\n");
  EXPECT_EQ(tensors_file_error(folder / "text.h5"),
            folder / "text.h5" + ": cannot open as an HDF5 file: file signature not found");
  try {
    write_tensors_file(folder / "nowhere/a.h5", {});
    FAIL() << "wrote into a folder that does not exist";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("nowhere/"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("No such file or directory"));
  }
}

// Writes a file with h5py; `statements` use the file `f` and numpy as `np`.
bool write_with_h5py(const std::string& path, const std::string& statements) {
  const std::string command = "/usr/bin/python3 -c 'import h5py, numpy as np\nwith h5py.File(\"" +
                              path + "\", \"w\") as f:\n " + statements + "' 2>/dev/null";
  return std::system(command.c_str()) == 0;
}

#define SKIP_WITHOUT_H5PY(...) \
  if (!write_with_h5py(__VA_ARGS__)) GTEST_SKIP() << "needs /usr/bin/python3 with h5py"

TEST(TensorsFile, ReadsWhatH5pyWrites) {
  const TemporaryFolder folder;
  SKIP_WITHOUT_H5PY(folder / "a.h5",
                    "f[\"big_endian\"] = np.array([1.5, -2], \">f4\")\n"
                    " f[\"flags\"] = np.array([True, False])\n"
                    " f[\"half\"] = np.array([[0.5]], np.float16)\n"
                    " f.create_dataset(\"zipped\", data=np.arange(100), compression=\"gzip\")\n"
                    " f[\"bf\"] = np.array([0x3f80], np.uint16)\n"
                    " f[\"bf\"].attrs[\"dtype\"] = np.bytes_(\"bf16\")\n");
  const NamedTensors read = read_tensors_file(folder / "a.h5");
  EXPECT_EQ(to_doubles(read.at("big_endian")), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(read.at("flags").dtype(), DType::kBool);
  EXPECT_EQ(to_doubles(read.at("flags")), (std::vector<double>{1, 0}));
  EXPECT_EQ(read.at("half").shape(), (Shape{1, 1}));
  EXPECT_EQ(to_doubles(read.at("half")), (std::vector<double>{0.5}));
  EXPECT_EQ(to_doubles(read.at("zipped")).back(), 99);
  EXPECT_EQ(read.at("bf").dtype(), DType::kBF16);
  EXPECT_EQ(to_doubles(read.at("bf")), (std::vector<double>{1}));
}

TEST(TensorsFile, NamesAForeignType) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const std::string ours =
      "; tensors are f32, f64, f16, i32, i64, u8, bf16 (u16 with the attribute dtype = \"bf16\") "
      "or "
      "bool (u8 with the attribute dtype = \"bool\")";
  SKIP_WITHOUT_H5PY(path, "f[\"x\"] = np.array([1], np.int16)");
  EXPECT_EQ(tensors_file_error(path), path + ": /x is i16" + ours);
  ASSERT_TRUE(write_with_h5py(path, "f[\"x\"] = \"text\""));
  EXPECT_EQ(tensors_file_error(path), path + ": /x is a string" + ours);
  ASSERT_TRUE(
      write_with_h5py(path, "f[\"x\"] = np.array([1.0]); f[\"x\"].attrs[\"dtype\"] = \"bf16\""));
  EXPECT_EQ(tensors_file_error(path),
            path + ": /x has the attribute dtype = \"bf16\" but is f64; it must be u16");
}

TEST(TensorsFile, NamesWhatIsNoTensor) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  SKIP_WITHOUT_H5PY(path, "f.create_group(\"g\")");
  EXPECT_EQ(tensors_file_error(path),
            path + ": /g is not a data set; tensors stand at the top level of the file");
  ASSERT_TRUE(write_with_h5py(path, "f[\"x\"] = np.zeros([1] * 9, np.float32)"));
  EXPECT_EQ(tensors_file_error(path), path + ": /x has 9 dimensions; a tensor has at most 8");
  ASSERT_TRUE(write_with_h5py(path, "f[\"x\"] = h5py.Empty(\"f4\")"));
  EXPECT_EQ(tensors_file_error(path), path + ": /x is an empty data set without a shape");
  ASSERT_TRUE(
      write_with_h5py(path, "f.create_dataset(\"x\", (1 << 48, 16), np.float32, chunks=(1, 16))"));
  EXPECT_EQ(tensors_file_error(path),
            path +
                ": /x is f32[281474976710656,16], 16384.00TiB; at most 16.00GiB of a file are "
                "read, which --max-gb changes");
}

#undef SKIP_WITHOUT_H5PY

}  // namespace
}  // namespace lockstep

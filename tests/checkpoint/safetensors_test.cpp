#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "checkpoint/state.h"
#include "tests/checkpoint/safetensors_text.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::expect_equal;
using testing::safetensors_bytes;
using testing::sample_state;

const std::string kTwo = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                         R"("b":{"dtype":"U8","shape":[4],"data_offsets":[8,12]}})";

/// What a file of this header and so many bytes of data is refused with, without its path.
std::string header_error(const std::string& header, std::size_t data_bytes = 12) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("x.safetensors", safetensors_bytes(header, std::string(data_bytes, '\1')));
  const std::string message = error_of(ErrorKind::kCheckpoint, [&] { SafetensorsFile file(path); });
  const std::string begin = path + ": not a safetensors file: ";
  return message.starts_with(begin) ? message.substr(begin.size()) : message;
}

void write(const std::string& path, const NamedTensors& tensors) {
  std::vector<SafetensorsItem> items;
  for (const auto& [name, tensor] : tensors)
    items.push_back({name, tensor.dtype(), tensor.shape()});
  write_safetensors(path, items, {{"format", "pt"}},
                    [&](const std::string& name) { return tensors.at(name); });
}

NamedTensors tensors_in(const std::string& path) {
  const SafetensorsFile file(path);
  NamedTensors out;
  for (const SafetensorsEntry& entry : file.tensors()) out[entry.name] = file.read(entry);
  return out;
}

TEST(Safetensors, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const NamedTensors tensors = sample_state().model;
  write(folder / "a.safetensors", tensors);
  expect_equal(tensors_in(folder / "a.safetensors"), tensors);
  EXPECT_EQ(folder.names().size(), 1U) << "a temporary was left behind";
}

// The bytes of safetensors.serialize: the widest alignment first, then by name; compact JSON; a
// header that is padded to 8 bytes.
TEST(Safetensors, WritesTheLibrarysBytes) {
  const TemporaryFolder folder;
  write(folder / "a", {{"b", HostTensor::of(Shape{2}, std::vector<float>{1, 2})},
                       {"a", from_doubles(DType::kBF16, {1}, std::vector<double>{1})},
                       {"z", HostTensor::scalar<std::int64_t>(-1)},
                       {"A", HostTensor::of(Shape{1}, std::vector<float>{0})}});
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("z":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                       R"("A":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)"
                       R"("b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]},)"
                       R"("a":{"dtype":"BF16","shape":[1],"data_offsets":[20,22]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string data =
      std::string(8, '\xff') + std::string("\0\0\0\0\0\0\x80\x3f\0\0\0\x40\x80\x3f", 14);
  EXPECT_EQ(contents_of(folder / "a"), safetensors_bytes(header, data));
}

TEST(Safetensors, ReadsAllFloatsAsF32) {
  const TemporaryFolder folder;
  const std::vector<double> values = {1, -0.5, 65504, 0.0999755859375};
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64}) {
    const HostTensor tensor = from_doubles(dtype, {4}, values);
    write(folder / "a", {{"x", tensor}});
    const SafetensorsFile file(folder / "a");
    const HostTensor found = file.read_f32(file.tensors().at(0));
    ASSERT_EQ(found.dtype(), DType::kF32);
    EXPECT_EQ(to_doubles(found), to_doubles(tensor)) << name_of(dtype);
  }
}

TEST(Safetensors, WidensSmallIntegers) {
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "x", safetensors_bytes(R"({"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},)"
                             R"("b":{"dtype":"I16","shape":[1],"data_offsets":[2,4]},)"
                             R"("c":{"dtype":"BOOL","shape":[1],"data_offsets":[4,5]}})",
                             std::string("\xff\x7f\xfe\xff\x05", 5)));
  const NamedTensors found = tensors_in(path);
  EXPECT_EQ(to_doubles(found.at("a")), (std::vector<double>{-1, 127}));
  EXPECT_EQ(to_doubles(found.at("b")), std::vector<double>{-2});
  EXPECT_EQ(to_doubles(found.at("c")), std::vector<double>{1});
}

TEST(Safetensors, ReadsTensorsLargerThanAPiece) {
  const TemporaryFolder folder;
  std::vector<double> values(700'001);  // more than a MiB in either type
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 256);
  const HostTensor tensor = from_doubles(DType::kBF16, {700'001}, values);
  write(folder / "a", {{"x", tensor}});
  const SafetensorsFile file(folder / "a");
  EXPECT_EQ(to_doubles(file.read_f32(file.tensors().at(0))), values);
  EXPECT_EQ(to_doubles(file.read(file.tensors().at(0))), values);
}

RC_GTEST_PROP(Safetensors, GivesBackAnyTensors, ()) {
  const auto names = *rc::gen::container<std::vector<std::string>>(
      *rc::gen::inRange(0, 8), rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)));
  NamedTensors tensors;
  for (const std::string& name : names) {
    if (name == "__metadata__") continue;
    const auto dtype = static_cast<DType>(*rc::gen::inRange(0, 8));
    Shape shape;
    for (int rank = *rc::gen::inRange(0, 4); rank > 0; --rank)
      shape.push_back(*rc::gen::inRange(0, 4));
    const auto values = *rc::gen::container<std::vector<std::int16_t>>(
        static_cast<std::size_t>(shape.elements()), rc::gen::arbitrary<std::int16_t>());
    tensors[name] = from_doubles(dtype, shape, std::vector<double>(values.begin(), values.end()));
  }
  const TemporaryFolder folder;
  write(folder / "a", tensors);
  const NamedTensors found = tensors_in(folder / "a");
  RC_ASSERT(found.size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    RC_ASSERT(found.at(name).dtype() == tensor.dtype());
    RC_ASSERT(found.at(name).shape() == tensor.shape());
    RC_ASSERT(std::ranges::equal(found.at(name).bytes(), tensor.bytes()));
  }
}

TEST(Safetensors, TakesWhatTheFormatAllows) {
  EXPECT_EQ(header_error(kTwo), "no error");
  EXPECT_EQ(header_error(kTwo + std::string(100, ' ')), "no error");
  EXPECT_EQ(header_error("{}", 0), "no error");
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":"b","c":""}})", 0), "no error");
  EXPECT_EQ(header_error(R"({"e":{"dtype":"I64","shape":[9223372036854775807,0],)"
                         R"("data_offsets":[0,0]}})",
                         0),
            "the shape [9223372036854775807,0] of tensor 'e' has more elements than can be "
            "counted");
}

TEST(Safetensors, RefusesLengthsThatAreNot) {
  const TemporaryFolder folder;
  const auto refuse = [&](const std::string& bytes) {
    const std::string path = folder.write("x", bytes);
    return error_of(ErrorKind::kCheckpoint, [&] { SafetensorsFile file(path); })
        .substr(path.size());
  };
  EXPECT_EQ(refuse("abc"),
            ": not a safetensors file: it has 3 bytes, less than the 8 of the header's length");
  EXPECT_EQ(refuse(std::string("\x10\0\0\0\0\0\0\0{}", 10)),
            ": not a safetensors file: a header of 16 bytes in a file of 10");
  EXPECT_EQ(refuse(std::string("\1\xe1\xf5\5\0\0\0\0{}", 10)),
            ": not a safetensors file: a header of 100000001 bytes; at most 100000000 are "
            "allowed");
  EXPECT_EQ(refuse(std::string(8, '\xff')),
            ": not a safetensors file: a header of 18446744073709551615 bytes; at most 100000000 "
            "are allowed");
  EXPECT_EQ(error_of([] { SafetensorsFile file("/nowhere/x"); }),
            "4: /nowhere/x: No such file or directory");
}

TEST(Safetensors, RefusesWhatIsNotJson) {
  EXPECT_EQ(header_error(""), "the header does not begin with '{'");
  EXPECT_EQ(header_error(" {}", 0), "the header does not begin with '{'");
  EXPECT_EQ(header_error("[]", 0), "the header does not begin with '{'");
  EXPECT_EQ(header_error("{", 0), "the header is not JSON from byte 2 on");
  EXPECT_EQ(header_error("{} x", 0), "the header is not JSON from byte 4 on");
  EXPECT_EQ(header_error(std::string("{}\0", 3), 0), "the header is not JSON from byte 3 on");
  EXPECT_EQ(header_error("{\"\xff\":1}", 0), "the header is not JSON from byte 3 on");
  EXPECT_EQ(header_error(R"({"a":)" + std::string(100'000, '['), 0),
            "'a' is a list, not an object");
}

TEST(Safetensors, RefusesWhatTheFormatHasNot) {
  const auto tensor = [](const std::string& fields) {
    return header_error("{\"a\":{" + fields + "}}", 8);
  };
  EXPECT_EQ(header_error(R"({"a":1})"), "'a' is 1, not an object");
  EXPECT_EQ(header_error(R"({"a":null})"), "'a' is null, not an object");
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":1}})"), "__metadata__ 'a' is 1, not a string");
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":{}}})"),
            "__metadata__ 'a' is an object, not a string");
  EXPECT_EQ(header_error(R"({"__metadata__":[]})"), "'__metadata__' is a list, not an object");
  EXPECT_EQ(tensor(R"("dtype":1)"), "'dtype' of tensor 'a' is 1");
  EXPECT_EQ(tensor(R"("dtype":"F8_E4M3")"),
            "tensor 'a' is of type 'F8_E4M3'; BOOL, U8, I8, I16, F16, BF16, I32, F32, F64 and I64 "
            "can be read");
  EXPECT_EQ(tensor(R"("shape":2)"), "'shape' of tensor 'a' is 2");
  EXPECT_EQ(tensor(R"("shape":[-2])"), "the shape of tensor 'a' has -2 in it");
  EXPECT_EQ(tensor(R"("shape":[2.0])"), "the shape of tensor 'a' has 2.0 in it");
  EXPECT_EQ(tensor(R"("shape":[[2]])"), "the shape of tensor 'a' has a list in it");
  EXPECT_EQ(tensor(R"("shape":[1,1,1,1,1,1,1,1,1])"), "tensor 'a' has more than 8 dimensions");
  EXPECT_EQ(tensor(R"("strides":[2])"),
            "tensor 'a' has a field 'strides', which the format does not have");
  EXPECT_EQ(tensor(R"("dtype":"F32","shape":[2])"), "tensor 'a' has no 'data_offsets'");
  EXPECT_EQ(tensor(R"("shape":[2],"data_offsets":[0,8])"), "tensor 'a' has no 'dtype'");
  for (const char* offsets : {"[]", "[0]", "[0,8,8]", "[8,0]", "[-8,0]", "[0,8.0]", "[\"0\",8]"})
    EXPECT_EQ(tensor(fmt::format(R"("dtype":"F32","shape":[2],"data_offsets":{})", offsets)),
              "data_offsets of tensor 'a' are not two numbers of bytes")
        << offsets;
}

TEST(Safetensors, RefusesWhatIsThereTwice) {
  const std::string field = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_EQ(header_error(fmt::format(R"({{"a":{},"a":{}}})", field, field), 8),
            "tensor 'a' is there twice");
  EXPECT_EQ(
      header_error(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8),
      "tensor 'a' has 'dtype' twice");
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":"b","a":"b"}})", 0), "__metadata__ has 'a' twice");
  EXPECT_EQ(header_error(R"({"__metadata__":{},"__metadata__":{}})", 0),
            "__metadata__ is there twice");
}

TEST(Safetensors, RefusesSizesThatDoNotFit) {
  const auto one = [](const std::string& shape, const std::string& offsets) {
    return header_error(
        fmt::format(R"({{"a":{{"dtype":"F32","shape":{},"data_offsets":{}}}}})", shape, offsets),
        8);
  };
  EXPECT_EQ(one("[2]", "[0,8]"), "no error");
  EXPECT_EQ(one("[3]", "[0,8]"),
            "tensor 'a' is F32[3] and takes 12 bytes, but data_offsets [0, 8] give it 8");
  EXPECT_EQ(one("[4]", "[0,16]"), "tensor 'a' reaches to byte 16 of the data, but the file has 8");
  EXPECT_EQ(one("[4294967296,4294967296]", "[0,0]"),
            "the shape [4294967296,4294967296] of tensor 'a' has more elements than can be "
            "counted");
  EXPECT_EQ(one("[4611686018427387905]", "[0,4]"),
            "the shape [4611686018427387905] of tensor 'a' has more elements than can be counted");
  EXPECT_EQ(one("[18446744073709551616]", "[0,4]"),
            "the shape of tensor 'a' has 18446744073709551616 in it");
  EXPECT_EQ(one("[2]", "[18446744073709551608,18446744073709551615]"),
            "tensor 'a' is F32[2] and takes 8 bytes, but data_offsets [18446744073709551608, "
            "18446744073709551615] give it 7");
}

TEST(Safetensors, RefusesGapsAndOverlaps) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t bytes) {
    return header_error(fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":{}}},)"
                                    R"("b":{{"dtype":"U8","shape":[4],"data_offsets":{}}}}})",
                                    a, b),
                        bytes);
  };
  EXPECT_EQ(two("[4,8]", "[0,4]", 8), "no error") << "the order in the header is free";
  EXPECT_EQ(two("[0,4]", "[2,6]", 6), "tensors 'a' and 'b' overlap at byte 2 of the data");
  EXPECT_EQ(two("[0,4]", "[0,4]", 4), "tensors 'a' and 'b' overlap at byte 0 of the data");
  EXPECT_EQ(two("[0,4]", "[6,10]", 10),
            "bytes 4 to 6 of the data, before tensor 'b', belong to no tensor");
  EXPECT_EQ(two("[1,5]", "[5,9]", 9),
            "bytes 0 to 1 of the data, before tensor 'a', belong to no tensor");
  EXPECT_EQ(two("[0,4]", "[4,8]", 9),
            "bytes 8 to 9 of the data, the end of the file, belong to no tensor");
  EXPECT_EQ(two("[0,4]", "[4,8]", 7),
            "tensor 'b' reaches to byte 8 of the data, but the file has 7");
}

TEST(Safetensors, NamesInMessagesArePrintable) {
  EXPECT_EQ(quote_name("a\nb\x7f"), "'a?b?'");
  EXPECT_EQ(quote_name(std::string(119, 'x') + "\xc3\xa9!"), "'" + std::string(119, 'x') + "...'");
}

TEST(Safetensors, AWriteThatFailsLeavesWhatWasThere) {
  const TemporaryFolder folder;
  write(folder / "a", {{"x", HostTensor::scalar<float>(1)}});
  const std::string before = contents_of(folder / "a");
  EXPECT_THROW(write_safetensors(
                   folder / "a", {{"y", DType::kF32, {1}}}, {},
                   [](const std::string&) -> HostTensor { raise(ErrorKind::kCheckpoint, "gone"); }),
               Error);
  EXPECT_EQ(contents_of(folder / "a"), before);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace lockstep

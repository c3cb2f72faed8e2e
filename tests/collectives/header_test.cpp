#include "collectives/header.h"

#include <gtest/gtest.h>

#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

CollectiveHeader typical() {
  CollectiveRequest request;
  request.count = 1024;
  request.step = 5;
  request.bucket = 2;
  CollectiveHeader out = header_of(request);
  out.sequence = 17;
  return out;
}

// The message for rank 0 with the typical header and rank 1 with `other`.
std::string mismatch_with(const CollectiveHeader& other) {
  const CollectiveHeader headers[] = {typical(), other};
  return describe_mismatch(headers).value_or("they match");
}

template <class F>
CollectiveHeader changed(const F& change) {
  CollectiveHeader out = typical();
  change(out);
  return out;
}

const std::string kStart =
    "collective 17 does not match between ranks: rank 0 has all_reduce of 1024 f32 (step 5, bucket "
    "2";

constexpr Hash128 kSignature = {.low = 1, .high = 2};

TEST(HeaderMismatch, EqualHeadersMatch) {
  EXPECT_EQ(mismatch_with(typical()), "they match");
}

TEST(HeaderMismatch, NamesTheCount) {
  EXPECT_EQ(mismatch_with(changed([](auto& h) { h.count = 2048; })),
            kStart + "), rank 1 has all_reduce of 2048 f32 (step 5, bucket 2): the count differs");
}

TEST(HeaderMismatch, NamesTheDType) {
  EXPECT_EQ(mismatch_with(changed([](auto& h) { h.dtype = DType::kF64; })),
            kStart + "), rank 1 has all_reduce of 1024 f64 (step 5, bucket 2): the dtype differs");
}

TEST(HeaderMismatch, NamesTheKind) {
  EXPECT_EQ(mismatch_with(changed([](auto& h) { h.kind = CollectiveKind::kAllGather; })),
            kStart + "), rank 1 has all_gather of 1024 f32 (step 5, bucket 2): the kind differs");
}

TEST(HeaderMismatch, NamesTheStep) {
  EXPECT_EQ(mismatch_with(changed([](auto& h) { h.step = 6; })),
            kStart + "), rank 1 has all_reduce of 1024 f32 (step 6, bucket 2): the step differs");
}

TEST(HeaderMismatch, NamesTheBucket) {
  EXPECT_EQ(mismatch_with(changed([](auto& h) { h.bucket = -1; })),
            kStart + "), rank 1 has all_reduce of 1024 f32 (step 5): the bucket differs");
}

TEST(HeaderMismatch, NamesTheSequenceNumber) {
  EXPECT_EQ(mismatch_with(changed([](auto& h) { h.sequence = 18; })),
            kStart +
                ", number 17), rank 1 has all_reduce of 1024 f32 (step 5, bucket 2, number 18): "
                "the sequence number differs");
}

TEST(HeaderMismatch, NamesTheSignature) {
  EXPECT_EQ(mismatch_with(changed([](auto& h) { h.signature = kSignature; })),
            kStart + ", signature " + Hash128{}.hex() +
                "), rank 1 has all_reduce of 1024 f32 (step 5, bucket 2, signature " +
                kSignature.hex() + "): the signature differs");
}

TEST(HeaderMismatch, NamesTheRoot) {
  CollectiveRequest request;
  request.kind = CollectiveKind::kBroadcast;
  request.count = 3;
  CollectiveHeader headers[] = {header_of(request), header_of(request)};
  headers[1].root = 1;
  EXPECT_EQ(describe_mismatch(headers),
            "collective 0 does not match between ranks: rank 0 has broadcast of 3 f32 from rank 0, "
            "rank 1 has broadcast of 3 f32 from rank 1: the root differs");
}

TEST(HeaderMismatch, NamesTheTagOfAnExchange) {
  const CollectiveHeader headers[] = {header_of_tag(CollectiveKind::kExchange, "save"),
                                      header_of_tag(CollectiveKind::kExchange, "eval")};
  EXPECT_EQ(describe_mismatch(headers),
            "collective 0 does not match between ranks: rank 0 has exchange 'save', rank 1 has "
            "exchange 'eval': the tag differs");
}

TEST(HeaderMismatch, SeesTheEndOfTagsThatAreTooLongToSend) {
  const std::string start(500, 't');
  const CollectiveHeader headers[] = {header_of_tag(CollectiveKind::kExchange, start + "1"),
                                      header_of_tag(CollectiveKind::kExchange, start + "2")};
  EXPECT_THAT(describe_mismatch(headers).value_or("they match"),
              testing::EndsWith("the tag differs"));
}

TEST(HeaderMismatch, StringsOfAnExchangeMayHaveDifferentSizes) {
  const CollectiveHeader headers[] = {header_of_tag(CollectiveKind::kExchange, "save"),
                                      header_of_tag(CollectiveKind::kExchange, "save")};
  EXPECT_EQ(describe_mismatch(headers), std::nullopt);
}

TEST(HeaderMismatch, AnExchangeAgainstACollectiveDiffersInKind) {
  CollectiveRequest request;
  request.count = 4;
  const CollectiveHeader headers[] = {header_of_tag(CollectiveKind::kExchange, "save"),
                                      header_of(request)};
  EXPECT_EQ(describe_mismatch(headers),
            "collective 0 does not match between ranks: rank 0 has exchange 'save', rank 1 has "
            "all_reduce of 4 f32: the kind differs");
}

TEST(HeaderMismatch, ListsAllFieldsThatDifferAndGroupsRanksThatAgree) {
  const CollectiveHeader other = changed([](auto& h) {
    h.count = 7;
    h.step = 6;
    h.bucket = 0;
  });
  const CollectiveHeader headers[] = {typical(), other, typical(), typical(), other};
  EXPECT_EQ(describe_mismatch(headers),
            "collective 17 does not match between ranks: ranks 0, 2 and 3 have all_reduce of 1024 "
            "f32 (step 5, bucket 2), ranks 1 and 4 have all_reduce of 7 f32 (step 6, bucket 0): "
            "the count, the step and the bucket differ");
}

TEST(HeaderMismatch, OfAnotherProtocolNamesTheBuild) {
  EXPECT_EQ(
      mismatch_with(changed([](auto& h) { h.protocol += 1; })),
      "the ranks do not run the same build of lockstep: headers have version 4 on rank 0, 5 on "
      "rank 1");
}

TEST(HeaderFailure, KeepsTheKindAndNamesTheRank) {
  CollectiveHeader headers[] = {typical(), typical()};
  EXPECT_FALSE(describe_failure(headers).has_value());
  set_failure(headers[1], std::make_exception_ptr(Error(ErrorKind::kData, "bad file")));
  EXPECT_EQ(error_of([&] { throw *describe_failure(headers); }),
            "3: rank 1 failed before all_reduce of 1024 f32 (step 5, bucket 2): bad file");
}

TEST(HeaderFailure, OfAForeignExceptionIsInternal) {
  const Error none(ErrorKind::kUsage, "no failure");
  CollectiveHeader headers[] = {typical()};
  set_failure(headers[0], std::make_exception_ptr(std::runtime_error("what")));
  EXPECT_EQ(describe_failure(headers).value_or(none).kind(), ErrorKind::kInternal);
}

TEST(HeaderFailure, CutsOffALongText) {
  const Error none(ErrorKind::kUsage, "no failure");
  CollectiveHeader headers[] = {typical()};
  set_failure(headers[0],
              std::make_exception_ptr(Error(ErrorKind::kData, std::string(10'000, 'x'))));
  EXPECT_THAT(describe_failure(headers).value_or(none).what(),
              testing::EndsWith(": " + std::string(CollectiveHeader::kTextBytes - 1, 'x')));
}

}  // namespace
}  // namespace lockstep

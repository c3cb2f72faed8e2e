#include "core/base/hash.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace lockstep {
namespace {

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.update(text.data(), text.size());
  const auto digest = hash.finish();
  return to_hex(digest.data(), digest.size());
}

TEST(Sha256, MatchesTheVectorsOfFips180) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

std::string hmac(std::string_view key, std::string_view message) {
  const auto digest = hmac_sha256(key, message);
  return to_hex(digest.data(), digest.size());
}

TEST(HmacSha256, MatchesTheVectorsOfRfc4231) {
  EXPECT_EQ(hmac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacSha256, IsComparedWhole) {
  EXPECT_TRUE(equal_secretly("abc", "abc"));
  EXPECT_FALSE(equal_secretly("abc", "abd"));
  EXPECT_FALSE(equal_secretly("abc", "ab"));
}

RC_GTEST_PROP(Sha256, DoesNotDependOnHowTheBytesArrive, (const std::string& text)) {
  const std::size_t cut = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  Sha256 hash;
  hash.update(text.data(), cut);
  hash.update(text.data() + cut, text.size() - cut);
  const auto digest = hash.finish();
  RC_ASSERT(to_hex(digest.data(), digest.size()) == sha256(text));
}

TEST(Hash128, IsXxh3) {  // XXH3_128bits of the empty input, from xxHash's test vectors
  EXPECT_EQ(hash128(nullptr, 0).hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash128, IsPrintedWithAllItsZeros) {
  EXPECT_EQ((Hash128{.low = 0xab, .high = 1}).hex(), "000000000000000100000000000000ab");
}

TEST(Hasher, HashesTheBytesInOrder) {
  Hasher hasher;
  hasher.value(std::uint16_t{0x6261});
  hasher.bytes("c", 1);
  EXPECT_EQ(hasher.finish(), hash128("abc", 3));
  EXPECT_NE(hasher.finish(), hash128("acb", 3));
}

TEST(Hash64, DependsOnOrderAndNumberOfWords) {
  const std::set<std::uint64_t> hashes = {hash64({}), hash64({0}), hash64({0, 0}), hash64({1, 2}),
                                          hash64({2, 1})};
  EXPECT_EQ(hashes.size(), 5U);
}

}  // namespace
}  // namespace lockstep

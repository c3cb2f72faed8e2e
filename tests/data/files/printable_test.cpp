#include "data/files/printable.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("a \"cat\"\\, k\xc3\xa4se \xe7\x8c\xab"),
            "a \"cat\"\\, k\xc3\xa4se \xe7\x8c\xab");
}

TEST(Printable, NamesWhatTerminalsObey) {
  EXPECT_EQ(printable("\x1b[31mred\n\tx\r\x7f"), "\\x1b[31mred\\n\\tx\\x0d\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "U+009B begins a sequence, too";
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
}

TEST(Printable, NamesBytesThatAreNoText) {
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
}

}  // namespace
}  // namespace lockstep

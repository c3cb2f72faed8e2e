// Texts that the strict reader of JSON accepts, and those that it refuses, with line and column.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/json_place.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

std::string parse_error(const std::string& text) {
  return data_error([&] { JsonPlace::parse(text, "t.json"); });
}

JsonPlace parsed(const std::string& text) {
  return JsonPlace::parse(text, "t.json");
}

/// `depth` lists, one in the other.
std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(Json, HasWhatTheTextSays) {
  const JsonPlace root = parsed(
      "\xef\xbb\xbf {\"a\": [1, -2.5e0, \"x\\n\\u00e9\\ud83d\\ude00\", true, null, {}], \"\": "
      "\"é\"}\r\n");
  const std::vector<JsonPlace> list = root.at("a").elements();
  ASSERT_EQ(list.size(), 6U);
  EXPECT_EQ(list[0].number(), 1);
  EXPECT_EQ(list[1].real(), -2.5);
  EXPECT_EQ(list[2].string(), "x\né😀");
  EXPECT_TRUE(list[3].boolean());
  EXPECT_TRUE(list[4].is_null());
  EXPECT_TRUE(list[5].is_object());
  EXPECT_EQ(root.at("").string(), "é");
  EXPECT_EQ(root.dump(), R"({"":"é","a":[1,-2.5,"x\né😀",true,null,{}]})");
  EXPECT_FALSE(root.at("a").elements()[5].find("b").has_value());
  for (const char* text : {"5", "\"a\"", "null", " [ ] "}) EXPECT_NO_THROW(parsed(text)) << text;
}

// Digests of tokenizers are of such texts.
TEST(Json, IsDumpedAsTheLibraryDumpsIt) {
  for (const char* text :
       {R"({"b": [1, -0, 1e5, 1.0E+2, 1e-05, 12345678901234567890, -9223372036854775808,
            123456789012345678901234567890, 0.1, -0.0], "a": {}, "": null, "Z": [], "é": true})",
        R"(["\u0001\u007f/é\"\\\n\u2028\ud83d\ude00", "", "plain", [["x"], {"y": {"z": false}}]])",
        R"("one")", R"({"b": 1, "ab": 2, "a": 3, "\uffff": 4, "\ud83d\ude00": 5})"})
    EXPECT_EQ(parsed(text).dump(), nlohmann::json::parse(text).dump()) << text;
}

TEST(Json, NamesLineAndColumnInCharacters) {
  const JsonPlace root = parsed("{\"é\": 1,\n  \"b\": {\"c\": [0, \"x\"]}}");
  EXPECT_EQ(root.place(), "t.json:1:1");
  EXPECT_EQ(root.at("é").place(), "t.json:1:7: é");
  EXPECT_EQ(root.at("b").at("c").elements()[1].place(), "t.json:2:18: b.c[1]");
  EXPECT_EQ(data_error([&] { root.at("b").at("c").number(); }),
            "t.json:2:14: b.c: must be an integer from 0 to 2147483647, not a list");
  const JsonPlace line = JsonPlace::parse("[0]", JsonSource{.name = "t.jsonl", .line = 7});
  EXPECT_EQ(line.elements()[0].place(), "t.jsonl:7:2: [0]");
  EXPECT_EQ(JsonPlace::parse("[0]", JsonSource{.name = "made", .line = 0}).elements()[0].place(),
            "made: [0]");
}

TEST(Json, EveryWrongTypeIsToldWithWhatIsThere) {
  const JsonPlace root = parsed(R"({"s": "abc", "i": 5, "r": 1.5, "n": null, "o": {}, "l": []})");
  const auto problem = [&](const char* key, auto read) {
    return data_error([&] { read(*root.find_any(key)); });
  };
  EXPECT_EQ(problem("i", [](const JsonPlace& v) { v.string(); }),
            "t.json:1:19: i: must be a string, not 5");
  EXPECT_EQ(problem("s", [](const JsonPlace& v) { v.boolean(); }),
            "t.json:1:7: s: must be true or false, not the string \"abc\"");
  EXPECT_EQ(problem("r", [](const JsonPlace& v) { v.number(); }),
            "t.json:1:27: r: must be an integer from 0 to 2147483647, not 1.5");
  EXPECT_EQ(problem("n", [](const JsonPlace& v) { v.real(); }),
            "t.json:1:37: n: must be a number, not null");
  EXPECT_EQ(problem("o", [](const JsonPlace& v) { v.elements(); }),
            "t.json:1:48: o: must be a list, not an object");
  EXPECT_EQ(problem("l", [](const JsonPlace& v) { v.at("x"); }),
            "t.json:1:57: l: must be an object, not a list");
  EXPECT_EQ(problem("o", [](const JsonPlace& v) { v.at("x"); }), "t.json:1:48: o: 'x' is missing");
}

TEST(Json, ANulEndsNothing) {
  EXPECT_EQ(parse_error(std::string("{\"a\": 1}\0 rest", 14)),
            "t.json:1:9: not valid JSON: a NUL byte (0x00); the file is damaged, or no text");
  EXPECT_EQ(parse_error(std::string("[1,\n \"a\0b\"]", 11)),
            "t.json:2:4: not valid JSON: a NUL byte (0x00); the file is damaged, or no text");
  EXPECT_EQ(parsed(R"("a\u0000b")").string(), std::string("a\0b", 3));
}

TEST(Json, AKeyTwiceIsRefusedWithBothPlaces) {
  EXPECT_EQ(parse_error("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 1}}"),
            "t.json:2:16: the key \"c\" is there twice, first at 2:8");
  EXPECT_EQ(parse_error(R"({"a": 1, "\u0061": 2})"),
            "t.json:1:10: the key \"a\" is there twice, first at 1:2");
  EXPECT_NO_THROW(parsed(R"({"a": {"a": {"a": 1}}, "b": {"a": 1}})"));
}

TEST(Json, NumbersThatNothingHoldsAreRefused) {
  EXPECT_EQ(parse_error("[1e999]"),
            "t.json:1:2: the number 1e999 is too large: no number is beyond 1.8e308");
  EXPECT_EQ(parse_error("{\"a\": -1e400}"),
            "t.json:1:7: the number -1e400 is too large: no number is beyond 1.8e308");
  EXPECT_EQ(parse_error("[" + std::string(400, '9') + "]"),
            "t.json:1:2: the number " + std::string(40, '9') +
                "... is too large: no number is beyond 1.8e308");
  EXPECT_EQ(parsed("1e-999").real(), 0.0);
  EXPECT_EQ(parsed("-0").integer(-1, 1), 0);
  EXPECT_EQ(parsed("1e308").real(), 1e308);
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(parsed("-9223372036854775808").integer(kMin, kMax), kMin);
  const JsonPlace wide = parsed("1000000000000000019884624838656");  // "model_max_length" of many
  EXPECT_EQ(wide.real(), 1e30);
  EXPECT_EQ(data_error([&] { wide.integer(0, kMax); }),
            "t.json:1:1: must be an integer from 0 to 9223372036854775807, not "
            "1000000000000000019884624838656");
}

TEST(Json, DepthIsBounded) {
  EXPECT_NO_THROW(parsed(nested(kMaxJsonDepth)));
  EXPECT_EQ(parse_error(nested(kMaxJsonDepth + 1)), "t.json:1:65: nested more than 64 deep");
  EXPECT_EQ(parse_error(nested(100'000)), "t.json:1:65: nested more than 64 deep");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(parse_error(objects), "t.json:1:321: nested more than 64 deep");
}

TEST(Json, TellsWhatIsNotJson) {
  const auto problem = [](const std::string& text) {
    const std::string message = parse_error(text);
    const std::string begin = "t.json:";
    EXPECT_EQ(message.substr(0, begin.size()), begin);
    return message.substr(std::min(begin.size(), message.size()));
  };
  const std::string bad = ": not valid JSON: ";
  EXPECT_EQ(problem(""), "1:1" + bad + "the text is empty");
  EXPECT_EQ(problem(" \n\t"), "1:1" + bad + "the text has only blanks");
  EXPECT_EQ(problem("{\"a\": 1,\n"), "2:1" + bad + "the text ends too early");
  EXPECT_EQ(problem("[\"abc"), "1:6" + bad + "the text ends too early");
  EXPECT_EQ(problem("[1] 2"),
            "1:5" + bad + "in value - unexpected number literal; expected end of input");
  EXPECT_EQ(problem("[1,\n 2,]"),
            "2:4" + bad + "in value - unexpected ']'; expected '[', '{', or a literal");
  EXPECT_EQ(problem("{\"a\" 1}"),
            "1:6" + bad + "in object separator - unexpected number literal; expected ':'");
  EXPECT_EQ(problem("{a: 1}"),
            "1:2" + bad + "in object key - invalid literal; expected string literal");
  EXPECT_EQ(problem("{'a': 1}"), "1:2" + bad + "strings need \" quotes, not '");
  EXPECT_EQ(problem("[1 // one\n]"), "1:4" + bad + "JSON has no comments");
  EXPECT_EQ(problem("[01]"), "1:3" + bad + "in array - unexpected number literal; expected ']'");
  for (const char* word : {"NaN", "Infinity", "-Infinity"})
    EXPECT_EQ(problem("{\"a\": " + std::string(word) + "}"),
              "1:7" + bad + word +
                  " is not a JSON number, though Python writes it; write a number, or null");
}

TEST(Json, TellsWhichByteOfAStringIsNone) {
  EXPECT_EQ(parse_error("{\"a\": \"b\tc\"}"),
            "t.json:1:9: not valid JSON: in value - invalid string: control character U+0009 (HT) "
            "must be escaped to \\u0009 or \\t");
  EXPECT_EQ(parse_error("[\"a\xff\"]"),
            "t.json:1:4: not valid JSON: in value - invalid string: ill-formed UTF-8 byte");
  EXPECT_EQ(parse_error("[\"\xed\xa0\x80\"]").substr(0, 69),
            "t.json:1:4: not valid JSON: in value - invalid string: ill-formed UTF");
  EXPECT_EQ(parse_error(R"(["\ud800"])").substr(0, 63),
            "t.json:1:9: not valid JSON: in value - invalid string: surrogat");
  EXPECT_EQ(parse_error(R"(["\udc00"])").substr(0, 63),
            "t.json:1:8: not valid JSON: in value - invalid string: surrogat");
  EXPECT_EQ(parse_error("\xff\xfe[\0]\0"),
            "t.json:1:1: not valid JSON: the text is UTF-16; save it as UTF-8");
}

TEST(Json, MessagesStayShortAndPrintable) {
  const std::string key = std::string(5000, 'k') + "\\u001b[31m";
  const std::string text = "{\"" + key + "\": 1, \"" + key + "\": 2}";
  EXPECT_EQ(parse_error(text), "t.json:1:5019: the key \"" + std::string(80, 'k') +
                                   "\"... is there twice, first at 1:2");
  const JsonPlace root = parsed(R"({"a\u001b": "\u001b)" + std::string(500, 'x') + "\"}");
  root.for_each_member([&](const std::string&, const JsonPlace& value) {
    EXPECT_EQ(data_error([&] { value.boolean(); }),
              "t.json:1:13: \"a\\u001b\": must be true or false, not the string \"\\u001b" +
                  std::string(79, 'x') + "\"...");
  });
}

TEST(Json, OfAFileIsRefusedBeforeItIsReadIfItIsHuge) {
  const TemporaryFolder folder;
  const std::string path = folder.write("huge.json", "{}");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40U);
  EXPECT_EQ(usage_error([&] { JsonPlace::read(path, ErrorKind::kUsage); }),
            path + ": has 1099511627776 bytes, but JSON may have at most 134217728");
  EXPECT_EQ(usage_error([&] { JsonPlace::read(folder / "none.json", ErrorKind::kUsage); }),
            folder / "none.json" + ": No such file or directory");
  EXPECT_EQ(usage_error([&] { JsonPlace::read(folder.write("a.json", "[5"), ErrorKind::kUsage); }),
            folder / "a.json" + ":1:3: not valid JSON: the text ends too early");
}

TEST(Json, ThereIsABoundToWhatIsInAFile) {
  std::string text = "[";
  while (text.size() < 2 * kMaxJsonValues) text += "0,";
  text += "0]";
  EXPECT_EQ(parse_error(text), "t.json:1:16777216: more than 8388608 values");
}

}  // namespace
}  // namespace lockstep

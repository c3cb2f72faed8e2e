"""scripts/check_definitions.py, run over small trees with one planted duplicate each."""

import unittest

from small_trees import SmallTrees


def named(text):
    return f"#pragma once\nnamespace lockstep {{\n{text}\n}}\n"


def unnamed(text):
    return f"namespace lockstep {{\nnamespace {{\n{text}\n}}  // namespace\n}}  // namespace lockstep\n"


# Two libraries, data and watch, and a program of two sources. Nothing in it is defined twice.
CLEAN = {
    "data/CMakeLists.txt": "lockstep_library(data DEPS base)\n",
    "watch/CMakeLists.txt": "lockstep_library(watch DEPS base)\n",
    "core/base/CMakeLists.txt": "lockstep_library(base)\n",
    "core/base/shape.h": named("struct Shape { struct Inner {}; };\nusing Id = int;\ninline int area(Id a) { return a; }"),
    "data/a.h": named(
        """
class Batch final : public Base<int> {
  struct Row {};
  int rows() const { return 1; }
};
enum class Order : int { kFirst, kSecond };
inline constexpr int kLimit = 3;
template <class T>
void put(T value, int times = 2) { struct Local {}; }
"""
    ),
    "data/a.cpp": unnamed(
        """
using Words = std::vector<std::string>;
constexpr char kQuote = '"', *kText = R"x(struct Row {}; ")x";
struct Row {
  Row(int a) : a_(a), b_{a} {}
};
int sum(const Row& row, int count) { return count; }
"""
    ),
    "watch/a.cpp": unnamed("struct Row {};\nint sum(const Row& row, int count) { return count; }"),
    "bench/one.cpp": unnamed("struct Row {};") + "int main() {}\n",
    "bench/two.cpp": unnamed("struct Row {};") + "using namespace lockstep;\nint main() {}\n",
}


class CheckDefinitions(SmallTrees, unittest.TestCase):
    script = "check_definitions.py"
    clean = CLEAN

    def accepted(self, path, text):
        self.assertEqual(self.check({path: text}), (0, ""))

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(self.run_script("--root", self.root)[0], 1)

    def test_a_type_has_one_definition_in_a_namespace(self):
        for text in [
            "struct Batch {};",
            "class Batch : Other {};",
            "enum class Batch : std::uint8_t { kOne };",
            "enum class Batch { kOne };",
            "using Batch = int;",
            "template <class T>\nusing Batch = std::vector<T>;",
            "typedef int Batch;",
            "template <class T, class = void>\nstruct Batch {};",
            "template <class T>\nconcept Batch = requires(T t) { t.x(); };",
            "struct [[nodiscard]] Batch {};",
            "struct alignas(64) Batch {};",
            "enum { Batch };",
            "void Batch() {}",
        ]:
            with self.subTest(text):
                self.refused("watch/b.h", named(text), "lockstep::Batch is also defined at data/a.h:4")

    def test_what_is_declared_or_lies_elsewhere_is_no_second_definition(self):
        for text in [
            "struct Batch;",
            "enum class Order : int;",
            "struct Batch* first(struct Batch* all);",
            "namespace inner { struct Batch {}; }",
            "struct Other { struct Batch {}; enum class Order { kFirst }; };",
            "void f() { struct Batch {}; }",
            "template <class T>\nvoid put(T value, long times);",
            "extern const int kLimit;",
            "// struct Batch {};\n/* struct Batch {}; */ const char* text() { return \"struct Batch {};\"; }",
            "const char* raw = R\"(}}; struct Batch {};)\";",
            "#define BATCH \\\n  struct Batch {};\n#undef BATCH",
        ]:
            with self.subTest(text):
                self.accepted("watch/b.h", named(text))

    def test_a_message_says_where(self):
        self.refused("watch/b.h", named("\n\nstruct Batch {};"), "watch/b.h:5: lockstep::Batch is also defined at data/a.h:4")

    def test_a_constant_has_one_definition_in_a_namespace(self):
        for text in ["constexpr int kLimit = 4;", "inline const Limit kLimit{4};", "int kLimit;", "int kLimit[2] = {1, 2};",
                     'const Pattern kLimit("x");']:
            with self.subTest(text):
                self.refused("watch/b.h", named(text), "lockstep::kLimit is also defined at data/a.h:9")

    def test_a_function_has_one_definition_for_a_signature(self):
        for text in [
            "int area(int b) { return 2 * b; }",
            "int area(Id) { return 2; }",
            "int area(const Id b) { return 2; }",
            "auto area(int b = 3) -> int { return 2; }",
            "int area(int b) noexcept { return 2; }",
        ]:
            with self.subTest(text):
                self.refused("watch/b.h", named(text), "lockstep::area is also defined at core/base/shape.h:5")
        for text in ["int area(long b) { return 2; }", "int area(int a, int b) { return 2; }", "int area(int* b) { return 2; }"]:
            with self.subTest(text):
                self.accepted("watch/b.h", named(text))
        self.refused("watch/b.h", named("template <typename V>\nvoid put(V v, int n) {}"), "lockstep::put is also defined")

    def test_members_and_operators_count(self):
        for one in ["int Batch::size() const { return 1; }", "Batch::Batch(int a) : a_(a), b_{a} {}", "Batch::~Batch() = default;",
                    "bool operator==(const A& a, const A& b) { return true; }", "const int Batch::kMost = 3;",
                    "template <class T>\nint List<T>::size() { return 1; }", "int Call::operator()(int x) { return x; }"]:
            with self.subTest(one):
                code, output = self.check({"data/c.cpp": named(one), "watch/c.cpp": named(one)})
                self.assertEqual((code, len(output.splitlines())), (1, 1), output)

    def test_unnamed_namespaces_of_one_library_meet(self):
        for text, name in [
            ("struct Row {};", "Row"),
            ("enum class Row { kOne };", "Row"),
            ("int sum(const Row& other, int n) { return n; }", "sum"),
            ("constexpr int kQuote = 3;", "kQuote"),
            ("using Words = std::vector<int>;", "Words"),
            ("using Line = Row;\nint sum(const Line& line, int n) { return n; }", "sum"),
        ]:
            with self.subTest(text):
                for path in ["data/b.cpp", "data/files/b.cpp"]:
                    self.refused(path, unnamed(text), f"lockstep::{name} of an unnamed namespace may be compiled together")
                self.accepted("checkpoint/b.cpp", unnamed(text))
        self.accepted("data/b.cpp", unnamed("using Words = std::vector<std::string>;"))
        self.accepted("data/b.cpp", unnamed("int sum(int n) { return n; }"))
        self.refused("data/b.cpp", named("static int sum(const Row& row, int n) { return n; }"), "of an unnamed namespace")

    def test_a_name_of_an_unnamed_namespace_does_not_hide_one_around_it(self):
        message = "is also defined, within or around an unnamed namespace, at"
        self.refused("data/b.cpp", unnamed("struct Batch {};"), f"lockstep::Batch {message} data/a.h:4")
        self.refused("data/b.cpp", unnamed("struct Shape {};"), f"lockstep::Shape {message} core/base/shape.h:3")
        self.accepted("watch/b.cpp", unnamed("struct Batch {};"))

    def test_the_sources_of_a_test_program_meet_too(self):
        tests = {
            "tests/data/CMakeLists.txt": "lockstep_test(data DEPS data)\n",
            "tests/data/files/a_test.cpp": unnamed(
                "int count(int n) { return n; }\nvoid PrintTo(int n) {}\nTEST(Count, Begins) {}\nTEST_F(Count, Ends) {}"
            ),
        }
        for text, name in [
            ("int count(int m) { return m; }", "count"),
            ("int count(const std::vector<int>& all) { return 1; }", "count"),
            ("TEST(Count, Begins) {}", "TEST"),
        ]:
            with self.subTest(text):
                code, output = self.check({**tests, "tests/data/b_test.cpp": unnamed(text)})
                self.assertEqual(code, 1)
                self.assertIn(f"tests/data/files/a_test.cpp:", output)
                self.assertIn(f"lockstep::{name} of an unnamed namespace may be compiled together", output)
        for path, text in [
            ("tests/watch/b_test.cpp", "int count(int m) { return m; }"),  # another program
            ("tests/data/b_test.cpp", "TEST(Count, Goes) {}\nTEST_F(Counts, Ends) {}\nusing Counts = Count;"),
            ("tests/data/b_test.cpp", "void PrintTo(long n) {}"),
        ]:
            with self.subTest(text):
                self.assertEqual(self.check({**tests, path: unnamed(text)}), (0, ""))

    def test_nothing_leaks_into_the_next_source_of_a_batch(self):
        self.refused("data/b.cpp", "\nusing namespace std;\n", "data/b.cpp:2: using namespace std also holds")
        self.refused("data/b.cpp", named("using namespace std::chrono;"), "using namespace std::chrono also holds")
        self.accepted("data/b.cpp", "using namespace std::string_view_literals;\n")
        self.accepted("data/b.cpp", "void f() { using namespace std; }\n")
        self.refused("data/b.cpp", "\n#define WIDTH 8\n", "data/b.cpp:2: macro WIDTH also holds")
        self.accepted("data/b.cpp", "#define WIDTH 8\nint w = WIDTH;\n#undef WIDTH\n")


if __name__ == "__main__":
    unittest.main()

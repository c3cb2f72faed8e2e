// A dataset, a recorded graph and an error caught, by nothing but the installed headers and
// library.

#include <lockstep/lockstep.h>

#include <cstdlib>
#include <iostream>

using namespace lockstep;

namespace {

/// Point i of a line: x = i, y = 2 i.
class Points final : public Dataset {
 public:
  std::int64_t size() const override { return 10; }
  std::vector<FieldSpec> fields() const override {
    return {{.name = "x", .shape = Shape{1}}, {.name = "y", .shape = Shape{1}}};
  }
  Sample get(std::int64_t index) const override {
    check_index(*this, index);
    const auto x = static_cast<float>(index);
    return {{"x", HostTensor::of(Shape{1}, std::vector<float>{x})},
            {"y", HostTensor::of(Shape{1}, std::vector<float>{2 * x})}};
  }
  std::string digest() const override { return "points"; }
  std::string describe() const override { return "10 points"; }
  std::string source(std::int64_t) const override { return ""; }
};

}  // namespace

int main() {
  const Points points;
  TraceContext context;
  const Tensor x = context.constant(points.get(3).at("x"));
  const Tensor y = relu(x * 2.0 - 1.0);
  std::cout << "recorded " << y.type().to_string() << "\n";
  try {
    (void)matmul(x, y);
  } catch (const Error& error) {  // thrown by the library: one type on both sides
    std::cout << "caught " << error.exit_code() << ": " << error.what() << "\n";
    return EXIT_SUCCESS;
  }
  return EXIT_FAILURE;
}

// Runs single nodes on production kernels and compares them with the reference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/kernels/reference/reference.h"
#include "tests/core/kernels/shared_kernels.h"
#include "tests/fixtures/random_words.h"
#include "tests/fixtures/run_kernel.h"
#include "tests/fixtures/same_bits.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep::cpu_test {

/// Elements uniform in [low, high), rounded to the dtype.
inline HostTensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed,
                                double low = -2, double high = 2) {
  RandomWords random(seed);
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& v : values) {
    v = random.uniform(low, high);
    if (dtype == DType::kBool) v = v > (low + high) / 2 ? 1 : 0;
  }
  return from_doubles(dtype, shape, values);
}

/// A node with its operands' values.
struct Case {
  Node node;
  std::vector<HostTensor> operands;

  std::vector<Type> types() const {
    std::vector<Type> out;
    for (const HostTensor& t : operands) out.push_back({t.dtype(), t.shape()});
    return out;
  }
};

/// op(operands){attrs} with its inferred type.
inline Case make_case(Op op, std::vector<HostTensor> operands, Attrs attrs = {}) {
  Graph graph;
  std::vector<ValueId> ids;
  for (const HostTensor& t : operands)
    ids.push_back(graph.add_input({t.dtype(), t.shape()}, InputKind::kState, "x"));
  const ValueId id = graph.add(op, ids, std::move(attrs));
  return {graph[id], std::move(operands)};
}

/// A group over a domain, from a body whose inputs are the operands.
inline Case make_group(std::shared_ptr<const Graph> body, const Shape& domain, int axis,
                       std::vector<HostTensor> operands) {
  Node node;
  node.op = Op::kFusion;
  node.type = (*body)[body->outputs[0]].type;
  node.attrs = {{Attr::kShape, domain.sizes()}, {Attr::kAxis, {axis}}};
  node.operands.resize(operands.size());
  node.body = std::move(body);
  return {std::move(node), std::move(operands)};
}

/// A group without rows and columns, over the shape of its result.
inline Case make_group(std::shared_ptr<const Graph> body, std::vector<HostTensor> operands) {
  const Shape domain = (*body)[body->outputs[0]].type.shape;
  return make_group(std::move(body), domain, domain.rank(), std::move(operands));
}

/// The types of a node's results.
inline std::vector<Type> result_types(const Node& node) {
  if (node.op != Op::kFusion) return {node.type};
  std::vector<Type> out;
  for (const ValueId id : node.body->outputs) out.push_back((*node.body)[id].type);
  return out;
}

struct CaseOptions {
  Isa isa = tested_target().isa;
  int threads = 1;
  std::size_t shift = 0;  ///< see RunOptions
};

inline std::vector<HostTensor> run_results(const Case& c, CaseOptions options = {}) {
  flush_denormals();
  const auto kernel = shared_kernel(c.node, c.types(), options.isa);
  return run_kernel(*kernel, c.operands, result_types(c.node), shared_pool(options.threads),
                    {.shift = options.shift});
}

inline HostTensor run_case(const Case& c, CaseOptions options = {}) {
  return run_results(c, options)[0];
}

/// |got - want| <= absolute + relative * |want| everywhere; NaN and infinities agree.
inline void expect_close(const HostTensor& got, const HostTensor& want, double relative,
                         double absolute, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const auto a = to_doubles(got);
  const auto b = to_doubles(want);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i]) || std::isinf(b[i])) {
      ASSERT_TRUE(std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i])
          << what << " element " << i << ": got " << a[i] << ", want " << b[i];
    } else {
      ASSERT_LE(std::abs(a[i] - b[i]), absolute + relative * std::abs(b[i]))
          << what << " element " << i << ": got " << a[i] << ", want " << b[i];
    }
  }
}

/// The kernel agrees with the reference, for both instruction sets; its bits do not depend on the
/// number of threads or on alignment. Groups also give the same bits with both instruction sets.
inline void expect_correct(const Case& c, double relative = 1e-6, double absolute = 1e-6) {
  const std::vector<HostTensor> want = evaluate_reference_node(c.node, c.operands);
  const std::string what = std::string(name_of(c.node.op)) + " -> " + c.node.type.to_string();
  std::vector<std::vector<HostTensor>> by_isa;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (isa > tested_target().isa) continue;
    const std::vector<HostTensor> one = run_results(c, {.isa = isa});
    for (std::size_t k = 0; k < want.size(); ++k)
      expect_close(one[k], want[k], relative, absolute, what + " result " + std::to_string(k));
    EXPECT_TRUE(same_bits(one, run_results(c, {.isa = isa, .threads = 2})))
        << what << ": 2 threads";
    EXPECT_TRUE(same_bits(one, run_results(c, {.isa = isa, .shift = 2}))) << what << ": aligned";
    by_isa.push_back(one);
  }
  if (c.node.op == Op::kFusion) {
    EXPECT_TRUE(same_bits(by_isa.front(), by_isa.back())) << what << ": instruction sets";
  }
}

}  // namespace lockstep::cpu_test

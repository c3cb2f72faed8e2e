// A user's program: a module, a dataset, and a session with a folder for its run.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/base/settings.h"
#include "core/nn/layers.h"
#include "data/samples/tensor_dataset.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/job/process.h"
#include "trainer/train/trainer.h"

namespace lockstep {

struct Net : Module {
  Linear in{*this, "in", 2, 8}, out{*this, "out", 8, 1};

  Loss operator()(const Batch& batch) const {
    const Tensor error = out(relu(in(batch["x"]))) - batch["y"];
    return {.sum = batch.masked_sum(error * error), .count = batch.count()};
  }
};

/// y is the product of the two x.
inline DatasetPtr points(std::int64_t count) {
  HostTensor x(DType::kF32, {count, 2});
  HostTensor y(DType::kF32, {count, 1});
  random_normal({.seed = 7}, 0, x.as<float>());
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    y.as<float>()[i] = x.as<float>()[2 * i] * x.as<float>()[2 * i + 1];
  return tensor_dataset({{"x", x}, {"y", y}});
}

/// The parts of a session, within LOCKSTEP_MAX_ISA:
///   Session session(ProcessCall{words, settings, watch}, {});
struct UserProgram : testing::Test {
  UserProgram() { settings.max_isa = settings_from_environment().max_isa; }

  std::string run_folder() const { return folder / "run"; }

  const TemporaryFolder folder;
  std::vector<std::string> words{"device.compile_cache=off"};  ///< of the command line
  Settings settings;
  Watch watch;
};

}  // namespace lockstep

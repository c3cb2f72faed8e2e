// A small training state with every dtype.
#pragma once

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep::testing {

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// All dtypes, a scalar, an empty tensor, a slot whose name sorts around '/', and odd strings.
inline CheckpointState sample_state(std::int64_t step = 1500) {
  CheckpointState state;
  const auto value = static_cast<double>(step);
  const std::vector<double> six = {value, -1.5, 0, 1, 65504, 1e-3};
  state.model["h.0.attn.c_attn.weight"] = from_doubles(DType::kF32, {2, 3}, six);
  state.model["h.0.ln_1.weight"] = from_doubles(DType::kBF16, {6}, six);
  state.model["half"] = from_doubles(DType::kF16, {3, 2}, six);
  state.model["double"] = from_doubles(DType::kF64, {6}, six);
  state.model["int"] = HostTensor::of(Shape{2}, std::vector<std::int32_t>{-7, 1 << 30});
  state.model["long"] = HostTensor::of(Shape{2}, std::vector<std::int64_t>{-7, 1LL << 60});
  state.model["byte"] = HostTensor::of(Shape{3}, std::vector<std::uint8_t>{0, 7, 255});
  state.model["mask"] = from_doubles(DType::kBool, {3}, std::vector<double>{1, 0, 1});
  state.model["count"] = HostTensor::scalar<std::int64_t>(step);
  state.model["empty"] = HostTensor(DType::kF32, {0, 4});
  state.optimizer["exp_avg"]["h.0.ln_1.weight"] = from_doubles(DType::kF32, {6}, six);
  state.optimizer["exp_avg-2"]["h.0.ln_1.weight"] = from_doubles(DType::kF32, {6}, six);
  state.optimizer["unused"];
  TrainerState& trainer = state.trainer;
  trainer.step = step;
  trainer.epoch = 3;
  trainer.sample_position = 1LL << 40;
  trainer.evaluated_step = 1400;
  trainer.seed = 0xFFFFFFFFFFFFFFFFULL;
  trainer.schedule = {"cosine", {{"min_lr", 1e-4}, {"warmup_steps", 100}}};
  trainer.best_metric = 1.25;
  trainer.early_stopping = {.best_step = 1000, .bad_evaluations = 2};
  trainer.dataset_digest = "0123abcd";
  trainer.instruction_set = "AVX2";
  trainer.cpu_models = "A; B";
  trainer.samples = "{}";
  trainer.tokenizer = std::string("caf\xc3\xa9\0\n", 7) + std::string(100'000, 'x');
  state.config_yaml = "run:\n  name: caf\xc3\xa9\n";
  return state;
}

inline void expect_equal(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (auto i = a.begin(), j = b.begin(); i != a.end(); ++i, ++j) {
    EXPECT_EQ(i->first, j->first);
    EXPECT_EQ(i->second.dtype(), j->second.dtype()) << i->first;
    EXPECT_EQ(i->second.shape(), j->second.shape()) << i->first;
    ASSERT_EQ(i->second.bytes().size(), j->second.bytes().size()) << i->first;
    EXPECT_EQ(
        std::memcmp(i->second.bytes().data(), j->second.bytes().data(), i->second.bytes().size()),
        0)
        << i->first;
  }
}

}  // namespace lockstep::testing

// Your own model with all functions of the trainer: it runs alone and under mpirun with the same
// result, saves, and continues where it stopped when it is started again.
//
//   build/release/bin/own_model [device.threads=2 ...]
//   mpirun --bind-to none -n 2 build/release/bin/own_model
#include <lockstep/lockstep.h>

using namespace lockstep;

struct Net : Module {
  Linear in{*this, "in", 2, 16}, out{*this, "out", 16, 1};

  Loss operator()(const Batch& batch) const {  // one micro-batch: x [B,2], y [B,1]
    const Tensor error = out(relu(in(batch["x"]))) - batch["y"];
    return {.sum = batch.masked_sum(error * error), .count = batch.count()};
  }
};

DatasetPtr points() {  // y = x0 * x1
  HostTensor x(DType::kF32, {4096, 2}), y(DType::kF32, {4096, 1});
  random_normal({.seed = 7}, 0, x.as<float>());
  for (std::size_t i = 0; i < 4096; ++i)
    y.as<float>()[i] = x.as<float>()[2 * i] * x.as<float>()[2 * i + 1];
  return tensor_dataset({{"x", x}, {"y", y}});
}

int main(int argc, char** argv) {
  return run(argc, argv, [](Session& session) {
    Net net;
    Trainer trainer(session, net, AdamW{.learning_rate = 1e-2},
                    {.run = "runs/net", .checkpoint = {.resume = "auto", .save_interval = 50}});
    DataLoader data(session, points(), {.global_batch_size = 256, .micro_batch_size = 64});
    for (const Batch& batch : trainer.steps(data, 500)) {
      const StepResult step = trainer.step(batch, net);
      if (step.number() % 50 == 0) session.print("step {} loss {:.6f}", step.number(), step.loss());
    }
    session.print("eval {:.6f}", trainer.evaluate(data, net).at("loss"));
  });
}

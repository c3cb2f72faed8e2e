// A program that waits for what may never come, for waits_test.py.
//
//   waits WHAT [KEY=VALUE ...]
//
// WHAT: reads, records, assigns (a function of host_call() uses a tensor of the trace), blocks
// (such a function never returns, and the program reads its result), loops (the program waits for
// ever before it has trained), saves (a trainer saves, and then the program reads what never
// comes), trains (it waits for ever between two steps).
#include <lockstep/lockstep.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

using namespace lockstep;

namespace {

DatasetPtr numbers() {
  HostTensor x(DType::kF32, {64, 4});
  std::ranges::fill(x.as<float>(), 0.5F);
  return tensor_dataset({{"x", x}});
}

struct Net : Module {
  Linear out{*this, "out", 4, 1};
  Loss operator()(const Batch& batch) const {
    return {.sum = batch.masked_sum(reduce_sum(out(batch["x"]), {1})), .count = batch.count()};
  }
};

[[noreturn]] void wait_for_ever() {
  std::puts("waits");
  std::fflush(stdout);
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

HostFunction endless() {
  return {"endless", 1,
          [](std::span<const HostTensor>, std::span<HostTensor>) { wait_for_ever(); }};
}

/// Uses `tensor` on the device's thread.
HostFunction user_of(const std::string& what, Tensor& tensor) {
  return {"user", 1, [what, &tensor](std::span<const HostTensor>, std::span<HostTensor>) {
            if (what == "reads") tensor.item();
            if (what == "records") (void)(tensor + 1.0);
            if (what == "assigns") tensor.assign(tensor);
          }};
}

Tensor call(const HostFunction& function, const Tensor& operand) {
  return host_call(function, {operand}, operand.type());
}

void train(Session& session, const std::string& what) {
  Net net;
  Trainer trainer(session, net, Sgd{.learning_rate = 0.01},
                  {.run = "run", .checkpoint = {.save_interval = 2}});
  const DataLoader data(session, numbers(), {.global_batch_size = 8, .micro_batch_size = 8});
  for (const Batch& batch : trainer.steps(data, 3)) {
    trainer.step(batch, net);
    if (what == "trains" && trainer.step_number() == 2) wait_for_ever();
  }
  const Tensor one = session.tensor(HostTensor::scalar<float>(1), "one");
  call(endless(), one).item();
}

void body(Session& session) {
  const std::string what = session.arguments().at(0);
  if (what == "loops") wait_for_ever();
  if (what == "saves" || what == "trains") return train(session, what);
  Tensor one = session.tensor(HostTensor::scalar<float>(1), "one");
  if (what == "blocks") {
    call(endless(), one).item();
  } else {
    Tensor next = one * 2.0;
    call(user_of(what, next), one).item();
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, body);
}

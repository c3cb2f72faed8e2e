#include "bench/simulated_ranks/fibers.h"

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>
#include <vector>

#include "bench/simulated_ranks/stack_switch.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

namespace context = boost::context;

/// A stack allocator that tells where the stack is.
struct ToldStack {
  context::protected_fixedsize_stack stacks{Fibers::kStackBytes};
  WatchedStack* told;

  context::stack_context allocate() {
    const context::stack_context out = stacks.allocate();
    told->bottom = static_cast<const std::byte*>(out.sp) - out.size;
    told->bytes = out.size;
    return out;
  }
  void deallocate(context::stack_context& stack) { stacks.deallocate(stack); }
};

}  // namespace

struct Fibers::State {
  struct Fiber {
    context::fiber rest;  ///< what is left of it, while it does not run
    WatchedStack stack;
    bool begun = false;
    bool ended = false;
  };

  std::function<void(int)> body;
  std::vector<Fiber> fibers;
  context::fiber caller;  ///< what is left of the caller of resume(), while a fiber runs
  WatchedStack callers_stack;
  int running = -1;
};

Fibers::Fibers(int count, std::function<void(int)> body) : state_(std::make_unique<State>()) {
  state_->body = std::move(body);
  state_->fibers.resize(static_cast<std::size_t>(count));
}

Fibers::~Fibers() {
  for (State::Fiber& fiber : state_->fibers)
    if (fiber.begun) forget_stack(fiber.stack);
}

void Fibers::resume(int fiber) {
  State& state = *state_;
  State::Fiber& chosen = state.fibers[static_cast<std::size_t>(fiber)];
  LS_CHECK(state.running < 0 && !chosen.ended, "fiber {} cannot run now", fiber);
  if (!chosen.begun) {
    chosen.begun = true;
    watch_stack(chosen.stack);
    chosen.rest = context::fiber(std::allocator_arg, ToldStack{.told = &chosen.stack},
                                 [&state, &chosen, fiber](context::fiber&& caller) {
                                   after_switch(chosen.stack, state.callers_stack);
                                   state.caller = std::move(caller);
                                   state.body(fiber);
                                   chosen.ended = true;
                                   before_switch(chosen.stack, state.callers_stack, true);
                                   return std::move(state.caller);
                                 });
  }
  state.running = fiber;
  before_switch(state.callers_stack, chosen.stack, false);
  chosen.rest = std::move(chosen.rest).resume();
  // The caller's own bounds are known to the sanitizer; those of the fiber do not change.
  WatchedStack left;
  after_switch(state.callers_stack, left);
  state.running = -1;
}

bool Fibers::ended(int fiber) const {
  return state_->fibers[static_cast<std::size_t>(fiber)].ended;
}

void Fibers::suspend() {
  State& state = *state_;
  LS_CHECK(state.running >= 0, "only a fiber can suspend itself");
  State::Fiber& self = state.fibers[static_cast<std::size_t>(state.running)];
  before_switch(self.stack, state.callers_stack, false);
  state.caller = std::move(state.caller).resume();
  after_switch(self.stack, state.callers_stack);
}

}  // namespace lockstep

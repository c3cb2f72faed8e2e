#include "bench/simulated_ranks/fibers.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

TEST(Fibers, TakeTurnsAndKeepTheirVariables) {
  std::string told;
  Fibers* fibers = nullptr;
  Fibers three(3, [&](int fiber) {
    const std::string name(1, static_cast<char>('a' + fiber));
    for (int turn = 0; turn < fiber + 1; ++turn) {
      told += name + std::to_string(turn) + " ";
      fibers->suspend();
    }
  });
  fibers = &three;
  for (int turn = 0; turn < 4; ++turn)
    for (int fiber = 0; fiber < 3; ++fiber)
      if (!three.ended(fiber)) three.resume(fiber);
  EXPECT_EQ(told, "a0 b0 c0 b1 c1 c2 ");
  for (int fiber = 0; fiber < 3; ++fiber) EXPECT_TRUE(three.ended(fiber));
}

TEST(Fibers, ThrowAndCatchBetweenTurns) {
  std::vector<std::string> caught;
  Fibers* fibers = nullptr;
  Fibers many(100, [&](int fiber) {
    for (int turn = 0; turn < 3; ++turn) {
      try {
        fibers->suspend();
        throw std::runtime_error(std::to_string(fiber));
      } catch (const std::runtime_error& error) {
        caught.emplace_back(error.what());
      }
    }
  });
  fibers = &many;
  for (int turn = 0; turn < 4; ++turn)
    for (int fiber = 0; fiber < 100; ++fiber) many.resume(fiber);
  ASSERT_EQ(caught.size(), 300U);
  for (std::size_t i = 0; i < caught.size(); ++i) EXPECT_EQ(caught[i], std::to_string(i % 100));
}

TEST(Fibers, AreContinuedOnlyFromOutsideAndBeforeTheirEnd) {
  Fibers* fibers = nullptr;
  std::string error;
  Fibers two(2, [&](int) { error = error_of([&] { fibers->resume(1); }); });
  fibers = &two;
  two.resume(0);
  EXPECT_NE(error.find("fiber 1 cannot run now"), std::string::npos) << error;
  EXPECT_NE(error_of([&] { two.resume(0); }).find("fiber 0 cannot run now"), std::string::npos);
  EXPECT_NE(error_of([&] { two.suspend(); }).find("only a fiber"), std::string::npos);
}

}  // namespace
}  // namespace lockstep

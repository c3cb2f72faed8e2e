#include "core/base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/error.h"

namespace lockstep {
namespace {

using testing::ThrowsMessage;

struct Environment : testing::Test {
  Environment() { clear(); }
  ~Environment() override { clear(); }
  static void clear() {
    for (const char* name :
         {"LOCKSTEP_DEBUG", "LOCKSTEP_DUMP_DIR", "LOCKSTEP_MAX_ISA", "LOCKSTEP_PRETEND_ISA",
          "ONEDNN_MAX_CPU_ISA", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_ID",
          "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES",
          "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURM_JOB_NODELIST",
          "PBS_NODEFILE", "XDG_CACHE_HOME", "HOME"}) {
      unsetenv(name);
    }
  }
  static void set(const char* name, const char* value) { setenv(name, value, 1); }
};

TEST_F(Environment, EmptyMeansOneSilentProcess) {
  const Settings settings = settings_from_environment();
  EXPECT_EQ(settings.debug, 0);
  EXPECT_EQ(settings.world_rank, 0);
  EXPECT_EQ(settings.world_size, 1);
  EXPECT_FALSE(settings.under_launcher);
}

TEST_F(Environment, AnEmptyVariableIsAnUnsetOne) {
  set("LOCKSTEP_DEBUG", "");
  EXPECT_EQ(settings_from_environment().debug, 0);
}

TEST_F(Environment, SaysWhereProgramsAreDumped) {
  EXPECT_EQ(settings_from_environment().dump_folder, "");
  set("LOCKSTEP_DUMP_DIR", "dumps");
  EXPECT_EQ(settings_from_environment().dump_folder, "dumps");
}

TEST_F(Environment, TellsRankAndSizeUnderMpirun) {
  set("OMPI_COMM_WORLD_RANK", "3");
  set("OMPI_COMM_WORLD_SIZE", "4");
  const Settings settings = settings_from_environment();
  EXPECT_EQ(settings.world_rank, 3);
  EXPECT_EQ(settings.world_size, 4);
  EXPECT_TRUE(settings.under_launcher);
}

TEST_F(Environment, TellsWhetherMpirunMayFindOtherHosts) {
  EXPECT_FALSE(settings_from_environment().in_allocation);
  set("SLURM_JOB_ID", "17");
  EXPECT_TRUE(settings_from_environment().in_allocation);
  set("SLURM_JOB_NUM_NODES", "1");
  EXPECT_FALSE(settings_from_environment().in_allocation);
  set("PBS_NODEFILE", "/var/spool/pbs/aux/17");
  EXPECT_TRUE(settings_from_environment().in_allocation);
}

TEST_F(Environment, OneRankUnderMpirunIsStillUnderMpirun) {
  set("OMPI_COMM_WORLD_RANK", "0");
  set("OMPI_COMM_WORLD_SIZE", "1");
  EXPECT_TRUE(settings_from_environment().under_launcher);
}

TEST_F(Environment, TellsRankAndSizeUnderSrun) {
  set("SLURM_STEP_ID", "0");
  set("SLURM_STEP_NUM_TASKS", "8");
  set("SLURM_PROCID", "5");
  const Settings settings = settings_from_environment();
  EXPECT_EQ(settings.world_rank, 5);
  EXPECT_EQ(settings.world_size, 8);
  EXPECT_TRUE(settings.under_launcher);
}

TEST_F(Environment, ABatchScriptOfSlurmIsOneProcess) {
  set("SLURM_PROCID", "0");
  EXPECT_FALSE(settings_from_environment().under_launcher);
}

TEST_F(Environment, NamesTheJobOfSlurm) {
  EXPECT_EQ(settings_from_environment().slurm_job, "");
  set("SLURM_JOB_ID", "17");
  set("SLURM_JOB_NODELIST", "node[1-3]");
  set("SLURM_RESTART_COUNT", "2");
  const Settings settings = settings_from_environment();
  EXPECT_EQ(settings.slurm_job, "17");
  EXPECT_EQ(settings.slurm_nodes, "node[1-3]");
  EXPECT_EQ(settings.slurm_restarts, 2);
}

// "scontrol requeue 17" would requeue all of the array, whose last member has its number.
TEST_F(Environment, NamesAMemberOfAJobArray) {
  set("SLURM_JOB_ID", "17");
  set("SLURM_ARRAY_JOB_ID", "17");
  set("SLURM_ARRAY_TASK_ID", "4");
  EXPECT_EQ(settings_from_environment().slurm_job, "17_4");
}

// srun may start mpirun's daemons, whose ranks have variables of both.
TEST_F(Environment, MpirunCountsInsideAStepOfSlurm) {
  set("SLURM_STEP_ID", "1");
  set("SLURM_STEP_NUM_TASKS", "2");
  set("OMPI_COMM_WORLD_RANK", "3");
  set("OMPI_COMM_WORLD_SIZE", "4");
  EXPECT_EQ(settings_from_environment().world_size, 4);
  EXPECT_EQ(settings_from_environment().world_rank, 3);
}

TEST_F(Environment, FindsTheUsersCache) {
  EXPECT_EQ(settings_from_environment().cache_home, "");
  set("HOME", "/home/ada");
  EXPECT_EQ(settings_from_environment().cache_home, "/home/ada/.cache");
  set("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(settings_from_environment().cache_home, "/home/ada/.cache");
  set("XDG_CACHE_HOME", "/var/cache/ada");
  EXPECT_EQ(settings_from_environment().cache_home, "/var/cache/ada");
}

TEST_F(Environment, LimitsTheInstructionSet) {
  EXPECT_EQ(settings_from_environment().max_isa, MaxIsa::kAuto);
  set("LOCKSTEP_MAX_ISA", "avx512");
  EXPECT_EQ(settings_from_environment().max_isa, MaxIsa::kAvx512);
  set("LOCKSTEP_MAX_ISA", "avx2");
  EXPECT_EQ(settings_from_environment().max_isa, MaxIsa::kAvx2);
  set("LOCKSTEP_MAX_ISA", "sse4");
  EXPECT_THAT(
      [] { return settings_from_environment(); },
      ThrowsMessage<Error>("environment variable LOCKSTEP_MAX_ISA='sse4' must be auto, avx2 or "
                           "avx512"));
}

TEST_F(Environment, PretendsVectorUnits) {
  EXPECT_EQ(settings_from_environment().pretended_units, std::nullopt);
  set("LOCKSTEP_PRETEND_ISA", "avx512_bf16");
  EXPECT_EQ(settings_from_environment().pretended_units, VectorUnits::kAvx512Bf16);
  set("LOCKSTEP_PRETEND_ISA", "neon");
  EXPECT_THAT([] { return settings_from_environment(); },
              ThrowsMessage<Error>("environment variable LOCKSTEP_PRETEND_ISA='neon' must be avx2, "
                                   "avx512, avx512_bf16 or amx"));
}

TEST_F(Environment, TellsWhatChangesTheNumbersOfLibraries) {
  const auto before = settings_from_environment().numerics;
  set("ONEDNN_MAX_CPU_ISA", "AVX2");
  EXPECT_NE(settings_from_environment().numerics, before);
}

TEST_F(Environment, RefusesWhatIsNoDebugLevel) {
  set("LOCKSTEP_DEBUG", "5");
  EXPECT_EQ(settings_from_environment().debug, 5);
  for (const std::string text : {"6", "-1", "2x", "x", " 2", "1.5", "99999999999999999999"}) {
    set("LOCKSTEP_DEBUG", text.c_str());
    EXPECT_THAT([] { return settings_from_environment(); },
                ThrowsMessage<Error>("environment variable LOCKSTEP_DEBUG='" + text +
                                     "' must be an integer from 0 to 5"));
  }
}

}  // namespace
}  // namespace lockstep

// The sections of a report, each as the text of a JSON object, which the page draws. All have
//   "finding"  one sentence on what the figures say
//   "sources"  the files and commands that the figures come from
//   "missing"  only if the run did not record something: what would fill the section
// and figures of their own (page/README.md). Sentences are written here, not in the page.
#pragma once

#include <string>
#include <vector>

#include "trainer/report/run_facts.h"

namespace lockstep {

std::string verdict_section(const RunFacts& facts);        ///< how it ended, what to look at first
std::string learning_section(const RunFacts& facts);       ///< curves of losses and metrics
std::string step_section(const RunFacts& facts);           ///< where the time of a step goes
std::string ranks_section(const RunFacts& facts);          ///< who waits for whom
std::string ops_section(const RunFacts& facts);            ///< time by class, op, module, line
std::string memory_section(const RunFacts& facts);         ///< of a step, command by command
std::string compilation_section(const RunFacts& facts);    ///< programs, causes, reads
std::string communication_section(const RunFacts& facts);  ///< buckets, hidden and exposed
std::string graph_section(const RunFacts& facts);          ///< modules, kernels, ops
std::string foresight_section(const RunFacts& facts);      ///< predicted against measured
std::string reproduce_section(const RunFacts& facts);      ///< what one needs to run it again

/// The keys in which the configs of these runs differ: a JSON list.
std::string config_differences(const std::vector<RunFacts>& runs);

}  // namespace lockstep

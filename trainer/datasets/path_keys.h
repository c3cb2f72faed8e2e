// The keys of datasets in files: those for training and for validation. A struct has members
// `path`, `val_path` and `val_fraction` for them.
#pragma once

#include <vector>

#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"

namespace lockstep {

template <class Data>
Key path_key() {
  return {.name = "path",
          .member = bind<&Data::path>(),
          .doc =
              "File to train on; for text and tokens also a list of files read one after the "
              "other.",
          .required = true,
          .per_rank = true,
          .file = true};
}

template <class Data>
Key val_path_key() {
  return {.name = "val_path",
          .member = bind<&Data::val_path>(),
          .doc = "File or files to validate on; without it, a part of data.path is used.",
          .may_be_empty = true,
          .per_rank = true,
          .file = true};
}

template <class Data>
Key val_fraction_key() {
  return {.name = "val_fraction",
          .member = bind<&Data::val_fraction>(),
          .range = fraction(),
          .doc =
              "Part at the end of data.path that is kept for validation when there is no "
              "val_path."};
}

template <class Data>
std::vector<Key> path_keys() {
  return {path_key<Data>(), val_path_key<Data>(), val_fraction_key<Data>()};
}

template <class Data>
void check_validation(const Data& data, const Config& run, const ReportProblem& report) {
  if (run.eval.interval == 0 || !data.val_path.empty() || data.val_fraction != 0) return;
  report({"eval.interval", "data.val_fraction", "data.val_path", "data.type"},
         "'eval.interval' asks for evaluation, but 'data.val_fraction: 0' leaves nothing to "
         "evaluate on");
}

}  // namespace lockstep

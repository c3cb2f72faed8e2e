// Ranks read their data themselves, each where its machine has it: before anything is made of it,
// they compare it. A difference ends the job with code 3, names the files and the first byte that
// differs.
//
// Files are compared by hashes of their raw bytes, all of them up to 8 GiB and 65536 files; of
// more, sizes and 256 probes of each, and while the ranks train one sample after another
// (data_watch.h). Where these would be probes of more than 4096 files, such as a folder of images,
// all names and sizes, but so many probes of 256 files only. So is data that no file holds: by 256
// samples before the first step. Hashes are kept beside the compiled steps, by device, inode, size
// and times of the file; not of files in a folder, which are many, nor of one that was changed less
// than 2 s ago, which may be changed again within the resolution of its times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/activity.h"
#include "core/base/log.h"
#include "core/runtime/communicator.h"
#include "data/files/file_hash.h"
#include "trainer/settings/config.h"
#include "trainer/task/data_source.h"

namespace lockstep {

class Registry;

struct DataAgreementOptions {
  std::string cache_folder = {};  ///< of hashes; empty: none are kept
  /// Told of what is wrong with them, beside the log.
  std::function<void(const std::string&)> on_warning = {};
  Activity activity = {};  ///< is told of the progress
  HashLimits limits = {};  ///< of what is compared in full
};

/// Called by all ranks before data is opened. Error kData, the same on all ranks, if files differ
/// or one cannot be read on some rank only. Says in the log how much was compared. Returns whether
/// all of it was; false for data without files.
bool agree_on_files(Communicator& communicator, const Config& config, const Registry& registry,
                    const DataAgreementOptions& options, Log& log);

/// Called by all ranks on what they made of the files: sizes and tokenizer, and of data without
/// files the probes. Error kData.
void agree_on_datasets(Communicator& communicator, const DataSource& data);

}  // namespace lockstep

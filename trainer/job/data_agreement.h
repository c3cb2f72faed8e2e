// Each rank reads its data from its own machine. Before they use the data, the ranks compare it. A
// difference ends the job with code 3 and names the files and the first byte that differs.
//
// Up to 8 GiB and 65536 files, the ranks compare hashes of all raw bytes. Beyond that they compare
// sizes and 256 probes of each file, and samples during training (data_watch.h). Of more than 4096
// such files, for example a folder of images, they compare all names and sizes, but probe 256 files
// only. Of data without files they compare 256 samples before the first step. Hashes are cached
// beside the compiled steps, by device, inode, size and times of the file. Hashes of files in a
// folder are not cached, since there are many; nor that of a file changed less than 2 s ago, since
// it may change again within the resolution of its times.
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
  std::string cache_folder = {};  ///< for hashes; empty: no hash is cached
  /// Called with each warning about the cache, in addition to the log.
  std::function<void(const std::string&)> on_warning = {};
  Activity activity = {};  ///< reports the progress
  HashLimits limits = {};  ///< of what is compared in full
};

/// Collective, called before data is opened. Error kData, the same on all ranks, if files differ or
/// if only some ranks can read one. Logs how much was compared. Returns whether all data was
/// compared; false for data without files.
bool agree_on_files(Communicator& communicator, const Config& config, const Registry& registry,
                    const DataAgreementOptions& options, Log& log);

/// Collective, called on the opened data: compares sizes and tokenizer, and for data without files
/// the probes. Error kData.
void agree_on_datasets(Communicator& communicator, const DataSource& data);

}  // namespace lockstep

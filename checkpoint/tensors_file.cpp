#include "checkpoint/tensors_file.h"

#include "checkpoint/hdf5_file.h"
#include "checkpoint/hdf5_reader.h"
#include "core/base/atomic_file.h"

namespace lockstep {

void write_tensors_file(const std::string& path, const NamedTensors& tensors) {
  AtomicFile target(path, ErrorKind::kUsage);
  Hdf5File hdf5 = Hdf5File::create(target.file(), 0);
  for (const auto& [name, tensor] : tensors) {
    LS_USER_CHECK(is_storable_name(name), "{}: a tensor cannot be named '{}'", path, name);
    hdf5.write_tensor("/" + name, tensor);
  }
  hdf5.close();
  target.commit();
}

NamedTensors read_tensors_file(const std::string& path, double max_gb) {
  const PosixFile file = PosixFile::open(path, ErrorKind::kUsage);
  Hdf5Reader hdf5(file, {.gigabytes = max_gb, .changed_by = "--max-gb"});
  NamedTensors tensors;
  for (const std::string& name : hdf5.data_sets()) tensors[name] = hdf5.read("/" + name);
  return tensors;
}

}  // namespace lockstep

#include "checkpoint/tensors_file.h"

#include "checkpoint/hdf5_file.h"
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

NamedTensors read_tensors_file(const std::string& path) {
  PosixFile file = PosixFile::open(path, ErrorKind::kUsage);
  const Hdf5File hdf5 = Hdf5File::open(file);
  NamedTensors tensors;
  for (const Hdf5Link& link : hdf5.list("/")) {
    LS_USER_CHECK(link.kind == Hdf5Link::Kind::kDataset,
                  "{}: /{} is not a data set; tensors stand at the top level of the file", path,
                  link.name);
    tensors[link.name] = hdf5.read_tensor("/" + link.name);
  }
  return tensors;
}

}  // namespace lockstep

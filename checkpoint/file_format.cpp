#include "checkpoint/file_format.h"

#include <algorithm>

#include "checkpoint/content_digest.h"
#include "checkpoint/header_block.h"
#include "checkpoint/trainer_attributes.h"
#include "checkpoint/verify.h"

namespace lockstep {
namespace {

constexpr const char* kConfig = "/config";
constexpr std::string_view kModelPrefix = "model/";
constexpr std::string_view kOptimizerPrefix = "optimizer/";

void require_storable(const std::string& name) {
  LS_USER_CHECK(
      is_storable_name(name),
      "'{}' cannot name a tensor or slot of a checkpoint: a name is not empty, is not '.' "
      "and holds neither '/' nor NUL",
      name);
}

void write_tensors(Hdf5File& file, const std::string& group, const NamedTensors& tensors) {
  file.create_group(group);
  for (const auto& [name, tensor] : tensors) {
    require_storable(name);
    file.write_tensor(group + "/" + name, tensor);
  }
}

// Writes the header of a file whose contents, from byte 512 on, are complete.
void seal(PosixFile& file) {
  HeaderBlock header;
  header.file_bytes = file.size();
  header.digest = content_digest(file);
  file.write(0, encode_header(header));
}

void append_tensors(const Hdf5File& file, const std::string& group, std::vector<TensorEntry>& out) {
  for (const Hdf5Link& link : file.list("/" + group)) {
    const std::string path = group + "/" + link.name;
    const TensorInfo info = file.tensor_info("/" + path);
    out.push_back({path, info.dtype, info.shape});
  }
}

std::vector<TensorEntry> tensors_of(const Hdf5File& file) {
  std::vector<TensorEntry> out;
  append_tensors(file, "model", out);
  for (const Hdf5Link& slot : file.list("/optimizer")) {
    append_tensors(file, std::string(kOptimizerPrefix) + slot.name, out);
  }
  // Slots are listed in the order of their names, which '/' after them can change.
  std::sort(out.begin(), out.end(),
            [](const TensorEntry& a, const TensorEntry& b) { return a.path < b.path; });
  return out;
}

}  // namespace

std::string model_path(const std::string& name) {
  return std::string(kModelPrefix) + name;
}

std::string optimizer_path(const std::string& slot, const std::string& name) {
  return std::string(kOptimizerPrefix) + slot + "/" + name;
}

void write_checkpoint(PosixFile& file, const CheckpointState& state) {
  Hdf5File hdf5 = Hdf5File::create(file, kHeaderBytes);
  hdf5.write_text(kConfig, state.config_yaml);
  write_trainer(hdf5, state.trainer);
  write_tensors(hdf5, "/model", state.model);
  hdf5.create_group("/optimizer");
  for (const auto& [slot, tensors] : state.optimizer) {
    require_storable(slot);
    write_tensors(hdf5, "/optimizer/" + slot, tensors);
  }
  hdf5.close();
  seal(file);
  file.check_writes();
}

std::uint64_t checkpoint_bytes_bound(const CheckpointState& state) {
  // Object headers, attributes, group nodes and alignment, generously.
  constexpr std::uint64_t kFixed = 64 << 10;
  constexpr std::uint64_t kPerObject = 2 << 10;
  std::uint64_t bytes = kFixed + state.config_yaml.size() + state.trainer.tokenizer.size();
  const auto add = [&](const NamedTensors& tensors) {
    bytes += kPerObject;
    for (const auto& [name, tensor] : tensors)
      bytes += kPerObject + name.size() + tensor.bytes().size();
  };
  add(state.model);
  for (const auto& [slot, tensors] : state.optimizer) add(tensors);
  return bytes;
}

CheckpointReader::CheckpointReader(const std::string& path)
    : file_(std::make_unique<PosixFile>(PosixFile::open(path, ErrorKind::kCheckpoint))) {
  const Verdict verdict = verify(*file_);
  if (!verdict.ok()) raise(ErrorKind::kCheckpoint, "{}: {}", path, verdict.problem);
  hdf5_ = std::make_unique<Hdf5File>(Hdf5File::open(*file_));
  trainer_ = read_trainer(*hdf5_, path);
  config_yaml_ = hdf5_->read_text(kConfig);
  tensors_ = tensors_of(*hdf5_);
}

HostTensor CheckpointReader::read(const TensorEntry& entry) const {
  return hdf5_->read_tensor("/" + entry.path);
}

CheckpointState CheckpointReader::load() const {
  CheckpointState state;
  state.trainer = trainer_;
  state.config_yaml = config_yaml_;
  // Slots without tensors are listed too.
  for (const Hdf5Link& slot : hdf5_->list("/optimizer")) state.optimizer[slot.name];
  for (const TensorEntry& entry : tensors_) {
    if (entry.path.starts_with(kModelPrefix)) {
      state.model[entry.path.substr(kModelPrefix.size())] = read(entry);
      continue;
    }
    const std::string rest = entry.path.substr(kOptimizerPrefix.size());
    const std::size_t slash = rest.find('/');
    state.optimizer[rest.substr(0, slash)][rest.substr(slash + 1)] = read(entry);
  }
  return state;
}

}  // namespace lockstep

#include "checkpoint/file_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/hdf5_file.h"
#include "checkpoint/hdf5_structure.h"
#include "checkpoint/header_block.h"
#include "checkpoint/trainer_attributes.h"
#include "checkpoint/verify.h"
#include "checkpoint/written_bytes.h"

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
    file.write_tensor(fmt::format("{}/{}", group, name), tensor);
  }
}

// The parts of a checkpoint's structure.
struct Parts {
  std::vector<TensorEntry> tensors;
  std::vector<std::string> slots;
};

// Every object in the file must have a known place.
Parts parts_of(const std::map<std::string, Hdf5Object>& objects, const std::string& path) {
  using Kind = Hdf5Object::Kind;
  Parts out;
  const auto require = [&](const std::string& name, const Hdf5Object& object, Kind kind) {
    if (object.kind != kind || (!object.attributes.empty() && name != kTrainer)) {
      raise(ErrorKind::kCheckpoint, "{}: not as lockstep writes it: {} has another kind", path,
            name);
    }
  };
  for (const char* name : {"/config", "/model", "/optimizer", "/trainer", "/trainer/tokenizer"}) {
    if (!objects.contains(name)) {
      raise(ErrorKind::kCheckpoint, "{}: not as lockstep writes it: {} is missing", path, name);
    }
  }
  for (const auto& [name, object] : objects) {
    const auto under = [&name = name](std::string_view prefix) { return name.starts_with(prefix); };
    if (name == "/" || name == "/model" || name == "/optimizer" || name == kTrainer) {
      require(name, object, Kind::kGroup);
    } else if (name == kConfig) {
      require(name, object, Kind::kText);
    } else if (name == kTokenizer || name == kSamples) {
      require(name, object, Kind::kTensor);
    } else if (under("/optimizer/") && std::count(name.begin(), name.end(), '/') == 2) {
      require(name, object, Kind::kGroup);
      out.slots.push_back(name.substr(std::string_view("/optimizer/").size()));
    } else if (under("/model/") || under("/optimizer/")) {
      require(name, object, Kind::kTensor);
      out.tensors.push_back({name.substr(1), object.dtype, object.shape, object.offset});
    } else {
      raise(ErrorKind::kCheckpoint, "{}: not as lockstep writes it: {} is unexpected", path, name);
    }
  }
  return out;
}

// Splits "optimizer/<slot>/<name>".
std::pair<std::string, std::string> slot_and_name(const std::string& path) {
  const std::string rest = path.substr(kOptimizerPrefix.size());
  const std::size_t slash = rest.find('/');
  return {rest.substr(0, slash), rest.substr(slash + 1)};
}

// The tensor of a state at `path`; null if there is none.
const HostTensor* find_tensor(const CheckpointState& state, const std::string& path) {
  const auto find = [](const NamedTensors& tensors, const std::string& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
  };
  if (path.starts_with(kModelPrefix)) return find(state.model, path.substr(kModelPrefix.size()));
  const auto [slot_name, name] = slot_and_name(path);
  const auto slot = state.optimizer.find(slot_name);
  return slot == state.optimizer.end() ? nullptr : find(slot->second, name);
}

// The places of the state's tensors in the file that was written from it, as a reader finds them.
std::vector<MemoryCopy> copies_of(const CheckpointState& state, const PosixFile& file) {
  const std::map<std::string, Hdf5Object> objects = read_structure(file, kHeaderBytes);
  std::size_t expected = state.model.size();
  for (const auto& [slot, tensors] : state.optimizer) expected += tensors.size();
  const Parts parts = parts_of(objects, file.path());
  bool is_complete =
      parts.tensors.size() == expected && parts.slots.size() == state.optimizer.size();
  std::vector<MemoryCopy> copies;
  const auto add = [&](std::uint64_t offset, std::span<const std::byte> memory) {
    if (!memory.empty()) copies.push_back({offset, memory});
  };
  for (const TensorEntry& entry : parts.tensors) {
    const HostTensor* tensor = find_tensor(state, entry.path);
    is_complete = is_complete && tensor != nullptr && tensor->dtype() == entry.dtype &&
                  tensor->shape() == entry.shape;
    if (is_complete) add(entry.offset, tensor->bytes());
  }
  const Hdf5Object& tokenizer = objects.at(kTokenizer);
  is_complete = is_complete && tokenizer.bytes == state.trainer.tokenizer.size();
  const auto samples = objects.find(kSamples);
  is_complete = is_complete &&
                (samples == objects.end() ? state.trainer.samples.empty()
                                          : samples->second.bytes == state.trainer.samples.size());
  if (!is_complete) {
    raise(ErrorKind::kCheckpoint, "{}: its tensors do not read back as they were written",
          file.path());
  }
  add(tokenizer.offset, std::as_bytes(std::span(state.trainer.tokenizer)));
  if (samples != objects.end())
    add(samples->second.offset, std::as_bytes(std::span(state.trainer.samples)));
  return copies;
}

HostTensor read_elements(const PosixFile& file, const TensorEntry& entry) {
  HostTensor tensor(entry.dtype, entry.shape);
  if (file.read(entry.offset, tensor.bytes()) < tensor.bytes().size()) {
    raise(file.error_kind(), "{}: {}: the file became shorter", file.path(), entry.path);
  }
  return tensor;
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
  file.check_writes();
  seal(file, hdf5.written(), copies_of(state, file));
}

std::uint64_t checkpoint_bytes_bound(const CheckpointState& state) {
  // Object headers, attributes, group nodes and alignment, with a margin.
  constexpr std::uint64_t kFixed = 64 << 10;
  constexpr std::uint64_t kPerObject = 2 << 10;
  std::uint64_t bytes = kFixed + state.config_yaml.size() + state.trainer.tokenizer.size() +
                        state.trainer.samples.size() + 32 * state.trainer.losses.recent.size();
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
    : file_(PosixFile::open(path, ErrorKind::kCheckpoint)) {
  const FileVerdict verdict = verify(file_);
  if (!verdict.ok()) raise(ErrorKind::kCheckpoint, "{}: {}", path, verdict.problem);
  const std::map<std::string, Hdf5Object> objects = read_structure(file_, kHeaderBytes);
  Parts parts = parts_of(objects, path);
  const auto read_text = [&](const char* name) {
    const auto found = objects.find(name);
    if (found == objects.end()) return std::string();
    const Hdf5Object& text = found->second;
    return text_of(read_elements(file_, {name, text.dtype, text.shape, text.offset}), name, path);
  };
  trainer_ = read_trainer(objects.at(kTrainer).attributes, path);
  trainer_.tokenizer = read_text(kTokenizer);
  trainer_.samples = read_text(kSamples);
  config_yaml_ = objects.at(kConfig).text;
  tensors_ = std::move(parts.tensors);
  slots_ = std::move(parts.slots);
}

HostTensor CheckpointReader::read(const TensorEntry& entry) const {
  return read_elements(file_, entry);
}

CheckpointState CheckpointReader::load() const {
  CheckpointState state;
  state.trainer = trainer_;
  state.config_yaml = config_yaml_;
  for (const std::string& slot : slots_) state.optimizer[slot];
  for (const TensorEntry& entry : tensors_) {
    if (entry.path.starts_with(kModelPrefix)) {
      state.model[entry.path.substr(kModelPrefix.size())] = read(entry);
      continue;
    }
    const auto [slot, name] = slot_and_name(entry.path);
    state.optimizer[slot][name] = read(entry);
  }
  return state;
}

}  // namespace lockstep

#include "trainer/run/shared_checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

Json to_json(const LossHistory& losses) {
  return {{"recent", losses.recent},
          {"level", losses.level},
          {"least_spread", losses.least_spread},
          {"largest_norm", losses.largest_norm},
          {"lowest_evaluation", losses.lowest_evaluation}};
}

LossHistory losses_from_json(const Json& json) {
  LossHistory out;
  json.at("recent").get_to(out.recent);
  json.at("level").get_to(out.level);
  json.at("least_spread").get_to(out.least_spread);
  json.at("largest_norm").get_to(out.largest_norm);
  json.at("lowest_evaluation").get_to(out.lowest_evaluation);
  return out;
}

Json to_json(const TrainerState& state) {
  const auto binary = [](const std::string& text) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    return Json::binary({bytes, bytes + text.size()});
  };
  return {{"step", state.step},
          {"epoch", state.epoch},
          {"sample_position", state.sample_position},
          {"seed", state.seed},
          {"schedule", state.schedule.name},
          {"schedule_values", state.schedule.values},
          {"best_metric", state.best_metric},
          {"best_metric_name", state.best_metric_name},
          {"best_metric_mode", state.best_metric_mode},
          {"best_step", state.early_stopping.best_step},
          {"bad_evaluations", state.early_stopping.bad_evaluations},
          {"good_step", state.good_step},
          {"confirmation", static_cast<int>(state.confirmation)},
          {"losses", to_json(state.losses)},
          {"evaluated_step", state.evaluated_step},
          {"dataset_digest", state.dataset_digest},
          {"instruction_set", state.instruction_set},
          {"cpu_models", state.cpu_models},
          {"tokenizer", binary(state.tokenizer)},
          {"samples", binary(state.samples)},
          {"format_version", state.format_version},
          {"lockstep_version", state.lockstep_version}};
}

TrainerState trainer_from_json(const Json& json) {
  TrainerState out;
  json.at("step").get_to(out.step);
  json.at("epoch").get_to(out.epoch);
  json.at("sample_position").get_to(out.sample_position);
  json.at("seed").get_to(out.seed);
  json.at("schedule").get_to(out.schedule.name);
  json.at("schedule_values").get_to(out.schedule.values);
  json.at("best_metric").get_to(out.best_metric);
  json.at("best_metric_name").get_to(out.best_metric_name);
  json.at("best_metric_mode").get_to(out.best_metric_mode);
  json.at("best_step").get_to(out.early_stopping.best_step);
  json.at("bad_evaluations").get_to(out.early_stopping.bad_evaluations);
  json.at("good_step").get_to(out.good_step);
  out.confirmation = static_cast<Confirmation>(json.at("confirmation").get<int>());
  out.losses = losses_from_json(json.at("losses"));
  json.at("evaluated_step").get_to(out.evaluated_step);
  json.at("dataset_digest").get_to(out.dataset_digest);
  json.at("instruction_set").get_to(out.instruction_set);
  json.at("cpu_models").get_to(out.cpu_models);
  const auto text = [&](const char* name) -> std::string {
    const auto& bytes = json.at(name).get_binary();
    return {bytes.begin(), bytes.end()};
  };
  out.tokenizer = text("tokenizer");
  out.samples = text("samples");
  json.at("format_version").get_to(out.format_version);
  json.at("lockstep_version").get_to(out.lockstep_version);
  return out;
}

Json to_json(const TensorEntry& entry) {
  std::vector<std::int64_t> dims;
  dims.reserve(static_cast<std::size_t>(entry.shape.rank()));
  for (int i = 0; i < entry.shape.rank(); ++i) dims.push_back(entry.shape[i]);
  return {{"path", entry.path},
          {"dtype", name_of(entry.dtype)},
          {"shape", dims},
          {"offset", entry.offset}};
}

TensorEntry entry_from_json(const Json& json) {
  TensorEntry out;
  json.at("path").get_to(out.path);
  json.at("offset").get_to(out.offset);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): to_json() wrote the name of one
  out.dtype = parse_dtype(json.at("dtype").get<std::string>()).value();
  for (const std::int64_t dim : json.at("shape").get<std::vector<std::int64_t>>())
    out.shape.push_back(dim);
  return out;
}

std::string to_bytes(const Json& json) {
  std::string out;
  Json::to_cbor(json, out);
  return out;
}

}  // namespace

std::optional<SharedCheckpoint> SharedCheckpoint::open(
    Communicator& communicator, const std::function<std::optional<CheckpointReader>()>& open) {
  SharedCheckpoint out(communicator);
  std::string message;
  if (communicator.is_master_ordinal()) {
    try {
      if (std::optional<CheckpointReader> reader = open())
        out.reader_ = std::make_unique<CheckpointReader>(std::move(*reader));
      message = out.reader_ ? out.encode() : to_bytes({{"found", false}});
    } catch (const Error& e) {
      message = to_bytes({{"kind", e.exit_code()}, {"error", e.what()}});
    }
  }
  message = communicator.exchange("checkpoint", message)[0];
  const Json json = Json::from_cbor(message);
  if (json.contains("error"))
    throw Error(static_cast<ErrorKind>(json.at("kind").get<int>()),
                json.at("error").get<std::string>());
  if (!json.at("found").get<bool>()) return std::nullopt;
  out.decode(message);
  return out;
}

std::string SharedCheckpoint::encode() const {
  Json tensors = Json::array();
  for (const TensorEntry& entry : reader_->tensors()) tensors.push_back(to_json(entry));
  return to_bytes({{"found", true},
                   {"path", reader_->path()},
                   {"trainer", to_json(reader_->trainer())},
                   {"config", reader_->config_yaml()},
                   {"tensors", std::move(tensors)}});
}

void SharedCheckpoint::decode(const std::string& bytes) {
  const Json json = Json::from_cbor(bytes);
  json.at("path").get_to(path_);
  trainer_ = trainer_from_json(json.at("trainer"));
  json.at("config").get_to(config_yaml_);
  for (const Json& entry : json.at("tensors")) tensors_.push_back(entry_from_json(entry));
}

const TensorEntry* SharedCheckpoint::find(const std::string& path) const {
  const auto found = std::ranges::lower_bound(tensors_, path, {}, &TensorEntry::path);
  return found != tensors_.end() && found->path == path ? &*found : nullptr;
}

HostTensor SharedCheckpoint::read(const TensorEntry& entry) const {
  CollectiveRequest request;
  request.kind = CollectiveKind::kBroadcast;
  request.dtype = entry.dtype;
  request.count = entry.shape.elements();
  HostTensor out;
  try {
    out = reader_ ? reader_->read(entry) : HostTensor(entry.dtype, entry.shape);
  } catch (const Error&) {
    if (communicator_->size() == 1) throw;
    // Its header sends the error to the other ranks, which throw it here.
    request.ready = std::make_shared<Event>();
    request.ready->fail(std::current_exception());
    out = HostTensor(entry.dtype, entry.shape);
  }
  request.data = out.bytes().data();
  if (communicator_->size() > 1) communicator_->wait(communicator_->submit(request));
  return out;
}

}  // namespace lockstep

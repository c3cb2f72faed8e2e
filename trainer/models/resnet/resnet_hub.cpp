// ResNet on the hub: a folder of timm, whose state dict has torchvision's names. Settings that
// timm's resnets do not have, the stem of CIFAR and shortcuts of zeros, are in config.json under
// lockstep's own keys.
#include <array>
#include <nlohmann/json.hpp>

#include "trainer/models/resnet/resnet_config.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

struct Architecture {
  const char* name;
  const char* layer_type;
  std::array<std::int64_t, 4> depths;
};
constexpr std::array<Architecture, 6> kArchitectures{{{"resnet18", "basic", {2, 2, 2, 2}},
                                                      {"resnet34", "basic", {3, 4, 6, 3}},
                                                      {"resnet26", "bottleneck", {2, 2, 2, 2}},
                                                      {"resnet50", "bottleneck", {3, 4, 6, 3}},
                                                      {"resnet101", "bottleneck", {3, 4, 23, 3}},
                                                      {"resnet152", "bottleneck", {3, 8, 36, 3}}}};

/// Moves a value to another name, if there is one.
void rename(HubValues& values, const std::string& from, const std::string& to) {
  if (auto found = values.extract(from)) values[to] = std::move(found.mapped());
}

void resnet_from_hub(HubValues& values) {
  for (const Architecture& known : kArchitectures)
    if (values.at("architecture") == Json(known.name).dump()) {
      values["layer_type"] = Json(known.layer_type).dump();
      values["depths"] = Json(known.depths).dump();
    }
  // Channels, height, width.
  if (const auto size = hub_list(values, "pretrained_cfg.input_size", 3); !size.empty()) {
    values["num_channels"] = size[0];
    values["image_size"] = size[1];
  }
  if (const auto channels = hub_list(values, "model_args.channels"); !channels.empty())
    values["width"] = channels[0];
  rename(values, "model_args.layers", "depths");
  rename(values, "model_args.in_chans", "num_channels");
  rename(values, "num_classes", "n_classes");
  rename(values, "pretrained_cfg.mean", "image_mean");
  rename(values, "pretrained_cfg.std", "image_std");
}

void resnet_to_hub(HubValues& values) {
  const Json depths = Json::parse(values.at("depths").json);
  const Json type = Json::parse(values.at("layer_type").json);
  const auto width = Json::parse(values.at("width").json).get<std::int64_t>();
  const Json channels = Json::parse(values.at("num_channels").json);
  const bool is_basic = type == "basic";
  std::string name;
  for (const Architecture& known : kArchitectures)
    if (type == known.layer_type && depths == Json(known.depths)) name = known.name;
  Json widths = Json::array();
  for (std::size_t i = 0; i < depths.size(); ++i) widths.push_back(width << i);
  if (name.empty()) values["model_args.layers"] = depths.dump();
  if (width != 64 || depths.size() != 4) {
    values["model_args.channels"] = widths.dump();
    values["model_args.stem_width"] = std::to_string(width);
  }
  if (channels != 3) values["model_args.in_chans"] = channels.dump();
  values["architecture"] = Json(!name.empty() ? name : is_basic ? "resnet18" : "resnet50").dump();
  values["num_features"] = std::to_string(widths.back().get<std::int64_t>() * (is_basic ? 1 : 4));
  rename(values, "input_size", "pretrained_cfg.input_size");
  values["pretrained_cfg.num_classes"] = values.at("n_classes");
  values["pretrained_cfg.first_conv"] = Json("conv1").dump();
  values["pretrained_cfg.classifier"] = Json("fc").dump();
  rename(values, "n_classes", "num_classes");
  rename(values, "image_mean", "pretrained_cfg.mean");
  rename(values, "image_std", "pretrained_cfg.std");
  rename(values, "crop_pct", "pretrained_cfg.crop_pct");
  rename(values, "interpolation", "pretrained_cfg.interpolation");
  for (const char* key : {"depths", "layer_type", "width", "num_channels", "image_size"})
    values.erase(key);
  if (values.at("stem") == Json("imagenet").dump()) values.erase("stem");
  if (values.at("shortcut") == Json("projection").dump()) values.erase("shortcut");
}

}  // namespace

HubFormat ResNetConfig::hub() {
  HubFormat out{.model_type = "",
                .architectures = {},
                .may_lack = {"*.num_batches_tracked"},
                // Keys of timm's variants with other layers than torchvision's.
                .fixed = {{"global_pool", "\"avg\""},
                          {"model_args.act_layer", "\"relu\""},
                          {"model_args.avg_down", "false"},
                          {"model_args.base_width", "64"},
                          {"model_args.block_args", "{}"},
                          {"model_args.cardinality", "1"},
                          {"model_args.global_pool", "\"avg\""},
                          {"model_args.norm_layer", "\"batchnorm2d\""},
                          {"model_args.output_stride", "32"},
                          {"model_args.replace_stem_pool", "false"},
                          {"model_args.stem_type", "\"\""}},
                .own_keys = {"zero_init_last_norm"},
                .objects = {"model_args", "pretrained_cfg"},
                .from_hub = resnet_from_hub,
                .to_hub = resnet_to_hub,
                .sees_images = true};
  for (const Architecture& known : kArchitectures) out.architectures.emplace_back(known.name);
  return out;
}

}  // namespace lockstep

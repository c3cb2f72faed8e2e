// What a model says about its form on the Hugging Face hub: what its folders call it and its
// parameters. `static HubFormat hub()` of the model's Config returns it; the keys of that Config
// are then those of the hub's config.json, where they mean the same.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// A name that matches `from`, in which one '*' stands for anything, becomes `to`, whose '*' is
/// what that was.
struct HubRename {
  std::string from;
  std::string to;
};

/// A second name of a parameter, in models that have no parameter of that name. Folders may leave
/// it out, or hold its equal elements.
struct HubTied {
  std::string name;
  std::string parameter;
};

/// A value of a config.json.
struct HubValue {
  std::string json;
  std::string place = "";  ///< "FILE:LINE:COLUMN" if it is from a file; goes with it to other names

  HubValue() = default;
  HubValue(std::string json_text) : json(std::move(json_text)) {}
  HubValue(const char* json_text) : json(json_text) {}
  HubValue(std::string json_text, std::string where)
      : json(std::move(json_text)), place(std::move(where)) {}
  friend bool operator==(const HubValue& value, std::string_view json) {
    return value.json == json;
  }
};

/// The values of a config.json by key; those of an object inside also by "outer.inner".
using HubValues = std::map<std::string, HubValue>;

struct HubFormat {
  /// "" for models of timm, whose config.json has an "architecture" and no type.
  std::string model_type;
  /// What config.json may name under "architectures", or as timm's "architecture"; the first is
  /// written, unless to_hub() names another.
  std::vector<std::string> architectures;
  /// From a file's names to the model's, one rule after the other.
  std::vector<HubRename> read = {};
  /// From the model's names to a file's.
  std::vector<HubRename> write = {};
  /// Names, after `read`, of what a file may hold and the model has no use for; '*' as above.
  std::vector<std::string> ignored = {};
  /// Buffers that a file may lack: they begin as they are declared.
  std::vector<std::string> may_lack = {};
  std::vector<HubTied> tied = {};
  /// Which parameter has a row for each token.
  std::string token_embedding = "";
  /// Keys of config.json that change what is computed, and the one value (JSON) that the model
  /// computes, if they are not null. Keys that nobody knows are passed over.
  HubValues fixed = {};
  /// What the hub takes for keys that a config.json lacks, where the model's defaults differ.
  HubValues defaults = {};
  /// What config.json has beside the model's keys.
  HubValues written = {};
  /// Keys of the model that are not the hub's.
  std::vector<std::string> own_keys = {};
  /// Keys of config.json that hold an object, or null, of which from_hub() takes members. The
  /// model's own keys "outer.inner" need not be named.
  std::vector<std::string> objects = {};
  /// Brings the values of a config.json into the form of the model's keys, and back. A value that
  /// is no value of the key is refused by its place afterwards.
  void (*from_hub)(HubValues& values) = nullptr;
  void (*to_hub)(HubValues& values) = nullptr;
  bool generates = false;  ///< text, and so has a generation_config.json
  /// Is made for images, which preprocessor_config.json says how to scale; of timm's models
  /// config.json does: from_hub() gives "image_mean" and "image_std", to_hub() finds them, and
  /// timm's "input_size", "crop_pct" and "interpolation".
  bool sees_images = false;
};

/// The elements of a value that is a list, of `size` of them if that is not 0. Nothing if there is
/// no value, or null; error kUsage naming its place if it is anything else, an empty list too.
std::vector<HubValue> hub_list(const HubValues& values, const std::string& key,
                               std::size_t size = 0);

/// What a rule makes of a name; the name itself if it does not match.
std::string renamed(const std::string& name, const HubRename& rule);
/// What all rules in order make of a name.
std::string renamed(std::string name, const std::vector<HubRename>& rules);
/// Whether a name matches a pattern, see HubRename.
bool matches(const std::string& name, const std::string& pattern);

}  // namespace lockstep

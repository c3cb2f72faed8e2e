// A model's format on the Hugging Face hub: the names that its folders use for it and its
// parameters. `static HubFormat hub()` of the model's Config returns it; the keys of that Config
// then have the names of the hub's config.json, where the meaning is the same.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// A name that matches `from`, in which one '*' stands for any text, becomes `to`, with the same
/// text for its '*'.
struct HubRename {
  std::string from;  ///< a name, or one with a '*'
  std::string to;    ///< its new name, with a '*' if `from` has one
};

/// A second name of a parameter, in models that have no parameter of that name. Folders may leave
/// it out, or hold its equal elements.
struct HubTied {
  std::string name;       ///< the second name
  std::string parameter;  ///< the name that the model has
  bool written = false;   ///< export writes it, too
};

/// A value of a config.json.
struct HubValue {
  std::string json;        ///< the value as JSON text: "12", "\"gelu\""
  std::string place = "";  ///< "FILE:LINE:COLUMN" if it is from a file; renaming keeps it

  HubValue() = default;
  /// A value that is from no file.
  HubValue(std::string json_text) : json(std::move(json_text)) {}
  HubValue(const char* json_text) : json(json_text) {}  ///< likewise
  /// A value at a place of a file.
  HubValue(std::string json_text, std::string where)
      : json(std::move(json_text)), place(std::move(where)) {}
  /// Whether the text is the same.
  friend bool operator==(const HubValue& value, std::string_view json) {
    return value.json == json;
  }
};

/// The values of a config.json by key; those of a nested object also by "outer.inner".
using HubValues = std::map<std::string, HubValue>;

struct HubFormat;

/// A part of a model that can start from another model, whose folder or run the config's key
/// `model.SECTION.from_pretrained` names. The part's keys begin with "SECTION.", and so do the
/// names of its parameters.
struct HubPart {
  std::string section;  ///< of the config below `model`
  /// Of the other model's folders, with `read` from their names, and from the other model's own, to
  /// this model's.
  HubFormat (*format)();
};

/// How the hub's folders of a model are read and written.
struct HubFormat {
  /// "" for models of timm, whose config.json has an "architecture" and no type.
  std::string model_type;
  /// The allowed names under "architectures" of config.json, or as timm's "architecture"; the first
  /// one is written, unless to_hub() names another.
  std::vector<std::string> architectures;
  /// From a file's names to the model's, one rule after the other.
  std::vector<HubRename> read = {};
  /// From the model's names to a file's.
  std::vector<HubRename> write = {};
  /// Names, after `read`, of tensors that a file may hold and the model does not use; '*' as above.
  std::vector<std::string> ignored = {};
  /// Parameters and buffers that may be missing in a file: they get their initial values.
  std::vector<std::string> may_lack = {};
  std::vector<HubTied> tied = {};  ///< parameters with a second name
  /// The parameter that has a row for each token, and others of its kind; '*' as above.
  std::string token_embedding = "";
  /// See token_embedding.
  std::vector<std::string> token_rows = {};
  /// Learned embeddings of positions: [positions, C], and of images [1, 1 + positions, C].
  std::vector<std::string> text_positions = {};
  /// See text_positions.
  std::vector<std::string> image_positions = {};
  /// Keys of config.json that change the computation, each with the one value (JSON) that the model
  /// supports, if they are not null. Unknown keys are ignored.
  HubValues fixed = {};
  /// The hub's defaults for keys missing in config.json, where the model's defaults differ.
  HubValues defaults = {};
  /// Values that are written to config.json in addition to the model's keys.
  HubValues written = {};
  /// Keys of the model that are not the hub's.
  std::vector<std::string> own_keys = {};
  /// Keys of config.json that hold an object, or null, whose members from_hub() reads. The model's
  /// own keys "outer.inner" need not be named.
  std::vector<std::string> objects = {};
  /// Converts the values of a config.json into the form of the model's keys, and back. A value that
  /// is invalid for its key is refused later, with its location.
  void (*from_hub)(HubValues& values) = nullptr;
  /// The inverse of from_hub.
  void (*to_hub)(HubValues& values) = nullptr;
  std::vector<HubPart> parts = {};  ///< parts with folders of their own
  bool generates = false;           ///< generates text, and so has a generation_config.json
  /// The model takes images. preprocessor_config.json says how to scale them. For timm's models
  /// config.json does: from_hub() returns "image_mean" and "image_std"; to_hub() gets them, and
  /// timm's "input_size", "crop_pct" and "interpolation".
  bool sees_images = false;
};

/// The elements of a value that is a list, with `size` elements if that is not 0. Nothing if there
/// is no value, or null; error kUsage naming its location if it is anything else or an empty list.
std::vector<HubValue> hub_list(const HubValues& values, const std::string& key,
                               std::size_t size = 0);

/// The name after one rule; unchanged if it does not match.
std::string renamed(const std::string& name, const HubRename& rule);
/// The name after all rules in order.
std::string renamed(std::string name, const std::vector<HubRename>& rules);

}  // namespace lockstep

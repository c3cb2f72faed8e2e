// The keys of every run, independent of its model, data and optimizer. To add one, add a member to
// config.h (with its default) and a row to fixed_keys.cpp, or to the file that has its section.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "trainer/config/condition.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"

namespace lockstep {

/// Keys of one section, with one condition on all of them.
struct KeyGroup {
  std::string_view section;
  void* (*object)(Config&);  ///< the section's struct
  std::vector<Key> keys;
  std::optional<Condition> when = {};
};

/// Conditions on the registry's rows.
struct RowConditions {
  Condition takes_tokens;    ///< models whose data may come from a tokenizer
  Condition generates_text;  ///< models
  Condition masks;           ///< models that predict masked tokens
  Condition captions;        ///< models that caption images
  Condition varies;          ///< datasets whose samples may differ in length
};

/// In the order of the schema. The selectors of rows have no names yet, and only the beginning of
/// their documentation.
std::vector<KeyGroup> fixed_keys(const RowConditions& rows);

}  // namespace lockstep

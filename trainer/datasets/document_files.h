// Datasets of documents in files: JSON Lines, and plain text.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokens/text_documents.h"
#include "trainer/datasets/on_too_long.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_source.h"

namespace lockstep {

/// How documents become samples.
enum class Packing : std::uint8_t {
  kNone,    ///< one sample per document, of its own length
  kAcross,  ///< samples of a fixed length of consecutive documents; tokens attend across documents
  kWithin,  ///< the same, but a token attends to its own document only
};

template <>
struct EnumNames<Packing> {
  static constexpr std::array<std::string_view, 3> kNames{"none", "across", "within"};
};
template <>
struct EnumNames<DocumentUnit> {
  static constexpr std::array<std::string_view, 3> kNames{"line", "paragraph", "file"};
};

struct JsonlData {
  static constexpr std::string_view kName = "jsonl";
  static constexpr std::string_view kDoc = "JSON Lines, an object with a text on each line";
  static constexpr std::string_view kGives = "tokens masked_tokens labelled_tokens";
  static constexpr bool kVaries = true;

  std::vector<std::string> path = {};  ///< files read one after the other
  std::vector<std::string> val_path = {};
  double val_fraction = 0.1;  ///< the last documents of `path`, when val_path is empty
  std::string text_field = "text";
  std::string label_field = "label";  ///< for models that classify text
  std::string text_pair_field = "";   ///< likewise: the second text of a pair; "": single texts
  Packing packing = Packing::kNone;
  OnTooLong on_too_long = OnTooLong::kError;

  static std::vector<Key> keys();
  void check(const Config& run, const ReportProblem& report) const;
  DataSource open(const OpenContext& context) const;
};

/// Members as above.
struct DocumentsData {
  static constexpr std::string_view kName = "documents";
  static constexpr std::string_view kDoc = "plain text of several documents";
  static constexpr std::string_view kGives = "tokens masked_tokens";
  static constexpr bool kVaries = true;

  std::vector<std::string> path = {};
  std::vector<std::string> val_path = {};
  double val_fraction = 0.1;
  DocumentUnit document = DocumentUnit::kParagraph;
  Packing packing = Packing::kNone;
  OnTooLong on_too_long = OnTooLong::kError;

  static std::vector<Key> keys();
  void check(const Config& run, const ReportProblem& report) const;
  DataSource open(const OpenContext& context) const;
};

}  // namespace lockstep

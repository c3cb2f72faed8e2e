#include "data/tokens/document_dataset.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

Shape shape_of(std::int64_t length) {
  return Shape{Dim(length, "length")};
}

}  // namespace

DocumentDataset::DocumentDataset(Documents documents, DocumentFields fields, std::int32_t pad)
    : documents_(std::move(documents)),
      fields_(fields),
      pad_(pad),
      pairs_(!documents_.all.empty() && !documents_.all.front().types.empty()) {
  const std::size_t given = documents_.all.size();
  if (fields == DocumentFields::kNextToken)
    std::erase_if(documents_.all, [](const Document& d) { return d.tokens.size() < 2; });
  if (documents_.all.empty()) {
    raise(ErrorKind::kData, "{}: none of {} documents has the two tokens that a sample needs",
          documents_.name(), given);
  }
  for (std::int64_t i = 0; i < size(); ++i) longest_ = std::max(longest_, length(i));
  longest_ = std::max<std::int64_t>(longest_, 1);
}

std::int64_t DocumentDataset::length(std::int64_t index) const {
  const auto tokens =
      static_cast<std::int64_t>(documents_.all[static_cast<std::size_t>(index)].tokens.size());
  return fields_ == DocumentFields::kNextToken ? tokens - 1 : tokens;
}

std::vector<FieldSpec> DocumentDataset::fields() const {
  const FieldSpec tokens{"tokens", DType::kI32, shape_of(longest_), true,
                         static_cast<double>(pad_)};
  switch (fields_) {
    case DocumentFields::kNextToken:
      return {tokens, {"targets", DType::kI32, shape_of(longest_), true, kNoTarget}};
    case DocumentFields::kLabel: {
      std::vector<FieldSpec> out{tokens, {"label", DType::kI32, Shape{}}};
      if (pairs_) out.push_back({"token_types", DType::kI32, shape_of(longest_), true});
      return out;
    }
    case DocumentFields::kTokens: return {tokens};
  }
  __builtin_unreachable();
}

Sample DocumentDataset::get(std::int64_t index) const {
  check_index(*this, index);
  const Document& document = documents_.all[static_cast<std::size_t>(index)];
  const std::span<const std::int32_t> tokens(document.tokens);
  const auto count = static_cast<std::size_t>(length(index));
  Sample out{{"tokens", HostTensor::of(shape_of(length(index)), tokens.first(count))}};
  switch (fields_) {
    case DocumentFields::kNextToken:
      out.emplace("targets", HostTensor::of(shape_of(length(index)), tokens.subspan(1, count)));
      break;
    case DocumentFields::kLabel:
      out.emplace("label", HostTensor::scalar(document.label));
      if (pairs_)
        out.emplace("token_types", HostTensor::of(shape_of(length(index)), document.types));
      break;
    case DocumentFields::kTokens: break;
  }
  return out;
}

std::map<std::string, std::int64_t> DocumentDataset::lengths(std::int64_t index) const {
  check_index(*this, index);
  std::map<std::string, std::int64_t> out{{"tokens", length(index)}};
  if (fields_ == DocumentFields::kNextToken) out["targets"] = length(index);
  if (pairs_) out["token_types"] = length(index);
  return out;
}

std::string DocumentDataset::describe() const {
  return fmt::format("{}: {} documents of at most {} tokens{}", documents_.name(), size(), longest_,
                     documents_.truncated == 0
                         ? ""
                         : fmt::format(", {} of them truncated to that", documents_.truncated));
}

std::string DocumentDataset::source(std::int64_t index) const {
  return documents_.place(documents_.all.at(static_cast<std::size_t>(index)).place);
}

double DocumentDataset::mean_length() const {
  double sum = 0;
  for (std::int64_t i = 0; i < size(); ++i) sum += static_cast<double>(length(i));
  return sum / static_cast<double>(size());
}

}  // namespace lockstep

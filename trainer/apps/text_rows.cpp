#include "trainer/apps/text_rows.h"

#include <algorithm>
#include <bit>

#include "core/base/error.h"
#include "core/engine/engine.h"
#include "trainer/task/batch.h"
#include "trainer/train/training_step.h"

namespace lockstep {
namespace {

constexpr std::size_t kRowsOfABatch = 8;    ///< of a batch
constexpr std::int64_t kFewestTokens = 16;  ///< of a row
constexpr std::int32_t kUnscored = -100;    ///< the target that is none

std::int64_t filled_length(std::size_t tokens, std::int64_t longest) {
  const auto power = static_cast<std::int64_t>(std::bit_ceil(tokens));
  return std::min(std::max(power, kFewestTokens), longest);
}

/// Rows of one length, the first one again where there are too few.
class RowBatch {
 public:
  RowBatch(std::span<const TextRow> all, std::span<const std::size_t> chosen, std::int64_t length)
      : length_(static_cast<std::size_t>(length)) {
    for (std::size_t i = 0; i < kRowsOfABatch; ++i)
      rows_.push_back(&all[chosen[i < chosen.size() ? i : 0]]);
  }

  HostBatch fields(std::int32_t pad) const {
    const TextRow& first = *rows_.front();
    HostBatch out;
    out["tokens"] = tokens(&TextRow::tokens, pad);
    if (!first.types.empty()) out["token_types"] = tokens(&TextRow::types, 0);
    if (!first.targets.empty()) out["targets"] = tokens(&TextRow::targets, kUnscored);
    std::vector<float> mask(kRowsOfABatch * length_, 0);
    for (std::size_t i = 0; i < kRowsOfABatch; ++i)
      std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(i * length_), rows_[i]->tokens.size(),
                  1.0F);
    out["attention_mask"] = HostTensor::of(shape(), mask);
    for (const auto& [name, value] : first.values) {
      std::vector<std::int32_t> values;
      values.reserve(rows_.size());
      for (const TextRow* row : rows_) values.push_back(row->values.at(name));
      out[name] = HostTensor::of(Shape{std::int64_t{kRowsOfABatch}}, values);
    }
    return out;
  }

 private:
  Shape shape() const {
    return Shape{std::int64_t{kRowsOfABatch}, static_cast<std::int64_t>(length_)};
  }
  HostTensor tokens(std::vector<std::int32_t> TextRow::*member, std::int32_t fill) const {
    std::vector<std::int32_t> out(kRowsOfABatch * length_, fill);
    for (std::size_t i = 0; i < kRowsOfABatch; ++i)
      std::ranges::copy(rows_[i]->*member, out.begin() + static_cast<std::ptrdiff_t>(i * length_));
    return HostTensor::of(shape(), out);
  }

  std::size_t length_;
  std::vector<const TextRow*> rows_;
};

std::vector<double> output_of(Engine& engine, const LossFunction& loss, const std::string& name,
                              HostBatch batch, DType compute_dtype) {
  Batch::Fields fields;
  for (auto& [field, value] : batch)
    fields[field] = engine.to_device({std::move(value)}, InputKind::kBatch, "predict." + field);
  const Loss recorded = record_evaluation(loss, Batch(std::move(fields)), compute_dtype);
  const auto found = recorded.outputs.find(name);
  LS_USER_CHECK(found != recorded.outputs.end(),
                "the model does not return the {} of classes among its outputs "
                "(classification_loss() in trainer/task/model.h does)",
                name);
  const Tensor output = found->second;
  return to_doubles(output.to_host());
}

}  // namespace

std::vector<std::vector<double>> values_of_rows(Engine& engine, const LossFunction& loss,
                                                const std::string& name,
                                                std::span<const TextRow> rows,
                                                const TextRowOptions& options, Activity activity) {
  std::map<std::int64_t, std::vector<std::size_t>> by_length;
  for (std::size_t i = 0; i < rows.size(); ++i)
    by_length[filled_length(rows[i].tokens.size(), options.longest)].push_back(i);
  std::vector<std::vector<double>> out(rows.size());
  for (const auto& [length, members] : by_length) {
    for (std::size_t first = 0; first < members.size(); first += kRowsOfABatch) {
      const auto chosen =
          std::span(members).subspan(first, std::min(kRowsOfABatch, members.size() - first));
      const std::vector<double> values =
          output_of(engine, loss, name, RowBatch(rows, chosen, length).fields(options.pad),
                    options.compute_dtype);
      const auto each = static_cast<std::ptrdiff_t>(values.size() / kRowsOfABatch);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i) * each;
        out[chosen[i]].assign(begin, begin + each);
      }
      activity.progress();
    }
  }
  return out;
}

}  // namespace lockstep

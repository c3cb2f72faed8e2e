// A detector whose step depends on values: an assignment problem, made from the model's
// predictions, decides which query of the model is matched with which box of an image. README.md
// beside this file describes three ways to write it, and their costs.
//
//   build/release/bin/dynamic_step match=read|padded|host_call [fetch=each|late] [steps=40]
//                                  [run=runs/boxes] [device.threads=1 ...]
//
// Alone or under mpirun; every rank has one micro-batch of each batch.
#include <lockstep/lockstep.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assignment.h"

using namespace lockstep;

namespace {

constexpr std::int64_t kImages = 1024, kSide = 32, kBatch = 32;
constexpr std::int64_t kClasses = 3;
constexpr std::int64_t kMaxBoxes = 20;  // of an image
constexpr std::int64_t kQueries = 32;   // predictions for an image
constexpr float kNoBox = -1;            // cost where there is no box; costs of boxes are >= 0

// ---- Data: grey images with 1 to kMaxBoxes rectangles, whose brightness is their class ----------

/// {"image": f32 [1,32,32], "boxes": f32 [20,4] (center x, center y, width, height; of the side),
///  "labels": i32 [20], -1 where there is no box}
DatasetPtr rectangles() {
  HostTensor image(DType::kF32, {kImages, 1, kSide, kSide});
  HostTensor boxes(DType::kF32, {kImages, kMaxBoxes, 4});
  HostTensor labels(DType::kI32, {kImages, kMaxBoxes});
  auto draw = [position = std::uint64_t{0}](std::int64_t limit) mutable {  // in [0, limit)
    return static_cast<std::int64_t>(uniform_from_bits(random_word({.seed = 7}, position++)) *
                                     static_cast<float>(limit));
  };
  random_normal({.seed = 8}, 0, image.as<float>());
  std::ranges::for_each(image.as<float>(), [](float& pixel) { pixel *= 0.1F; });
  std::ranges::fill(boxes.as<float>(), 0.0F);
  std::ranges::fill(labels.as<std::int32_t>(), -1);
  for (std::int64_t i = 0; i < kImages; ++i) {
    const std::int64_t count = 1 + draw(kMaxBoxes);
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int64_t width = 3 + draw(8), height = 3 + draw(8), label = draw(kClasses);
      const std::int64_t left = draw(kSide - width), top = draw(kSide - height);
      for (std::int64_t y = top; y < top + height; ++y)
        for (std::int64_t x = left; x < left + width; ++x)
          image.as<float>()[static_cast<std::size_t>((i * kSide + y) * kSide + x)] +=
              static_cast<float>(label + 1);
      const auto slot = static_cast<std::size_t>(i * kMaxBoxes + t);
      const auto part = [](std::int64_t pixels) { return static_cast<float>(pixels) / kSide; };
      const float box[] = {part(left) + part(width) / 2, part(top) + part(height) / 2, part(width),
                           part(height)};
      std::ranges::copy(box, &boxes.as<float>()[4 * slot]);
      labels.as<std::int32_t>()[slot] = static_cast<std::int32_t>(label);
    }
  }
  return tensor_dataset({{"image", image}, {"boxes", boxes}, {"labels", labels}});
}

// ---- Model: each query predicts a class, or none, and a box (Carion et al., arXiv:2005.12872) ---

struct Predictions {
  Tensor logits;  // [B,Q,classes+1]; the last class is "no box"
  Tensor boxes;   // [B,Q,4]
};

struct Detector : Module {
  Conv2d conv1{*this, "conv1", 1, 16, 3, {.stride = {2, 2}, .padding = {1, 1, 1, 1}}};
  Conv2d conv2{*this, "conv2", 16, 32, 3, {.stride = {2, 2}, .padding = {1, 1, 1, 1}}};
  Linear hidden{*this, "hidden", 32 * (kSide / 4) * (kSide / 4), 256};
  Linear logits{*this, "logits", 256, kQueries*(kClasses + 1)};
  Linear boxes{*this, "boxes", 256, kQueries * 4};

  Predictions operator()(const Tensor& image) const {  // [B,1,32,32]
    const std::int64_t batch = image.size(0);
    const Tensor maps = relu(conv2(relu(conv1(image))));
    const Tensor x = relu(hidden(reshape(maps, {batch, -1})));
    return {reshape(logits(x), {batch, kQueries, kClasses + 1}),
            sigmoid(reshape(boxes(x), {batch, kQueries, 4}))};
  }
};

// ---- Loss of a set: every box is matched with one query ---------------------------------------

/// Generalized IoU (Rezatofighi et al., arXiv:1902.09630) of boxes [...,4], broadcast: [...].
Tensor generalized_iou(const Tensor& a, const Tensor& b) {
  const auto size = [](const Tensor& box, int axis) {
    return slice_dim(box, -1, axis + 2, axis + 3);
  };
  const auto low = [&](const Tensor& box, int axis) {
    return slice_dim(box, -1, axis, axis + 1) - size(box, axis) * 0.5;
  };
  const auto high = [&](const Tensor& box, int axis) {
    return slice_dim(box, -1, axis, axis + 1) + size(box, axis) * 0.5;
  };
  const auto shared = [&](int axis) {
    return maximum(minimum(high(a, axis), high(b, axis)) - maximum(low(a, axis), low(b, axis)),
                   0.0);
  };
  const auto hull = [&](int axis) {
    return maximum(high(a, axis), high(b, axis)) - minimum(low(a, axis), low(b, axis));
  };
  const Tensor both = shared(0) * shared(1);
  const Tensor either = size(a, 0) * size(a, 1) + size(b, 0) * size(b, 1) - both;
  const Tensor around = hull(0) * hull(1);
  return reduce_sum(both / either - (around - either) / around, {-1});
}

/// f32 [B,T,Q]: the cost of matching query q with box t; kNoBox where there is no box t.
Tensor match_costs(const Predictions& predicted, const Batch& batch) {
  const Tensor& labels = batch["labels"];  // [B,T]
  const std::int64_t b = labels.size(0);
  const Shape pairs{b, kMaxBoxes, kQueries};
  const Tensor boxes = reshape(batch["boxes"], {b, kMaxBoxes, 1, 4});
  const Tensor answers = reshape(predicted.boxes, {b, 1, kQueries, 4});
  const Shape classes{b, kMaxBoxes, kClasses + 1};
  const Tensor one_hot = convert(equal(broadcast_in_dim(labels, classes, {0, 1}),
                                       iota(labels.context(), classes, 2, DType::kI32)),
                                 DType::kF32);
  const Tensor probability =
      dot_general(one_hot, softmax(predicted.logits, -1), {{0}, {0}, {2}, {2}});
  const Tensor cost = reduce_sum(abs(boxes - answers), {-1}) * 5.0 +
                      (1.0 - generalized_iou(boxes, answers)) * 2.0 + (1.0 - probability);
  return select(broadcast_in_dim(greater_equal(labels, 0.0), pairs, {0, 1}), cost, kNoBox);
}

/// K boxes, and the query matched with each.
struct Matches {
  Tensor queries;  // i32 [K], into the B*Q of the batch
  Tensor boxes;    // [K,4]
  Tensor labels;   // i32 [K], -1 where there is no box
};

Loss set_loss(const Predictions& predicted, const Matches& matches) {
  const Tensor logits = reshape(predicted.logits, {-1, kClasses + 1});
  const Tensor boxes = gather(reshape(predicted.boxes, {-1, 4}), matches.queries, 0);
  const Tensor is_box = greater_equal(matches.labels, 0.0);
  const Tensor weight = convert(is_box, DType::kF32);
  const Tensor box_loss = reduce_sum(abs(boxes - matches.boxes), {-1}) * 5.0 +
                          (1.0 - generalized_iou(boxes, matches.boxes)) * 2.0;
  const Tensor class_loss = cross_entropy(gather(logits, matches.queries, 0), matches.labels);
  TraceContext& context = logits.context();
  const Shape queries{logits.size(0)};
  const Tensor answers =  // 1 for a query that is matched with a box
      scatter_add(context.filled(0, {DType::kF32, queries}), matches.queries, weight, 0);
  const Tensor empty_loss =
      cross_entropy(logits, context.filled(kClasses, {DType::kI32, queries})) * (1.0 - answers);
  return {.sum = sum(box_loss * weight + class_loss) + sum(empty_loss) * 0.1,
          .count = sum(convert(is_box, DType::kI64))};
}

// ---- Matching, on the host ----------------------------------------------------------------------

/// i32 [B*T]: the query of each box, as an index into the B*Q of the batch; where there is no box,
/// some query of the image. `cost`: as returned by match_costs().
HostTensor match_boxes(const HostTensor& cost) {
  const auto costs = cost.as<const float>();
  const auto images = static_cast<std::size_t>(cost.shape()[0]);
  std::vector<std::int32_t> queries(images * kMaxBoxes);
  for (std::size_t i = 0; i < images; ++i) {
    const auto of_image = costs.subspan(i * kMaxBoxes * kQueries, kMaxBoxes * kQueries);
    std::size_t count = 0;  // boxes come first
    while (count < kMaxBoxes && of_image[count * kQueries] != kNoBox) ++count;
    std::vector<std::int32_t> found = assign(of_image.first(count * kQueries), count, kQueries);
    found.resize(kMaxBoxes, 0);
    for (std::size_t t = 0; t < kMaxBoxes; ++t)
      queries[i * kMaxBoxes + t] = static_cast<std::int32_t>(i * kQueries) + found[t];
  }
  return HostTensor::of(Shape{static_cast<std::int64_t>(queries.size())}, queries);
}

/// All T boxes of all images, including missing ones.
Matches all_matches(const Batch& batch, const Tensor& queries) {
  return {queries, reshape(batch["boxes"], {-1, 4}), reshape(batch["labels"], {-1})};
}

// ---- Three ways to write the step ---------------------------------------------------------------

/// The matching of `step_by_reading`: pairs of a box and a query, M in total.
struct Pairs {
  HostTensor boxes;    // i32 [M], into the B*T of the batch
  HostTensor queries;  // i32 [M], into its B*Q
};

Pairs match_pairs(const HostTensor& cost) {
  const HostTensor queries = match_boxes(cost);
  const auto costs = cost.as<const float>();
  std::vector<std::int32_t> boxes, answers;
  for (std::size_t t = 0; t < queries.as<const std::int32_t>().size(); ++t) {
    if (costs[t * kQueries] == kNoBox) continue;
    boxes.push_back(static_cast<std::int32_t>(t));
    answers.push_back(queries.as<const std::int32_t>()[t]);
  }
  const Shape shape{{static_cast<std::int64_t>(boxes.size()), "pairs"}};
  return {HostTensor::of(shape, boxes), HostTensor::of(shape, answers)};
}

/// The direct port from a framework that runs op by op: predict, read, match, and go on with as
/// many pairs as this batch has boxes. The read cuts the step in two, so that the loss must predict
/// again; and a different number of pairs is a different program.
StepResult step_by_reading(Session& session, Trainer& trainer, const Detector& net,
                           const Batch& batch) {
  const Tensor cost = match_costs(net(batch["image"]), batch);
  const Pairs pairs = match_pairs(cost.to_host());
  const Tensor boxes = session.tensor(pairs.boxes, "match.boxes");
  const Tensor queries = session.tensor(pairs.queries, "match.queries");
  return trainer.step(batch, [&](const Batch& b) {
    const Matches all = all_matches(b, queries);
    return set_loss(net(b["image"]),
                    {queries, gather(all.boxes, boxes, 0), gather(all.labels, boxes, 0)});
  });
}

/// The same with one size in all steps: nothing is compiled again, but the cut remains.
StepResult step_by_reading_padded(Session& session, Trainer& trainer, const Detector& net,
                                  const Batch& batch) {
  const Tensor cost = match_costs(net(batch["image"]), batch);
  const Tensor queries = session.tensor(match_boxes(cost.to_host()), "match.queries");
  return trainer.step(
      batch, [&](const Batch& b) { return set_loss(net(b["image"]), all_matches(b, queries)); });
}

/// The matching is part of the step: nothing is read, nothing predicted twice.
StepResult step_by_host_call(Trainer& trainer, const Detector& net, const Batch& batch) {
  const HostFunction match("match_boxes", 1,
                           [](std::span<const HostTensor> in, std::span<HostTensor> out) {
                             out[0] = match_boxes(in[0]);
                           });
  return trainer.step(batch, [&](const Batch& b) {
    const Predictions predicted = net(b["image"]);
    const Tensor cost = stop_gradient(match_costs(predicted, b));
    const Tensor queries = host_call(match, {cost}, Type{DType::kI32, {cost.size(0) * kMaxBoxes}});
    return set_loss(predicted, all_matches(b, queries));
  });
}

// ---- The program --------------------------------------------------------------------------------

/// The options on the command line, as words name=value.
struct Choice {
  std::string match = "host_call", fetch = "late", run = "runs/boxes";
  std::int64_t steps = 40;

  explicit Choice(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const std::size_t equals = std::min(word.find('='), word.size());
      const std::string name = word.substr(0, equals);
      const std::string value = word.substr(std::min(equals + 1, word.size()));
      if (name == "match" && (value == "read" || value == "padded" || value == "host_call")) {
        match = value;
      } else if (name == "fetch" && (value == "each" || value == "late")) {
        fetch = value;
      } else if (name == "run" && !value.empty()) {
        run = value;
      } else if (name == "steps" && !value.empty() &&
                 std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }) &&
                 value.size() < 10) {
        steps = std::stoll(value);
      } else {
        raise(ErrorKind::kUsage,
              "unknown word '{}'; there are match=read|padded|host_call, fetch=each|late, steps=N, "
              "run=FOLDER, and keys like device.threads=2",
              word);
      }
    }
  }
};

void train(Session& session) {
  const Choice choice(session.arguments());
  Detector net;
  Trainer trainer(session, net, AdamW{.learning_rate = 1e-3},
                  {.run = choice.run, .checkpoint = {.save_interval = -1}});
  const DataLoader data(
      session, rectangles(),
      {.global_batch_size = kBatch, .micro_batch_size = kBatch / session.ranks()});
  for (const Batch& batch : trainer.steps(data, choice.steps)) {
    const StepResult step = choice.match == "read" ? step_by_reading(session, trainer, net, batch)
                            : choice.match == "padded"
                                ? step_by_reading_padded(session, trainer, net, batch)
                                : step_by_host_call(trainer, net, batch);
    if (choice.fetch == "each")
      session.print("step {} loss {:.9g}", step.number(), step.loss().value());
    else
      session.print("step {} loss {:.9g}", step.number(), step.loss());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, train);
}

#include "core/runtime/plan_io.h"

#include <cstring>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/ir/group.h"
#include "core/ir/text.h"
#include "core/runtime/plan.pb.h"

namespace lockstep {
namespace {

constexpr std::string_view kMagic = "LSPLAN2\n";
constexpr std::size_t kHeader = kMagic.size() + sizeof(Hash128);

template <class... Args>
void check_stored(bool ok, fmt::format_string<Args...> what, Args&&... args) {
  if (!ok)
    raise(ErrorKind::kData, "the plan is damaged: {}",
          fmt::format(what, std::forward<Args>(args)...));
}

void write(const BufferSlice& slice, proto::BufferSlice& out) {
  out.set_area(static_cast<std::int32_t>(slice.area));
  out.set_index(slice.index);
  out.set_offset(slice.offset);
  out.set_bytes(slice.bytes);
}

void write(const Command& command, proto::Command& out) {
  out.set_kind(static_cast<std::int32_t>(command.kind));
  out.set_value(command.value);
  for (const BufferSlice& slice : command.operands) write(slice, *out.add_operands());
  for (const BufferSlice& slice : command.results) write(slice, *out.add_results());
  write(command.scratch, *out.mutable_scratch());
  for (const std::int32_t output : command.finishes) out.add_finishes(output);
  out.set_flops(command.flops);
  out.set_bytes(command.bytes);
  out.set_with_previous(command.with_previous);
  out.set_chained(command.chained);
  out.set_work(static_cast<std::int32_t>(command.work));
}

/// Reads a plan and checks every number against the graph on the way.
class Reader {
 public:
  Reader(const proto::Plan& from, Graph graph) : from_(from) { plan_.graph = std::move(graph); }

  Plan read() {
    plan_.arena_bytes = from_.arena_bytes();
    plan_.peak_bytes = from_.peak_bytes();
    plan_.largest_values = from_.largest_values();
    check_stored(plan_.arena_bytes >= 0, "the arena has {} bytes", plan_.arena_bytes);
    read_constants();
    read_outputs();
    for (const proto::Command& command : from_.commands()) plan_.commands.push_back(read(command));
    return std::move(plan_);
  }

 private:
  const Graph& graph() const { return plan_.graph; }

  void read_constants() {
    constexpr auto kUnit = static_cast<std::int64_t>(Buffer::kAlignment);
    std::vector<std::int64_t> bytes;
    std::int64_t max_bytes = 0;
    for (const Node& node : graph().nodes) {
      if (node.op != Op::kConstant) continue;
      bytes.push_back(static_cast<std::int64_t>(node.type.bytes()));
      max_bytes += (bytes.back() + kUnit - 1) / kUnit * kUnit;
    }
    plan_.constant_bytes = from_.constant_bytes();
    check_stored(plan_.constant_bytes >= 0 && plan_.constant_bytes <= max_bytes,
                 "the constants have {} bytes", plan_.constant_bytes);
    check_stored(static_cast<std::size_t>(from_.constants_size()) == bytes.size(),
                 "{} places for {} constants", from_.constants_size(), bytes.size());
    for (const proto::BufferSlice& slice : from_.constants()) {
      plan_.constants.push_back(read(slice));
      check_stored(plan_.constants.back().area == Area::kConstant, "a constant lies elsewhere");
      check_stored(plan_.constants.back().bytes == bytes[plan_.constants.size() - 1],
                   "a constant has {} bytes", plan_.constants.back().bytes);
    }
  }

  void read_outputs() {
    const auto outputs = static_cast<int>(graph().outputs.size());
    check_stored(from_.donated_inputs_size() == outputs, "{} outputs, but {} donations", outputs,
                 from_.donated_inputs_size());
    for (int i = 0; i < outputs; ++i) {
      const std::int32_t input = from_.donated_inputs(i);
      check_stored(input == -1 || is_index(input, graph().inputs.size()), "there is no input {}",
                   input);
      check_stored(input == -1 || output_type(i) == input_type(input),
                   "output {} cannot take the memory of input {}", i, input);
      plan_.donated_inputs.push_back(input);
    }
    for (const std::int32_t output : from_.ready_outputs()) {
      check_stored(is_index(output, graph().outputs.size()), "there is no output {}", output);
      plan_.ready_outputs.push_back(output);
    }
  }

  static bool is_index(std::int64_t index, std::size_t size) {
    return index >= 0 && static_cast<std::uint64_t>(index) < size;
  }
  const Type& input_type(std::int32_t input) const {
    return graph()[graph().inputs[static_cast<std::size_t>(input)]].type;
  }
  const Type& output_type(std::int32_t output) const {
    return graph()[graph().outputs[static_cast<std::size_t>(output)]].type;
  }

  std::int64_t area_bytes(Area area, std::int32_t index) const {
    switch (area) {
      case Area::kInput:
        check_stored(is_index(index, graph().inputs.size()), "there is no input {}", index);
        return static_cast<std::int64_t>(input_type(index).bytes());
      case Area::kOutput:
        check_stored(is_index(index, graph().outputs.size()), "there is no output {}", index);
        return static_cast<std::int64_t>(output_type(index).bytes());
      case Area::kArena: return plan_.arena_bytes;
      case Area::kConstant: return plan_.constant_bytes;
    }
    __builtin_unreachable();
  }

  BufferSlice read(const proto::BufferSlice& from) const {
    check_stored(from.area() >= 0 && from.area() <= static_cast<std::int32_t>(Area::kConstant),
                 "there is no area {}", from.area());
    const BufferSlice out{static_cast<Area>(from.area()), from.index(), from.offset(),
                          from.bytes()};
    const std::int64_t size = area_bytes(out.area, out.index);
    check_stored(out.bytes >= 0 && out.offset >= 0 && out.bytes <= size &&
                     out.offset <= size - out.bytes &&
                     out.offset % static_cast<std::int64_t>(Buffer::kAlignment) == 0,
                 "{} bytes at {} do not lie in an area of {}", out.bytes, out.offset, size);
    return out;
  }

  Command read(const proto::Command& from) const {
    check_stored(
        from.kind() >= 0 && from.kind() <= static_cast<std::int32_t>(CommandKind::kHostCall),
        "there is no kind of command {}", from.kind());
    check_stored(is_index(from.work(), kWorkClassCount), "there is no class of work {}",
                 from.work());
    check_stored(is_index(from.value(), graph().nodes.size()), "there is no value {}",
                 from.value());
    Command out;
    out.kind = static_cast<CommandKind>(from.kind());
    out.work = static_cast<WorkClass>(from.work());
    out.value = from.value();
    for (const proto::BufferSlice& slice : from.operands()) out.operands.push_back(read(slice));
    for (const proto::BufferSlice& slice : from.results()) out.results.push_back(read(slice));
    out.scratch = read(from.scratch());
    for (const std::int32_t output : from.finishes()) {
      check_stored(is_index(output, graph().outputs.size()), "there is no output {}", output);
      out.finishes.push_back(output);
    }
    out.flops = from.flops();
    out.bytes = from.bytes();
    out.with_previous = from.with_previous();
    out.chained = from.chained();
    check_slices(out);
    return out;
  }

  /// Slices have the sizes of the values that lie in them.
  void check_slices(const Command& command) const {
    const Node& node = graph()[command.value];
    const auto holds = [](const BufferSlice& slice, const Type& type) {
      return slice.bytes == static_cast<std::int64_t>(type.bytes());
    };
    const bool computes =
        command.kind == CommandKind::kKernel || command.kind == CommandKind::kHostCall;
    const std::size_t results = computes ? result_count(node) : 1;
    bool fits = command.kind == CommandKind::kCopy || command.kind == command_kind(node.op);
    fits = fits && command.results.size() == results;
    for (std::size_t k = 0; fits && k < results; ++k)
      fits = holds(command.results[k], graph()[command.value + static_cast<ValueId>(k)].type) &&
             command.results[k].area != Area::kConstant;
    if (command.kind == CommandKind::kCopy) {
      fits = fits && command.operands.size() == 1 && holds(command.operands[0], node.type);
    } else {
      fits = fits && command.operands.size() == node.operands.size();
      for (std::size_t i = 0; fits && i < node.operands.size(); ++i)
        fits = holds(command.operands[i], graph()[node.operands[i]].type);
    }
    if (command.kind == CommandKind::kCollective)
      fits = fits &&
             (node.op != Op::kReduceScatter || command.scratch.bytes >= command.operands[0].bytes);
    check_stored(fits, "a command does not fit its node {}", print_node(graph(), command.value));
  }

  const proto::Plan& from_;
  Plan plan_;
};

}  // namespace

std::string serialize(const Plan& plan) {
  proto::Plan out;
  out.set_graph(print(plan.graph));
  for (const Command& command : plan.commands) write(command, *out.add_commands());
  out.set_arena_bytes(plan.arena_bytes);
  out.set_constant_bytes(plan.constant_bytes);
  for (const BufferSlice& slice : plan.constants) write(slice, *out.add_constants());
  for (const std::int32_t input : plan.donated_inputs) out.add_donated_inputs(input);
  for (const std::int32_t output : plan.ready_outputs) out.add_ready_outputs(output);
  out.set_peak_bytes(plan.peak_bytes);
  out.set_largest_values(plan.largest_values);
  if (out.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    raise(ErrorKind::kData, "the plan is too large to be kept: {} bytes", out.ByteSizeLong());
  const std::string payload = out.SerializeAsString();
  const Hash128 hash = hash128(payload.data(), payload.size());
  std::string bytes(kMagic);
  bytes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  return bytes + payload;
}

Plan deserialize(std::string_view bytes) {
  check_stored(bytes.size() >= kHeader, "{} bytes are less than its header", bytes.size());
  check_stored(bytes.starts_with(kMagic), "it does not start with the magic number");
  const std::string_view payload = bytes.substr(kHeader);
  Hash128 hash;
  std::memcpy(&hash, bytes.data() + kMagic.size(), sizeof hash);
  check_stored(hash == hash128(payload.data(), payload.size()), "its hash does not match");
  proto::Plan from;
  check_stored(payload.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
                   from.ParseFromArray(payload.data(), static_cast<int>(payload.size())),
               "it does not parse");
  try {
    return Reader(from, parse(from.graph(), "plan")).read();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kData) throw;
    raise(ErrorKind::kData, "the plan is damaged: {}", e.what());
  }
}

}  // namespace lockstep

// Binary files: modified checkpoints and entries of the compile cache, safetensors.
#include <cstring>
#include <filesystem>

#include "checkpoint/file_format.h"
#include "checkpoint/header_block.h"
#include "checkpoint/safetensors.h"
#include "core/base/hash.h"
#include "core/engine/compile.h"
#include "core/engine/step_io.h"
#include "core/engine/update_plans.h"
#include "core/ir/text.h"
#include "core/kernels/kernel_cache.h"
#include "core/runtime/loaded_step.h"
#include "tests/campaigns/fuzz/target.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep::fuzz {
namespace {

CheckpointState small_state() {
  CheckpointState state;
  const std::vector<double> values = {1, -1.5, 0, 65504, 1e-3, 2};
  state.model["h.0.attn.weight"] = from_doubles(DType::kF32, {2, 3}, values);
  state.model["h.0.ln.weight"] = from_doubles(DType::kBF16, {6}, values);
  state.model["mask"] = from_doubles(DType::kBool, {6}, values);
  state.optimizer["exp_avg"]["h.0.ln.weight"] = from_doubles(DType::kF32, {6}, values);
  state.trainer.step = 1500;
  state.trainer.schedule = {"cosine", {{"min_lr", 1e-4}}};
  state.trainer.dataset_digest = "0123abcd";
  state.trainer.tokenizer = "{}";
  state.config_yaml = "run:\n  name: x\n";
  return state;
}

std::vector<std::string> checkpoints() {
  std::string folder = (std::filesystem::temp_directory_path() / "ls-fuzz-XXXXXX").string();
  LS_CHECK(mkdtemp(folder.data()) != nullptr, "no temporary folder");
  PosixFile file = PosixFile::create(folder + "/a.h5", ErrorKind::kInternal);
  write_checkpoint(file, small_state());
  file.check_writes();
  std::string bytes(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(bytes)));
  std::filesystem::remove_all(folder);
  return {bytes};
}

/// Nearly always a valid header: otherwise nothing behind it is looked at.
void seal_checkpoint(std::string& input, std::mt19937_64& random) {
  if (input.size() < kHeaderBytes || random() % 16 == 0) return;
  HeaderBlock header{.file_bytes = input.size()};
  Sha256 digest;
  digest.update(input.data() + kHeaderBytes, input.size() - kHeaderBytes);
  header.digest = digest.finish();
  const auto bytes = encode_header(header);
  std::memcpy(input.data(), bytes.data(), bytes.size());
}

void run_checkpoint(const std::string& input) {
  const MemoryFile file(input);
  (void)CheckpointReader(file.path()).load();
}

std::vector<std::string> safetensors() {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},)"
      R"("c":{"dtype":"BOOL","shape":[],"data_offsets":[12,13]}} )";
  return {std::string(8, '\0') + header + std::string(13, '\1'),
          std::string(8, '\0') + "{}" + std::string(2, '\1')};
}

/// Nearly always a header that ends where its JSON does.
void seal_safetensors(std::string& input, std::mt19937_64& random) {
  const std::size_t end = input.rfind('}');
  if (end == std::string::npos || end < 8 || random() % 8 == 0) return;
  const std::uint64_t length = end + 1 - 8;
  std::memcpy(input.data(), &length, sizeof length);
}

void run_safetensors(const std::string& input) {
  const MemoryFile bytes(input);
  const SafetensorsFile file(bytes.path());
  for (const SafetensorsEntry& entry : file.tensors()) {
    (void)file.read(entry);
    (void)file.read_f32(entry);
  }
}

/// A step and what it compiles to, made once.
struct Compiled {
  Graph step = parse(R"(%0 = f32[64] input() {kind=parameter, name="w"}
%1 = f32[8,64] input() {kind=batch, name="batch.x"}
%2 = f32[8,64] broadcast(%0) {shape=[8,64], dims=[1]}
%3 = f32[8,64] multiply(%1, %2)
%4 = f32[8,64] tanh(%3)
%5 = f32[64] reduce_sum(%4) {dims=[0]}
%6 = f32[64] all_reduce(%5)
%7 = f32[64] subtract(%0, %6)
return %7
update 0 -> %0
)",
                     "fuzz.ir");
  CompileOptions options{.target = tested_target(), .buckets = {}};
  std::string identity = compile_identity(step, options);
  std::string bytes = compile();

  std::string compile() const {
    KernelCache kernels(options.target);
    UpdatePlans updates;
    return serialize(
        *load_step(compile_step(step, options, kernels, updates, Log::null()), options, kernels),
        identity);
  }
  static const Compiled& get() {
    static const Compiled compiled;
    return compiled;
  }
};

void run_cache_entry(const std::string& input) {
  const Compiled& compiled = Compiled::get();
  KernelCache kernels(compiled.options.target);
  (void)deserialize(input, compiled.identity, compiled.step, compiled.options, kernels);
}

}  // namespace

std::vector<Target> binary_targets() {
  return {{.name = "checkpoint",
           .refusal = ErrorKind::kCheckpoint,
           .seeds = checkpoints,
           .words = {"TREE", "SNOD", "HEAP", "GCOL", "\x89HDF\r\n\x1a\n",
                     std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff", 8)},
           .run = run_checkpoint,
           .seal = seal_checkpoint,
           .place = "/proc/self/fd/"},
          {.name = "safetensors",
           .refusal = ErrorKind::kCheckpoint,
           .seeds = safetensors,
           .words = {"\"shape\":[", "\"data_offsets\":[0,4]", "__metadata__", "9223372036854775807",
                     "{\"", "[0,0]", "\"I64\"", "\\u0000"},
           .run = run_safetensors,
           .seal = seal_safetensors,
           .place = "/proc/self/fd/"},
          {.name = "cache",
           .refusal = ErrorKind::kData,
           .seeds = [] { return std::vector{Compiled::get().bytes}; },
           .words = {"\x7f"
                     "ELF",
                     std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 10),
                     std::string_view("\x0a\0", 2)},
           .run = run_cache_entry}};
}

}  // namespace lockstep::fuzz

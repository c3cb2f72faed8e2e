#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <ostream>
#include <span>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "data/images/idx.h"
#include "data/tokenizers/tokenizer_files.h"
#include "data/tokenizers/tokenizer_training.h"
#include "data/tokens/text.h"
#include "data/tokens/token_shards.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/text_inputs.h"
#include "trainer/datasets/token_files.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

TokenizerPtr make_tokenizer(const Arguments& arguments, const std::string& name,
                            const std::string& text) {
  const std::string type = arguments.value("tokenizer").value_or("char");
  const auto vocab = arguments.value("vocab");
  const auto merges = arguments.value("merges");
  if (type == "gpt2") {
    LS_USER_CHECK(vocab && merges, "--tokenizer gpt2 needs --vocab and --merges");
    return read_gpt2_tokenizer(*vocab, *merges);
  }
  LS_USER_CHECK(!vocab && !merges, "--vocab and --merges are for --tokenizer gpt2");
  if (type == "char") return character_tokenizer(name, text);
  LS_USER_CHECK(fs::exists(type),
                "--tokenizer must be char, gpt2 or a file (tokenizer.json, vocab.txt), not '{}'",
                type);
  return load_tokenizer(type);
}

/// Files that belong together: no old one is replaced before all new ones are written.
class PreparedFiles {
 public:
  explicit PreparedFiles(fs::path folder) : folder_(std::move(folder)) {}

  /// Nothing for an empty text.
  void add_tokens(const char* name, std::string_view text, const Tokenizer& tokenizer) {
    if (text.empty()) return;
    const std::vector<std::int32_t> tokens = tokenizer.encode(text);
    const std::string path = (folder_ / name).string();
    write_token_shard(begin(path), path, tokens);
    end(fmt::format("{} tokens of {} bytes of text", tokens.size(), text.size()));
  }

  void add_tokenizer(const char* name, const Tokenizer& tokenizer) {
    const std::string text = tokenizer.serialize();
    begin((folder_ / name).string()).write(0, std::as_bytes(std::span(text)));
    end(fmt::format("{} tokens in the vocabulary", tokenizer.vocab_size()));
  }

  void commit(std::ostream& out) {
    for (const auto& [path, file, about] : files_) {
      file->commit();
      out << fmt::format("{}: {}\n", path, about);
    }
  }

 private:
  struct File {
    std::string path;
    std::unique_ptr<AtomicFile> file;
    std::string about;
  };

  PosixFile& begin(const std::string& path) {
    files_.push_back({path, std::make_unique<AtomicFile>(path, ErrorKind::kData), ""});
    return files_.back().file->file();
  }
  void end(std::string about) {
    files_.back().file->file().sync();  // a full disk is detected here at the latest
    files_.back().about = std::move(about);
  }

  fs::path folder_;
  std::vector<File> files_;
};

int prepare_text(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const auto output = arguments.value("output");
  LS_USER_CHECK(output.has_value(), "--output is missing: the folder to write to");
  const std::vector<Key> keys = TextData::keys();
  const Key& like = *std::ranges::find(keys, "val_fraction", &Key::name);
  const double val_fraction =
      arguments.number("val-fraction", like).value_or(TextData{}.val_fraction);
  std::string name;
  std::string text;
  for (const TextInput& input : read_text_inputs(arguments)) {
    name += (name.empty() ? "" : ", ") + input.path;
    text += input.text;
  }
  const TokenizerPtr tokenizer = make_tokenizer(arguments, name, text);
  const TextSplit split = split_text(text, 1.0 - val_fraction);

  const fs::path folder = *output;
  std::error_code error;
  fs::create_directories(folder, error);
  LS_USER_CHECK(!error, "{}: the folder cannot be made: {}", *output, error.message());
  PreparedFiles files(folder);
  files.add_tokens("train.bin", split.train, *tokenizer);
  files.add_tokens("val.bin", split.validation, *tokenizer);
  files.add_tokenizer("tokenizer.json", *tokenizer);
  files.commit(call.out);
  return 0;
}

TrainingOptions training_options(const Arguments& arguments) {
  TrainingOptions out;
  const std::string type = arguments.value("type").value_or("");
  LS_USER_CHECK(type == "bpe" || type == "wordpiece", "--type must be bpe or wordpiece, not '{}'",
                type);
  out.kind = type == "bpe" ? TrainedKind::kBpe : TrainedKind::kWordPiece;
  const auto vocab_size = arguments.integer("vocab-size", 1, 10'000'000);
  LS_USER_CHECK(vocab_size.has_value(), "--vocab-size is missing: the number of tokens");
  out.vocab_size = *vocab_size;
  out.min_frequency = arguments.integer("min-frequency", 1, INT32_MAX).value_or(out.min_frequency);
  out.lowercase = !arguments.has("cased");
  LS_USER_CHECK(out.lowercase || out.kind == TrainedKind::kWordPiece,
                "--cased is for --type wordpiece: bpe does not change the text");
  return out;
}

int prepare_tokenizer(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const auto output = arguments.value("output");
  LS_USER_CHECK(output.has_value(), "--output is missing: the file to write");
  TokenizerTrainer trainer(training_options(arguments));
  for (const TextInput& input : read_text_inputs(arguments)) trainer.add(input.path, input.text);
  const TokenizerPtr tokenizer = trainer.train();
  save_tokenizer(*tokenizer, *output);
  call.out << fmt::format("{}: {} tokens in the vocabulary\n", *output, tokenizer->vocab_size());
  return 0;
}

std::vector<Option> with_text_inputs(std::vector<Option> options) {
  std::ranges::copy(text_input_options(), std::back_inserter(options));
  return options;
}

/// Mean and standard deviation of all pixels, scaled to [0, 1].
std::pair<double, double> pixel_moments(const std::vector<std::uint8_t>& pixels) {
  std::array<double, 256> histogram{};
  for (const std::uint8_t pixel : pixels) ++histogram[pixel];
  const double count = static_cast<double>(pixels.size());
  double mean = 0;
  for (std::size_t i = 0; i < histogram.size(); ++i)
    mean += static_cast<double>(i) / 255.0 * histogram[i] / count;
  double variance = 0;
  for (std::size_t i = 0; i < histogram.size(); ++i)
    variance += std::pow(static_cast<double>(i) / 255.0 - mean, 2) * histogram[i] / count;
  return {mean, std::sqrt(variance)};
}

int prepare_idx(const CommandCall& call) {
  const auto& files = call.arguments.positionals();
  const LabelledImages images = read_idx(files[0], files[1]);
  call.out << fmt::format("{}: {} images, channels x height x width {}\n", files[0],
                          images.labels.size(), images.shape.to_string());
  std::array<std::int64_t, 256> counts{};
  for (const std::int32_t label : images.labels) ++counts.at(static_cast<std::size_t>(label));
  call.out << fmt::format("{}: {} labels\n", files[1], images.labels.size());
  for (std::size_t label = 0; label < counts.size(); ++label)
    if (counts[label] > 0) call.out << fmt::format("  label {}: {}\n", label, counts[label]);
  if (!images.pixels.empty()) {
    const auto [mean, stddev] = pixel_moments(images.pixels);
    call.out << fmt::format("pixels: data.normalize_mean {:.4f}, data.normalize_std {:.4f}\n", mean,
                            stddev);
  }
  return 0;
}

}  // namespace

std::vector<CliCommand> prepare_commands() {
  return {
      {.name = "prepare text",
       .positionals = {"IN"},
       .rest = "[IN ...]",
       .max_rest = CliCommand::kAnyNumber,
       .help = "turn text files into token shards",
       .details = "Writes DIR/train.bin and DIR/val.bin (llm.c's header and u16 tokens, for\n"
                  "data.type: tokens), and DIR/tokenizer.json. The texts are joined in the order\n"
                  "given; the last part becomes val.bin.\n",
       .options = with_text_inputs(
           {{"output", "DIR", "the folder to write to"},
            {"tokenizer", "TYPE", "char (default), gpt2, or a tokenizer.json or vocab.txt"},
            {"vocab", "FILE", "vocab.json of gpt2"},
            {"merges", "FILE", "merges.txt of gpt2"},
            {"val-fraction", "F", "part of the text for validation (0.1)"}}),
       .exits = {3},
       .run = prepare_text},
      {.name = "prepare tokenizer",
       .positionals = {"IN"},
       .rest = "[IN ...]",
       .max_rest = CliCommand::kAnyNumber,
       .help = "train a tokenizer on text files",
       .details =
           "Writes a Hugging Face tokenizer.json: GPT-2's byte-level BPE, or BERT's WordPiece.\n"
           "The same texts and options give the same file. For tokenizer.type: file, and\n"
           "lockstep prepare text --tokenizer FILE.\n",
       .options = with_text_inputs(
           {{"type", "TYPE", "bpe or wordpiece"},
            {"vocab-size", "N", "number of tokens; fewer if the texts have fewer"},
            {"output", "FILE", "the tokenizer.json to write"},
            {"min-frequency", "N", "minimum count of a pair of tokens that is merged (2)"},
            {"cased", "", "wordpiece: keep capitals and accents"}}),
       .exits = {3},
       .run = prepare_tokenizer},
      {.name = "prepare idx",
       .positionals = {"IMAGES", "LABELS"},
       .help = "check a pair of IDX files (.gz too) and summarize it",
       .details =
           "Prints shape, labels, and the mean and standard deviation for normalization. Training\n"
           "reads IDX files as they are (data.type: idx).\n",
       .exits = {3},
       .run = prepare_idx}};
}

}  // namespace lockstep

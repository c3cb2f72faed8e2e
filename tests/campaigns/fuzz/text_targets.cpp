// Text formats: configs, graphs, tokenizers.
#include <fmt/ranges.h>

#include "core/ir/text.h"
#include "core/ir/verify.h"
#include "data/captions/caption_file.h"
#include "data/tokenizers/byte_level.h"
#include "data/tokenizers/text_stream.h"
#include "data/tokenizers/tokenizer_documents.h"
#include "data/tokenizers/tokenizer_files.h"
#include "data/tokens/jsonl.h"
#include "data/tokens/labels.h"
#include "tests/campaigns/fuzz/target.h"
#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep::fuzz {
namespace {

std::vector<std::string> configs() {
  return {R"(model:
  name: gpt2
  n_layer: 2
  n_head: 2
  n_embd: 48
  block_size: 32
  dropout: 0.1
tokenizer: {type: char}
data:
  type: text
  path: "a text.txt"   # a comment
  stride: 1
training: {max_steps: 60, global_batch_size: 16, micro_batch_size: 2}
optimizer:
  name: adamw
  learning_rate: 3e-3
  betas: [0.9, 0.95]
scheduler: {name: cosine, warmup_steps: 10, decay_steps: 60}
)",
          R"(run: {name: 'digits', seed: 7}
model:
  name: mlp
  hidden_sizes: [512, 512]
data:
  type: idx
  path: images
  labels: labels
  train_range: [0, 100]
  val_range: [100, 200]
training:
  max_epochs: 3
  global_batch_size: 64
  micro_batch_size: 8
optimizer:
  name: sgd
  learning_rate: .1
device:
  memory_gb: 1.5
)"};
}

std::vector<std::string> graphs() {
  return {R"(%0 = f32[8,64] input() {kind=batch, name="batch.x", line="model.cpp:40", scope="h.0"}
%1 = f32[] constant() {value=0.5}
%2 = f32[8,64] broadcast(%1) {shape=[8,64], dims=[]}
%3 = f32[8,64] multiply(%0, %2) {line="model.cpp:41"}
%4 = f32[8] reduce_sum(%3) {dims=[1]}
return %4, %3
update 1 -> %0
)",
          R"(// dots, slices and a body
%a = bf16[2,3,4] input() {kind=parameter}
%b = bf16[2,4,5] input()
%c = bf16[2,3,5] dot_general(%a, %b) {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]}
%d = bf16[2,2,5] slice(%c) {start=[0,0,0], limit=[2,3,5], stride=[1,2,1]}
%e = f32[2,2,5] convert(%d) {to=f32}
%f = f32[2,2,5] call(%e) body { %0 = f32[2,2,5] input() %1 = f32[2,2,5] exp(%0) return %1 }
%g = i64[3] constant() {value=[1, -2, 9223372036854775807]}
%h = f32[2,2,5] all_reduce(%f)
inputs %b, %a
return %h, %g
)"};
}

void run_graph_text(const std::string& input) {
  const Graph graph = parse(input, "fuzz.ir");
  try {
    verify(graph, "parse");
  } catch (const Error& e) {
    raise(ErrorKind::kInternal, "what parses must verify: {}", e.what());
  }
  const std::string printed = print(graph);
  LS_CHECK(print(parse(printed, "fuzz.ir")) == printed, "a printed graph does not read back");
}

const TokenPairs& pairs() {
  static const TokenPairs out = {{"a", "b"}, {"b", "c"}, {"ab", "c"}};
  return out;
}

std::string vocabulary_json() {
  std::vector<std::string> entries;
  const auto add = [&](const std::string& token) {
    const std::string escaped = token == "\"" || token == "\\" ? "\\" + token : token;
    entries.push_back(fmt::format("\"{}\": {}", escaped, entries.size()));
  };
  for (int byte = 0; byte < 256; ++byte) add(byte_level_symbol(static_cast<std::uint8_t>(byte)));
  for (const auto& [left, right] : pairs()) add(left + right);
  add("<|endoftext|>");
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

std::string merges_text() {
  std::string out = "#version: 0.2\n";
  for (const auto& [left, right] : pairs()) out += left + " " + right + "\n";
  return out;
}

/// The text of tokens that come one by one is that of all.
void stream(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  TextStream stream(tokenizer);
  std::string told;
  for (const std::int32_t id : ids) told += stream.add(id);
  told += stream.finish();
  LS_CHECK(told == valid_utf8(tokenizer.decode(ids)), "the text that grows is another");
}

/// `exact`: what is encoded comes back, or is refused.
void use(const Tokenizer& tokenizer, bool exact) {
  constexpr std::string_view kText = "abcabc, caf\xc3\xa9 <|endoftext|> 123\n\xff\0";
  for (const std::string_view text : {kText, kText.substr(0, 28)}) {
    try {
      const std::vector<std::int32_t> ids = tokenizer.encode(text);
      const std::string decoded = tokenizer.decode(tokenizer.with_special_tokens(ids, ids).ids);
      stream(tokenizer, ids);
      for (const std::int32_t id : ids) {
        tokenizer.token(id);
        tokenizer.continues_word(id);
      }
      LS_CHECK(!exact || decoded == std::string(text) + std::string(text),
               "the text does not come back");
    } catch (const Error& e) {  // a vocabulary of characters need not have these
      if (e.kind() != ErrorKind::kData) throw;
    }
  }
  LS_CHECK(
      tokenizer_from_json(tokenizer.serialize(), "fuzz.json")->serialize() == tokenizer.serialize(),
      "the tokenizer does not survive serialization");
}

void run_vocab(const std::string& input) {
  const MemoryFile vocab(input);
  const MemoryFile merges(merges_text());
  use(*read_gpt2_tokenizer(vocab.path(), merges.path()), true);
}

void run_merges(const std::string& input) {
  const MemoryFile vocab(vocabulary_json());
  const MemoryFile merges(input);
  use(*read_gpt2_tokenizer(vocab.path(), merges.path()), true);
}

// Every kind of component that is known.
constexpr const char* kEveryComponent =
    R"json({"version": "1.0", "truncation": null, "padding": null,
"added_tokens": [
 {"id": 6, "content": "<s>", "special": true, "normalized": false, "lstrip": true, "rstrip": true},
 {"id": 7, "content": "caf", "single_word": true, "normalized": true}],
"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFKD"},
 {"type": "Lowercase"}, {"type": "StripAccents"}, {"type": "Prepend", "prepend": "a"},
 {"type": "Strip", "strip_left": true, "strip_right": true},
 {"type": "Replace", "pattern": {"Regex": "\\d+"}, "content": "b"},
 {"type": "BertNormalizer", "lowercase": true, "strip_accents": null}]},
"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
 {"type": "Split", "pattern": {"Regex": "(?i:[^\\s,]+|\\p{L}{1,3})"}, "behavior": "Removed",
  "invert": true},
 {"type": "Digits", "individual_digits": true}, {"type": "Punctuation", "behavior": "Contiguous"},
 {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"},
 {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": true}]},
"post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel", "trim_offsets": true},
 {"type": "TemplateProcessing",
  "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
  "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
  "special_tokens": {"<s>": {"id": "<s>", "ids": [6], "tokens": ["<s>"]}}}]},
"decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"},
 {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"},
 {"type": "WordPiece", "prefix": "##", "cleanup": true}, {"type": "BPEDecoder", "suffix": "</w>"},
 {"type": "Strip", "content": " ", "start": 1, "stop": 1},
 {"type": "Replace", "pattern": {"String": "b"}, "content": "c"}, {"type": "ByteLevel"}]},
"model": {"type": "BPE", "unk_token": "u", "fuse_unk": true, "byte_fallback": true,
 "continuing_subword_prefix": "#", "end_of_word_suffix": "$", "ignore_merges": true,
 "vocab": {"u": 0, "a": 1, "#b": 2, "ab": 3, "#c$": 4, "abc$": 5},
 "merges": ["a #b", ["ab", "#c$"]]}})json";

constexpr const char* kByteFallback = R"({"pre_tokenizer": {"type": "ByteLevel"},
"decoder": {"type": "ByteLevel"}, "post_processor": {"type": "RobertaProcessing",
 "sep": ["a", 1], "cls": ["<unk>", 0], "trim_offsets": true, "add_prefix_space": false},
"model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true,
 "vocab": {"<unk>": 0, "a": 1, "<0x00>": 2, "<0xC3>": 3}, "merges": []}})";

// Llama 2's, of bytes.
constexpr const char* kLlama2 = R"({"normalizer": {"type": "Sequence", "normalizers": [
 {"type": "Prepend", "prepend": "_"}, {"type": "Replace", "pattern": {"String": " "}, "content": "_"}]},
"decoder": {"type": "Sequence", "decoders": [
 {"type": "Replace", "pattern": {"String": "_"}, "content": " "}, {"type": "ByteFallback"},
 {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
"model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "vocab": {"<unk>": 0, "_": 1,
 "a": 2, "_a": 3, "<0x00>": 4, "<0x62>": 5, "<0x63>": 6, "<0xC3>": 7, "<0xA9>": 8, "<0x0A>": 9},
 "merges": ["_ a"]}})";

std::vector<std::string> tokenizers() {
  const MemoryFile vocab(vocabulary_json());
  const MemoryFile merges(merges_text());
  return {character_tokenizer("x", "to be, or not to be")->serialize(),
          R"({"type": "char", "characters": ["a", "b"]})",
          word_piece_document({"[UNK]", "[CLS]", "[SEP]", "a", "##b", "abc", ","}, true),
          kEveryComponent,
          kByteFallback,
          kLlama2,
          read_gpt2_tokenizer(vocab.path(), merges.path())->serialize()};
}

std::vector<std::string> documents() {
  return {
      "{\"text\": \"to be\", \"label\": \"x\"}\n\n{\"label\": 2, \"text\": \"caf\\u00e9 "
      "\\ud83d\\ude00\"}\n",
      "\xef\xbb\xbf{\"text\": \"\", \"label\": 1, \"more\": {\"a\": [1, -2.5e-3, true, "
      "null]}}\r\n"};
}

void run_documents(const std::string& input) {
  const MemoryFile file(input);
  TextDocuments documents = read_jsonl({file.path()}, {.label_field = "label"});
  const std::vector<std::string> names = label_names(documents);
  number_labels(documents, names, "the file");
  for (const TextDocument& document : documents.all)
    LS_CHECK(names.at(static_cast<std::size_t>(document.label.number)) == document.label.name,
             "label {}", document.label.number);
}

std::vector<std::string> caption_files() {
  return {
      "{\"image\": \"a.png\", \"caption\": \"a cat\"}\n\n"
      "{\"captions\": [\"a dog\", \"caf\\u00e9\"], \"image\": \"b/c.jpg\", \"more\": [1]}\r\n",
      "{\"info\": {},\n\"images\": [{\"id\": 7, \"file_name\": \"a.png\"},\n"
      "{\"file_name\": \"b\", \"id\": -1}],\n\"annotations\": [{\"image_id\": -1, \"caption\": "
      "\"a\"},\n"
      "{\"image_id\": 7, \"id\": 3, \"caption\": \"b c\"}]}"};
}

void run_captions(const std::string& input) {
  const MemoryFile file(input);
  const CaptionFile captions = read_captions(file.path());
  LS_CHECK(!captions.images.empty(), "no images");
  for (const CaptionedImage& image : captions.images)
    LS_CHECK(!image.name.empty() && !image.captions.empty(), "an image without name or captions");
}

}  // namespace

std::vector<Target> text_targets() {
  return {
      {.name = "yaml",
       .refusal = ErrorKind::kUsage,
       .seeds = configs,
       .words = {": ",     "- ",    "&a",    "*a",          "<<",
                 "!!str",  "---\n", "...\n", "|\n",         ">\n",
                 "{",      "}",     "[",     "]",           "\"",
                 "'",      "#",     "? ",    "%YAML 1.2\n", "\t",
                 "\n    ", "1e999", ".nan",  "training:",   "\xef\xbb\xbf",
                 "0x10",   "null",  "~"},
       .run = [](const std::string& input) { parse_config(input, "fuzz.yaml", built_in()); },
       .place = "fuzz.yaml:"},
      {.name = "ir",
       .refusal = ErrorKind::kUsage,
       .seeds = graphs,
       .words = {"%0",          "{",          "}",         "[",
                 "]",           "(",          ")",         ",",
                 "\"",          "\\x",        "->",        "update 0 -> %0",
                 "return",      "body { ",    "fusion",    "group_result",
                 "dims=[0]",    "nan(0x",     "inputs %0", "index=1",
                 "f64[]",       "pad",        "gather",    "scatter_add",
                 "convolution", "attention",  "-1",        "iota",
                 "axis=0",      "concatenate"},
       .run = run_graph_text,
       .place = "fuzz.ir:"},
      {.name = "vocab",
       .refusal = ErrorKind::kData,
       .seeds = [] { return std::vector{vocabulary_json()}; },
       .words = {"{", "}", "[", "\": 1, ", "\"a\": ", "\\u0000", "\\ud800", "1e5", "-1", "null"},
       .run = run_vocab,
       .place = "/proc/self/fd/"},
      {.name = "jsonl",
       .refusal = ErrorKind::kData,
       .seeds = documents,
       .words = {"{",
                 "}",
                 "[",
                 "]",
                 ",",
                 ": ",
                 "\n",
                 "\r\n",
                 "null",
                 "1e999",
                 "-0",
                 "NaN",
                 "\\u0000",
                 "\\ud800",
                 "\"text\": ",
                 "\"label\": ",
                 std::string_view("\0", 1),
                 "\xef\xbb\xbf",
                 "18446744073709551616",
                 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["},
       .run = run_documents,
       .place = "/proc/self/fd/"},
      {.name = "captions",
       .refusal = ErrorKind::kData,
       .seeds = caption_files,
       .words = {"{",
                 "}",
                 "[",
                 "]",
                 ",",
                 ": ",
                 "\n",
                 "\r\n",
                 "null",
                 "-0",
                 "1e9",
                 "\\u0000",
                 "\"image\": ",
                 "\"images\": ",
                 "\"annotations\": ",
                 "\"captions\": ",
                 "\"caption\": ",
                 "\"id\": ",
                 "\"image_id\": ",
                 "18446744073709551616"},
       .run = run_captions,
       .place = "/proc/self/fd/"},
      {.name = "merges",
       .refusal = ErrorKind::kData,
       .seeds = [] { return std::vector{merges_text()}; },
       .words = {"a b\n", " ", "\n", "\r\n", "#version", "\xc4\xa0", "ab c d\n"},
       .run = run_merges,
       .place = "/proc/self/fd/"},
      {.name = "tokenizer",
       .refusal = ErrorKind::kData,
       .seeds = tokenizers,
       .words = {"{",
                 "}",
                 "[",
                 "]",
                 "\"type\"",
                 "\"char\"",
                 "\"bpe\"",
                 "\\u0000",
                 "null",
                 "-1",
                 "\"BPE\"",
                 "\"WordPiece\"",
                 "\"Sequence\"",
                 "\"ByteLevel\"",
                 "[^\\\\s]",
                 "(a*)*",
                 "(?:a|a){20}b|.",
                 "(?>[^x]*)x|.",
                 "[[:alpha:]]",
                 "\\\\p{L}",
                 "true",
                 "false",
                 "\"\"",
                 "2147483647"},
       .run =
           [](const std::string& input) { use(*tokenizer_from_json(input, "fuzz.json"), false); },
       .place = "fuzz.json"},
  };
}

}  // namespace lockstep::fuzz

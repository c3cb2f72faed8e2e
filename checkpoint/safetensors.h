// Hugging Face's safetensors files (https://github.com/huggingface/safetensors): 8 bytes with the
// length of a header, the header, a JSON object with type, shape and place of each tensor, and then
// the tensors' bytes, little-endian and row-major, one after another.
//
// Such files come from anywhere and carry no digest, so the reader trusts nothing: the header has
// at most 100 MB, each key once and only fields of the format; sizes must match types and shapes,
// and the tensors must fill the rest of the file without gap or overlap. Anything else is an error
// that names it, never a crash, and no memory is allocated for data that the file does not hold.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/posix_file.h"

namespace lockstep {

/// Element types of the format that can be read, in its order of alignment. (F8, F6, F4, complex
/// and the wider unsigned ones cannot.)
enum class SafetensorsType : std::uint8_t {
  kBool,
  kU8,
  kI8,
  kI16,
  kF16,
  kBF16,
  kI32,
  kF32,
  kF64,
  kI64
};

/// "F32", "BF16", "BOOL", ...
std::string_view name_of(SafetensorsType type);
std::size_t size_of(SafetensorsType type);
bool is_float(SafetensorsType type);
SafetensorsType safetensors_type(DType dtype);

/// A tensor in a file.
struct SafetensorsEntry {
  std::string name;
  SafetensorsType type = SafetensorsType::kF32;
  Shape shape;
  std::uint64_t offset = 0;  ///< of its elements, from the beginning of the file
  std::uint64_t bytes = 0;

  std::string type_text() const;  ///< "F32[2,3]"
};

class SafetensorsFile {
 public:
  /// Reads and checks the header. Error kCheckpoint "PATH: not a safetensors file: problem".
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  /// In the order of their bytes in the file.
  const std::vector<SafetensorsEntry>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// The elements as f32, each rounded once. Uses one mebibyte besides the result.
  HostTensor read_f32(const SafetensorsEntry& entry) const;
  /// The elements unchanged; I8 and I16, which no lockstep tensor has, as i32.
  HostTensor read(const SafetensorsEntry& entry) const;

 private:
  template <class Take>
  void read_pieces(const SafetensorsEntry& entry, const Take& take) const;

  PosixFile file_;
  std::vector<SafetensorsEntry> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor to write.
struct SafetensorsItem {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

/// Writes or replaces `path`, whole or not at all. The bytes are those of the library's own writer,
/// which orders tensors by alignment, the widest first, and then by name. `read` is called for one
/// tensor at a time. Error kCheckpoint.
void write_safetensors(const std::string& path, std::vector<SafetensorsItem> items,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<HostTensor(const std::string& name)>& read);

/// A name from a foreign file, for messages: quoted, printable, and at most one line long.
std::string quote_name(std::string_view name);

}  // namespace lockstep

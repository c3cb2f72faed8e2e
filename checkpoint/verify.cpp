#include "checkpoint/verify.h"

#include <span>

#include "checkpoint/content_digest.h"
#include "checkpoint/header_block.h"
#include "core/base/hash.h"

namespace lockstep {
namespace {

struct CheckedHeader {
  HeaderBlock header;
  FileVerdict verdict;
};

CheckedHeader check_header(const PosixFile& file) {
  std::array<std::byte, kHeaderBytes> block{};
  const std::size_t got = file.read(0, block);
  DecodedHeader decoded = decode_header(std::span(block).first(got));
  if (decoded.problem.empty()) {
    const std::uint64_t actual = file.size();
    const std::uint64_t expected = decoded.header.file_bytes;
    if (actual < expected) {
      decoded.problem = fmt::format("truncated: {} of {} bytes", actual, expected);
    } else if (actual > expected) {
      decoded.problem =
          fmt::format("{} bytes follow the {} that were written", actual - expected, expected);
    }
  }
  return {decoded.header, {decoded.problem}};
}

template <class Check>
FileVerdict verdict_on(const std::string& path, Check check) {
  try {
    return check(PosixFile::open(path, ErrorKind::kCheckpoint));
  } catch (const Error& e) {
    return {without_path(e, path)};
  }
}

}  // namespace

FileVerdict verify(const PosixFile& file) {
  const CheckedHeader checked = check_header(file);
  if (!checked.verdict.ok()) return checked.verdict;
  const auto digest = content_digest(file);
  if (digest == checked.header.digest) return {};
  return {fmt::format("the contents are damaged: their SHA-256 is {}..., the header says {}...",
                      to_hex(digest.data(), 8), to_hex(checked.header.digest.data(), 8))};
}

FileVerdict verify(const std::string& path) {
  return verdict_on(path, [](const PosixFile& file) { return verify(file); });
}

FileVerdict verify_header(const std::string& path) {
  return verdict_on(path, [](const PosixFile& file) { return check_header(file).verdict; });
}

std::string without_path(const Error& error, const std::string& path) {
  const std::string message = error.what();
  const std::string prefix = path + ": ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

}  // namespace lockstep

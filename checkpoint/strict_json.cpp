#include "checkpoint/strict_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <vector>

#include "checkpoint/safetensors.h"
#include "core/base/posix_file.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

class Checks final : public nlohmann::json_sax<Json> {
 public:
  Checks(const std::string& path, int max_depth, ErrorKind kind)
      : path_(path), max_depth_(static_cast<std::size_t>(max_depth)), kind_(kind) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second)
      raise(kind_, "{}: has {} twice", path_, quote_name(name));
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const Json::exception&) override {
    raise(kind_, "{}: not valid JSON at byte {}", path_, byte);
  }

 private:
  bool open() {
    if (keys_.size() == max_depth_) raise(kind_, "{}: nested more than {} deep", path_, max_depth_);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  const std::string& path_;
  std::size_t max_depth_;
  ErrorKind kind_;
  std::vector<std::set<std::string>> keys_;  ///< of the objects that are open
};

}  // namespace

std::string read_json_text(const std::string& path, std::uint64_t max_bytes, ErrorKind kind) {
  const PosixFile file = PosixFile::open(path, kind);
  const std::uint64_t bytes = file.size();
  if (bytes > max_bytes)
    raise(kind, "{}: has {} bytes, of which {} are allowed", path, bytes, max_bytes);
  std::string out(bytes, '\0');
  out.resize(file.read(0, std::as_writable_bytes(std::span(out))));
  return out;
}

void check_json(std::string_view text, const std::string& path, int max_depth, ErrorKind kind) {
  // The parser would take it for the end.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    raise(kind, "{}: not valid JSON at byte {}", path, nul + 1);
  Checks checks(path, max_depth, kind);
  Json::sax_parse(text.begin(), text.end(), &checks);
  if (const std::size_t first = text.find_first_not_of(" \t\r\n"); text.substr(first, 1) != "{")
    raise(kind, "{}: not a JSON object", path);
}

}  // namespace lockstep

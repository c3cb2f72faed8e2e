#include "trainer/launch/mpirun_words.h"

#include <charconv>
#include <span>
#include <sstream>

#include "core/base/error.h"
#include "core/base/posix_file.h"

namespace lockstep {
namespace {

constexpr std::uint64_t kMaxHostfileBytes = 1 << 20;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out{""};
  for (const char c : text) {
    if (c == separator)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

/// The count of "name:4"; 0 if there is none.
int read_count(const std::string& entry, std::size_t colon) {
  if (colon == std::string::npos) return 0;
  int count = 0;
  const char* end = entry.data() + entry.size();
  const auto [stop, error] = std::from_chars(entry.data() + colon + 1, end, count);
  LS_USER_CHECK(error == std::errc{} && stop == end && count >= 1,
                "--hosts: '{}' must be a host, or a host and a number of ranks as in node1:4",
                entry);
  return count;
}

}  // namespace

std::vector<Host> parse_hosts(const std::string& text, int ranks) {
  std::vector<Host> out;
  int counted = 0;
  int slots = 0;
  for (const std::string& entry : split(text, ',')) {
    const std::size_t colon = entry.rfind(':');
    const std::string name = entry.substr(0, colon);
    LS_USER_CHECK(!name.empty() && !name.starts_with('-'), "--hosts: '{}' names no host", text);
    out.push_back({name, read_count(entry, colon)});
    counted += colon != std::string::npos;
    slots += out.back().ranks;
  }
  const int hosts = static_cast<int>(out.size());
  LS_USER_CHECK(counted == 0 || counted == hosts,
                "--hosts: '{}' gives a number of ranks for some hosts only", text);
  if (counted == 0) {
    LS_USER_CHECK(ranks >= hosts, "--hosts: {} ranks are too few for {} hosts", ranks, hosts);
    for (int i = 0; i < hosts; ++i)
      out[static_cast<std::size_t>(i)].ranks = ranks / hosts + (i < ranks % hosts ? 1 : 0);
    return out;
  }
  LS_USER_CHECK(slots >= ranks, "--hosts: '{}' has room for {} ranks, and -n is {}", text, slots,
                ranks);
  return out;
}

std::vector<std::string> hosts_of_file(const std::string& path) {
  std::vector<std::string> out;
  const PosixFile file = PosixFile::open(path, ErrorKind::kUsage);
  LS_USER_CHECK(file.size() <= kMaxHostfileBytes, "--hostfile {}: has {} bytes, more than {}", path,
                file.size(), kMaxHostfileBytes);
  std::string text(file.size(), '\0');
  text.resize(file.read(0, std::as_writable_bytes(std::span(text))));
  for (const std::string& line : split(text, '\n')) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    if (!(words >> name) || name.starts_with('^')) continue;
    out.push_back(name.substr(name.find('@') + 1));  // npos + 1 is 0
  }
  return out;
}

std::vector<std::string> mpirun_words(const MpirunOptions& options,
                                      const std::vector<std::string>& program) {
  std::vector<std::string> out{"mpirun"};
  const auto add = [&](std::initializer_list<std::string> words) { out.insert(out.end(), words); };
  if (options.as_root) add({"--allow-run-as-root"});
  // mpirun would pin each of two ranks to one core, with all its threads.
  add({"--bind-to", "none"});
  // It counts cores, not hardware threads, and refuses more ranks than that.
  add({"--oversubscribe", "-np", fmt::format("{}", options.ranks)});
  if (!options.hosts.empty()) {
    std::string list;
    for (const Host& host : options.hosts)
      list += fmt::format("{}{}:{}", list.empty() ? "" : ",", host.name, host.ranks);
    add({"--host", list});
  }
  if (!options.hostfile.empty()) add({"--hostfile", options.hostfile});
  for (const std::string& name : options.variables) add({"-x", name});
  out.insert(out.end(), program.begin(), program.end());
  return out;
}

}  // namespace lockstep

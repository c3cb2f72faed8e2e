#include "core/base/build_id.h"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::size_t aligned(std::size_t size) {
  return (size + 3) / 4 * 4;
}

/// The description of the GNU build id among the notes of a segment, or "".
std::string find_in_notes(const char* notes, std::size_t size) {
  constexpr char kOwner[] = "GNU";
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t description = name + aligned(note.n_namesz);
    const std::size_t end = description + aligned(note.n_descsz);
    if (end > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof kOwner &&
        std::memcmp(notes + name, kOwner, sizeof kOwner) == 0)
      return {notes + description, note.n_descsz};
    at = end;
  }
  return {};
}

/// Of the hashes of its blocks: memory for a whole executable costs a multiple of the reading.
Hash128 hash_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(64 << 10);
  Hasher hasher;
  std::streamsize total = 0;
  do {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    if (file.gcount() > 0)
      hasher.value(hash128(block.data(), static_cast<std::size_t>(file.gcount())));
    total += file.gcount();
  } while (file);
  LS_CHECK(file.eof() && total > 0, "{} cannot be read", path);
  return hasher.finish();
}

/// A file that is mapped into this process.
struct Module {
  std::string path;   ///< "" for the executable
  bool ours = false;  ///< whether it holds this function: the executable, or liblockstep.so
  std::string build_id;
  std::vector<std::string>
      needed;  ///< names of the libraries that executable or `ours` is linked to

  std::string name() const { return path.substr(path.rfind('/') + 1); }
};

/// The dynamic section holds addresses: the loader has relocated them.
std::vector<std::string> needed_by(const ElfW(Dyn) * dynamic) {
  const char* strings = nullptr;
  for (const auto* entry = dynamic; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  std::vector<std::string> out;
  if (strings == nullptr) return out;
  for (const auto* entry = dynamic; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED) out.emplace_back(strings + entry->d_un.d_val);
  return out;
}

/// dl_iterate_phdr names the executable first.
int visit_module(dl_phdr_info* info, std::size_t /*size*/, void* out) {
  auto& modules = *static_cast<std::vector<Module>*>(out);
  Module module;
  if (!modules.empty()) module.path = info->dlpi_name;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const auto address = info->dlpi_addr + segment.p_vaddr;
    const auto here = reinterpret_cast<ElfW(Addr)>(&visit_module);
    module.ours |= segment.p_type == PT_LOAD && here - address < segment.p_memsz;
    if (segment.p_type == PT_NOTE && module.build_id.empty())
      module.build_id = find_in_notes(reinterpret_cast<const char*>(address), segment.p_memsz);
    if (segment.p_type == PT_DYNAMIC && (modules.empty() || module.ours))
      module.needed = needed_by(reinterpret_cast<const ElfW(Dyn)*>(address));
  }
  modules.push_back(std::move(module));
  return 0;
}

}  // namespace

std::vector<BuildPart> build_parts() {
  std::vector<Module> modules;
  dl_iterate_phdr(visit_module, &modules);
  std::vector<BuildPart> out{{"lockstep", hash_file("/proc/self/exe")}};
  std::vector<std::string> needed;
  for (const Module& module : modules)
    for (const std::string& name : module.needed)
      if (std::ranges::find(needed, name) == needed.end()) needed.push_back(name);
  for (const std::string& name : needed) {
    const auto module = std::find_if(modules.begin() + 1, modules.end(),
                                     [&](const Module& m) { return m.name() == name; });
    if (module == modules.end()) continue;  // replaced by one of another name (LD_PRELOAD)
    const std::string& id = module->build_id;
    out.push_back({name, id.empty() ? hash_file(module->path) : hash128(id.data(), id.size())});
  }
  return out;
}

Hash128 build_id() {
  static const Hash128 id = [] {
    Hasher hasher;
    for (const BuildPart& part : build_parts()) hasher.value(part.id);
    return hasher.finish();
  }();
  return id;
}

}  // namespace lockstep

#include "core/base/build_id.h"

#include <link.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

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

/// dl_iterate_phdr names the executable first; the rest is not looked at.
int visit_executable(dl_phdr_info* module, std::size_t /*size*/, void* out) {
  auto& id = *static_cast<std::string*>(out);
  for (int i = 0; i < module->dlpi_phnum && id.empty(); ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      id = find_in_notes(reinterpret_cast<const char*>(module->dlpi_addr + segment.p_vaddr),
                         segment.p_memsz);
  }
  return 1;
}

}  // namespace

Hash128 build_id() {
  std::string id;
  dl_iterate_phdr(visit_executable, &id);
  if (id.empty()) {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    id.assign(std::istreambuf_iterator<char>(file), {});
  }
  return hash128(id.data(), id.size());
}

}  // namespace lockstep

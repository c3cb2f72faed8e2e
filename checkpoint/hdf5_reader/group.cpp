#include "checkpoint/hdf5_reader/group.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "checkpoint/hdf5_reader/btree2.h"
#include "checkpoint/hdf5_reader/fractal_heap.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

class GroupReader {
 public:
  GroupReader(FileRegions& regions, std::string group)
      : regions_(regions), group_(std::move(group)) {}

  std::map<std::string, GroupLink> read(const std::vector<HeaderMessage>& messages) {
    for (const HeaderMessage& message : messages) {
      RegionCursor in(regions_, group_, message.body);
      if (message.kind == HeaderMessage::kLink) read_link(in);
      if (message.kind == HeaderMessage::kLinkInfo) read_link_info(in);
      if (message.kind == HeaderMessage::kSymbolTable) read_symbol_table(in);
    }
    return std::move(links_);
  }

 private:
  void add(std::string name, GroupLink link) {
    // Several links may share the bytes of a name.
    length_ += name.size() + link.target.size();
    if (length_ > regions_.size()) regions_.fail(group_, "its names are longer than the file");
    constexpr std::size_t kLongest = 1024;
    if (name.empty() || name.size() > kLongest)
      regions_.fail(group_, fmt::format("a member has a name of {} bytes", name.size()));
    // Both appear in messages.
    if (std::ranges::any_of(name, is_control))
      regions_.fail(group_, "the name of a member has control characters");
    link.target.resize(std::min(link.target.size(), kLongest));
    std::ranges::replace_if(link.target, is_control, '?');
    if (!links_.emplace(std::move(name), std::move(link)).second)
      regions_.fail(group_, "two members have the same name");
  }

  void read_link_info(RegionCursor in) {
    in.skip(1);
    constexpr unsigned kHasOrder = 1;
    if ((in.number<std::uint8_t>() & kHasOrder) != 0) in.skip(8);
    const auto heap_address = in.number<std::uint64_t>();
    const auto tree = in.number<std::uint64_t>();
    if (heap_address == kUndefined) return;
    const FractalHeap heap(regions_, heap_address, group_);
    for_each_record(regions_, tree, group_, [&](RegionCursor record, int kind) {
      constexpr int kByName = 5;
      if (kind != kByName) record.fail("the tree of its members is of another kind");
      record.skip(4);  // the hash of the name
      const std::optional<RegionCursor> link = heap.find(record.sub(heap.id_bytes()));
      if (!link) record.fail("a member is not in its heap");
      read_link(*link);
    });
  }

  void read_link(RegionCursor in) {
    in.skip(1);
    const unsigned flags = in.number<std::uint8_t>();
    const int type = (flags & 8) != 0 ? in.number<std::uint8_t>() : 0;
    if ((flags & 4) != 0) in.skip(8);   // the order of creation
    if ((flags & 16) != 0) in.skip(1);  // the character set
    const std::uint64_t name_bytes = in.number_of(std::size_t{1} << (flags & 3));
    std::string name = text_of(in.take(name_bytes));
    constexpr int kSoft = 1;
    constexpr int kExternal = 64;
    if (type == 0) {
      add(std::move(name), {GroupLink::Kind::kObject, in.number<std::uint64_t>()});
      return;
    }
    std::string target = text_of(in.take(in.number<std::uint16_t>()));
    if (type == kSoft) {
      add(std::move(name), {GroupLink::Kind::kSoft, 0, std::move(target)});
    } else if (type == kExternal && !target.empty()) {
      // Flags, the file's name, NUL, the object's, NUL.
      target.erase(0, 1);
      const std::size_t end = std::min(target.find('\0'), target.size());
      std::string object = target.substr(std::min(end + 1, target.size()));
      object.resize(std::min(object.find('\0'), object.size()));
      add(std::move(name), {GroupLink::Kind::kExternal, 0, target.substr(0, end) + ": " + object});
    } else {
      add(std::move(name), {GroupLink::Kind::kOther});
    }
  }

  void read_symbol_table(RegionCursor in) {
    const auto tree = in.number<std::uint64_t>();
    constexpr std::uint64_t kHeapBytes = 32;
    const auto head = regions_.read(in.number<std::uint64_t>(), kHeapBytes, group_);
    RegionCursor heap(regions_, group_, head);
    heap.expect("HEAP\0"sv, "the heap of its names");
    heap.skip(3);
    const auto bytes = heap.number<std::uint64_t>();
    heap.skip(8);  // where unused space begins
    names_ = regions_.read(heap.number<std::uint64_t>(), bytes, group_);
    read_tree(tree, std::nullopt);
  }

  // `level` is that of the node; nothing for the root, which states its own.
  void read_tree(std::uint64_t address, std::optional<int> level) {
    constexpr std::uint64_t kPrefixBytes = 24;
    const auto prefix = regions_.read(address, kPrefixBytes, group_);
    RegionCursor in(regions_, group_, prefix);
    in.expect("TREE\0"sv, "the tree of its members");
    const int own_level = in.number<std::uint8_t>();
    if (own_level != level.value_or(own_level)) in.fail("the tree of its members is damaged");
    const std::uint64_t count = in.number<std::uint16_t>();
    const auto children = regions_.read(address + kPrefixBytes, 16 * count, group_);
    RegionCursor rest(regions_, group_, children);
    for (std::uint64_t i = 0; i < count; ++i) {
      rest.skip(8);  // a key
      const auto child = rest.number<std::uint64_t>();
      if (own_level > 0)
        read_tree(child, own_level - 1);
      else
        read_leaf(child);
    }
  }

  void read_leaf(std::uint64_t address) {
    constexpr std::uint64_t kPrefixBytes = 8;
    constexpr std::uint64_t kEntryBytes = 40;
    const auto prefix = regions_.read(address, kPrefixBytes, group_);
    RegionCursor in(regions_, group_, prefix);
    in.expect("SNOD\x01\0"sv, "a list of its members");
    const std::uint64_t count = in.number<std::uint16_t>();
    const auto entries = regions_.read(address + kPrefixBytes, kEntryBytes * count, group_);
    RegionCursor rest(regions_, group_, entries);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto name = rest.number<std::uint64_t>();
      const auto object = rest.number<std::uint64_t>();
      const auto cached = rest.number<std::uint32_t>();
      rest.skip(4);
      RegionCursor scratch = rest.sub(16);
      constexpr std::uint32_t kSoft = 2;
      if (cached == kSoft)
        add(name_at(name), {GroupLink::Kind::kSoft, 0, name_at(scratch.number<std::uint32_t>())});
      else
        add(name_at(name), {GroupLink::Kind::kObject, object});
    }
  }

  std::string name_at(std::uint64_t offset) const {
    if (offset >= names_.size()) regions_.fail(group_, "a name is outside of its heap");
    const auto begin = names_.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto end = std::find(begin, names_.end(), std::byte{0});
    if (end == names_.end()) regions_.fail(group_, "a name is outside of its heap");
    return text_of({begin, end});
  }

  FileRegions& regions_;
  std::string group_;
  std::map<std::string, GroupLink> links_;
  std::uint64_t length_ = 0;      // of all names and targets
  std::vector<std::byte> names_;  // of a symbol table
};

}  // namespace

bool is_group(const std::vector<HeaderMessage>& messages) {
  return std::ranges::any_of(messages, [](const HeaderMessage& message) {
    return message.kind == HeaderMessage::kSymbolTable || message.kind == HeaderMessage::kLinkInfo;
  });
}

std::map<std::string, GroupLink> read_links(FileRegions& regions,
                                            const std::vector<HeaderMessage>& messages,
                                            const std::string& group) {
  return GroupReader(regions, group).read(messages);
}

}  // namespace lockstep

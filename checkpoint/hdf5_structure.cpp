#include "checkpoint/hdf5_structure.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "checkpoint/hdf5_messages.h"
#include "checkpoint/hdf5_reader/file_regions.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;

// Sizes from HDF5's defaults: 2 x 16 children in a node of a group's tree, 2 x 4 in a leaf.
constexpr std::uint64_t kSuperblockBytes = 96;
constexpr std::uint64_t kObjectPrefixBytes = 16;
constexpr std::uint64_t kMessagePrefixBytes = 8;
constexpr std::size_t kTreeChildren = 32;
constexpr std::uint64_t kTreeBytes = 24 + 8 * (2 * kTreeChildren + 1);
constexpr std::size_t kLeafEntries = 8;
constexpr std::uint64_t kLeafBytes = 8 + 40 * kLeafEntries;
constexpr std::uint64_t kHeapBytes = 32;
constexpr std::uint64_t kCollectionPrefixBytes = 16;
constexpr std::ptrdiff_t kMaxDepth = 3;  // "/optimizer/exp_avg/wte.weight"

struct Child {
  std::string name;
  std::uint64_t address;
};

// A global heap collection, and its objects that are not yet taken.
struct Collection {
  std::vector<std::byte> bytes;
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> objects;  // index -> offset, bytes
};

// The messages of one object header.
struct Messages {
  std::optional<StoredType> type;
  std::optional<Shape> shape;
  std::optional<StoredLayout> layout;
  bool has_fill_value = false;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> members;  // tree, heap
  std::vector<StoredAttribute> attributes;
};

class StructureReader {
 public:
  StructureReader(const PosixFile& file, std::uint64_t base)
      : regions_(file, base, "not as lockstep writes it"), base_(base) {}

  std::map<std::string, Hdf5Object> read() {
    read_object(read_superblock(), "/");
    return std::move(objects_);
  }

 private:
  RegionCursor cursor(std::span<const std::byte> bytes, const std::string& path) const {
    return {regions_, path, bytes};
  }

  // Returns the address of the root's object header.
  std::uint64_t read_superblock() {
    const std::string name = "the superblock";
    const auto bytes = regions_.read(0, kSuperblockBytes, name);
    RegionCursor in = cursor(bytes, name);
    in.expect("\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0"sv, "its version");
    in.expect("\x04\0\x10\0\0\0\0\0"sv, "the size of its nodes");
    if (in.number<std::uint64_t>() != base_) in.fail("its base address is not as expected");
    if (in.number<std::uint64_t>() != kNoAddress) in.fail("it has a table of free space");
    if (in.number<std::uint64_t>() != base_ + regions_.size())
      in.fail("its length is not as expected");
    if (in.number<std::uint64_t>() != kNoAddress) in.fail("it names a driver");
    if (in.number<std::uint64_t>() != 0) in.fail("its root has a name");
    return in.number<std::uint64_t>();
  }

  void read_object(std::uint64_t address, const std::string& path) {
    const Messages messages = read_messages(address, path);
    Hdf5Object object;
    if (messages.members.has_value()) {
      if (messages.type || messages.shape || messages.layout || messages.has_fill_value)
        regions_.fail(path, "it is a group and a data set");
    } else if (!messages.type || !messages.shape || !messages.layout || !messages.has_fill_value) {
      regions_.fail(path, "it is neither a group nor a data set");
    } else if (*messages.type == StoredType::kText) {
      fill_text(messages, path, object);
    } else {
      fill_tensor(messages, path, object);
    }
    for (const StoredAttribute& attribute : messages.attributes) {
      if (!object.attributes.emplace(attribute.name, value_of(attribute, path)).second)
        regions_.fail(path, "it has two attributes " + attribute.name);
    }
    if (object.kind == Hdf5Object::Kind::kTensor) resolve_dtype(path, object);
    objects_.emplace(path, std::move(object));
    if (!messages.members.has_value()) return;
    const std::string prefix = path == "/" ? path : path + "/";
    for (const Child& child : read_members(*messages.members, path)) {
      const std::string name = prefix + child.name;
      if (std::count(name.begin(), name.end(), '/') > kMaxDepth)
        regions_.fail(name, "groups are nested too deeply");
      if (objects_.contains(name)) regions_.fail(name, "two objects have this name");
      read_object(child.address, name);
    }
  }

  Messages read_messages(std::uint64_t address, const std::string& path) {
    const auto prefix = regions_.read(address, kObjectPrefixBytes, path);
    RegionCursor in = cursor(prefix, path);
    in.expect("\x01\0"sv, "the version of its header");
    const std::size_t count = in.number<std::uint16_t>();
    if (in.number<std::uint32_t>() != 1) in.fail("more than one link refers to it");
    std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks;  // address, bytes
    blocks.emplace_back(address + kObjectPrefixBytes, in.number<std::uint32_t>());
    Messages out;
    std::size_t found = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto block = regions_.read(blocks[i].first, blocks[i].second, path);
      RegionCursor messages = cursor(block, path);
      while (messages.remaining() >= kMessagePrefixBytes) {
        read_message(messages, path, out, blocks);
        ++found;
      }
      messages.expect_padding();
    }
    if (found != count)
      regions_.fail(path, "its header does not have the stated number of messages");
    return out;
  }

  void read_message(RegionCursor& in, const std::string& path, Messages& out,
                    std::vector<std::pair<std::uint64_t, std::uint64_t>>& blocks) {
    const auto kind = in.number<std::uint16_t>();
    const auto bytes = in.number<std::uint16_t>();
    const auto flags = in.number<std::uint8_t>();
    in.expect("\0\0\0"sv, "a message of its header");
    RegionCursor body = in.sub(bytes);
    if (flags > 1) body.fail("a message of its header is shared or of another kind");
    const auto once = [&](auto& slot, auto value) {
      if (slot.has_value()) body.fail("a message of its header is there twice");
      slot = std::move(value);
    };
    switch (kind) {
      case 0x0000: return;  // unused space
      case 0x0001: return once(out.shape, decode_shape(body));
      case 0x0003: return once(out.type, decode_type(body));
      case 0x0005:
        decode_fill_value(body);
        out.has_fill_value = true;
        return;
      case 0x0008: return once(out.layout, decode_layout(body));
      case 0x000c: out.attributes.push_back(decode_attribute(body)); return;
      case 0x0010: {
        const auto address = body.number<std::uint64_t>();
        blocks.emplace_back(address, body.number<std::uint64_t>());
        return;
      }
      case 0x0011: {
        const auto tree = body.number<std::uint64_t>();
        return once(out.members, std::pair(tree, body.number<std::uint64_t>()));
      }
      default: break;  // numbers that come from the file
    }
    regions_.fail(path, fmt::format("its header has a message of kind {}", kind));
  }

  std::vector<Child> read_members(std::pair<std::uint64_t, std::uint64_t> members,
                                  const std::string& path) {
    const auto head = regions_.read(members.second, kHeapBytes, path);
    RegionCursor in = cursor(head, path);
    in.expect("HEAP\0\0\0\0"sv, "the heap of its names");
    const auto bytes = in.number<std::uint64_t>();
    in.skip(sizeof(std::uint64_t));  // where its unused space begins
    auto names = regions_.read(in.number<std::uint64_t>(), bytes, path);
    std::vector<Child> out;
    read_tree(members.first, std::nullopt, path, names, out);
    return out;
  }

  // `level` is that of the node; nothing for the root, which states its own.
  void read_tree(std::uint64_t address, std::optional<int> level, const std::string& path,
                 std::vector<std::byte>& names, std::vector<Child>& out) {
    const auto bytes = regions_.read(address, kTreeBytes, path);
    RegionCursor in = cursor(bytes, path);
    in.expect("TREE\0"sv, "the tree of its members");
    const int own_level = in.number<std::uint8_t>();
    const std::size_t count = in.number<std::uint16_t>();
    if (own_level != level.value_or(own_level) || count > kTreeChildren)
      in.fail("the tree of its members is damaged");
    in.skip(2 * sizeof(std::uint64_t));  // its siblings
    for (std::size_t i = 0; i < count; ++i) {
      in.skip(sizeof(std::uint64_t));  // a key
      const auto child = in.number<std::uint64_t>();
      if (own_level > 0) {
        read_tree(child, own_level - 1, path, names, out);
      } else {
        read_leaf(child, path, names, out);
      }
    }
  }

  void read_leaf(std::uint64_t address, const std::string& path, std::vector<std::byte>& names,
                 std::vector<Child>& out) {
    const auto bytes = regions_.read(address, kLeafBytes, path);
    RegionCursor in = cursor(bytes, path);
    in.expect("SNOD\x01\0"sv, "a list of its members");
    const std::size_t count = in.number<std::uint16_t>();
    if (count > kLeafEntries) in.fail("a list of its members is too long");
    for (std::size_t i = 0; i < count; ++i) {
      const auto name = in.number<std::uint64_t>();
      const auto child = in.number<std::uint64_t>();
      const auto cached = in.number<std::uint32_t>();
      in.skip(sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t));  // cached facts of a group
      if (name >= names.size()) in.fail("the name of a member is outside the heap");
      const auto begin = names.begin() + static_cast<std::ptrdiff_t>(name);
      const auto end = std::find(begin, names.end(), std::byte{0});
      const std::string text(reinterpret_cast<const char*>(&*begin),
                             static_cast<std::size_t>(end - begin));
      std::fill(begin, end, std::byte{0});  // no two members share the bytes of a name
      if (end == names.end() || !is_storable_name(text)) in.fail("a member has no proper name");
      if (cached > 1) in.fail(text + " is a link and not an object");
      out.push_back({text, child});
    }
  }

  void fill_tensor(const Messages& messages, const std::string& path, Hdf5Object& object) {
    object.kind = Hdf5Object::Kind::kTensor;
    // NOLINTBEGIN(bugprone-unchecked-optional-access): a dataset has all of these
    object.shape = *messages.shape;
    object.dtype = plain_dtype(*messages.type, path);
    const auto elements = static_cast<std::uint64_t>(object.shape.elements());
    const StoredLayout& layout = *messages.layout;
    if (__builtin_mul_overflow(elements, size_of(*messages.type), &object.bytes) ||
        object.bytes != layout.bytes) {
      regions_.fail(path, fmt::format("{} elements are not in {} bytes", elements, layout.bytes));
    }
    // NOLINTEND(bugprone-unchecked-optional-access)
    if (object.bytes == 0) return;
    regions_.claim(layout.address, layout.bytes, path);
    object.offset = base_ + layout.address;
  }

  // resolve_dtype() distinguishes u16 from bf16.
  DType plain_dtype(StoredType type, const std::string& path) const {
    switch (type) {
      case StoredType::kF32: return DType::kF32;
      case StoredType::kF64: return DType::kF64;
      case StoredType::kF16: return DType::kF16;
      case StoredType::kI32: return DType::kI32;
      case StoredType::kI64: return DType::kI64;
      case StoredType::kU8: return DType::kU8;
      case StoredType::kU16: return DType::kBF16;
      case StoredType::kU64:
      case StoredType::kText: break;
    }
    regions_.fail(path, "it is of a type that tensors do not have");
  }

  void resolve_dtype(const std::string& path, Hdf5Object& object) const {
    std::string name;
    for (const auto& [key, value] : object.attributes) {
      const auto* text = std::get_if<std::string>(&value);
      if (key != "dtype" || text == nullptr) regions_.fail(path, "it has an attribute " + key);
      name = *text;
    }
    object.attributes.clear();
    if (object.dtype == DType::kBF16 && name == "bf16") return;
    if (object.dtype == DType::kU8 && name == "bool") {
      object.dtype = DType::kBool;
    } else if (object.dtype == DType::kBF16 || !name.empty()) {
      regions_.fail(path, fmt::format("the attribute dtype = \"{}\" does not fit its type", name));
    }
  }

  void fill_text(const Messages& messages, const std::string& path, Hdf5Object& object) {
    object.kind = Hdf5Object::Kind::kText;
    // NOLINTBEGIN(bugprone-unchecked-optional-access): a dataset has all of these
    if (messages.shape->rank() != 0) regions_.fail(path, "it is an array of texts");
    const StoredLayout& layout = *messages.layout;
    // NOLINTEND(bugprone-unchecked-optional-access)
    if (layout.bytes != size_of(StoredType::kText)) regions_.fail(path, "it is not a text");
    const auto element = regions_.read(layout.address, layout.bytes, path);
    RegionCursor in = cursor(element, path);
    object.text = read_text(decode_text_reference(in), path);
  }

  Hdf5Attribute value_of(const StoredAttribute& attribute, const std::string& path) {
    if (const auto* text = std::get_if<TextReference>(&attribute.value))
      return read_text(*text, path);
    if (const auto* number = std::get_if<double>(&attribute.value)) return *number;
    if (const auto* natural = std::get_if<std::uint64_t>(&attribute.value)) return *natural;
    return std::get<std::int64_t>(attribute.value);
  }

  // Every text of a collection belongs to one object, which takes it from the collection.
  std::string read_text(const TextReference& reference, const std::string& path) {
    Collection& collection = collection_at(reference.address, path);
    const auto found = collection.objects.find(reference.index);
    if (found == collection.objects.end()) regions_.fail(path, "its text is not in the heap");
    const auto [offset, bytes] = found->second;
    if (bytes != reference.bytes) regions_.fail(path, "its text has another length");
    collection.objects.erase(found);
    std::string text(reinterpret_cast<const char*>(collection.bytes.data() + offset), bytes);
    if (text.find('\0') != std::string::npos) regions_.fail(path, "its text holds a NUL");
    return text;
  }

  Collection& collection_at(std::uint64_t address, const std::string& path) {
    const auto found = collections_.find(address);
    if (found != collections_.end()) return found->second;
    const std::string name = fmt::format("the texts at {}", address);
    const auto prefix = regions_.read(address, kCollectionPrefixBytes, name);
    RegionCursor head = cursor(prefix, path);
    head.expect("GCOL\x01\0\0\0"sv, "the heap of its text");
    const auto whole = head.number<std::uint64_t>();
    if (whole < kCollectionPrefixBytes) head.fail("the heap of its text is too short");
    Collection collection;
    collection.bytes =
        regions_.read(address + kCollectionPrefixBytes, whole - kCollectionPrefixBytes, name);
    RegionCursor in = cursor(collection.bytes, path);
    constexpr std::size_t kObjectPrefix = 16;
    constexpr std::uint64_t kPadding = 7;
    while (in.remaining() >= kObjectPrefix) {
      const std::uint32_t index = in.number<std::uint16_t>();
      in.skip(sizeof(std::uint16_t) + sizeof(std::uint32_t));  // references, reserved
      const auto bytes = in.number<std::uint64_t>();
      if (index == 0) break;  // the rest is unused
      const std::size_t offset = collection.bytes.size() - in.remaining();
      if (bytes > in.remaining()) in.fail("the heap of its text is damaged");
      in.skip(std::min<std::uint64_t>((bytes + kPadding) & ~kPadding, in.remaining()));
      if (!collection.objects.emplace(index, std::pair(offset, bytes)).second)
        in.fail("the heap of its text is damaged");
    }
    return collections_.emplace(address, std::move(collection)).first->second;
  }

  FileRegions regions_;
  std::uint64_t base_;
  std::map<std::string, Hdf5Object> objects_;
  std::map<std::uint64_t, Collection> collections_;
};

}  // namespace

std::map<std::string, Hdf5Object> read_structure(const PosixFile& file, std::uint64_t base) {
  return StructureReader(file, base).read();
}

}  // namespace lockstep

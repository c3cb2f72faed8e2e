#include "collectives/algorithms.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "collectives/tree_sum.h"

namespace lockstep {
namespace {

// Bytes that one member sums at a time. Measured on 2 ranks over OpenMPI's shared memory: smaller
// pieces cost latency, larger ones leave the cache.
constexpr std::int64_t kPieceBytes = std::int64_t{512} * 1024;
// Above this a broadcast is a scatter and a gather, so that the root does not send all of it to
// every member.
constexpr std::int64_t kScatterBytes = std::int64_t{64} * 1024;

std::span<std::byte> range(std::byte* data, std::int64_t begin, std::int64_t bytes) {
  return {data + begin, static_cast<std::size_t>(bytes)};
}

std::span<const std::byte> range(const std::byte* data, std::int64_t begin, std::int64_t bytes) {
  return {data + begin, static_cast<std::size_t>(bytes)};
}

/// Operands and result are the caller's data.
class InPlace final : public Addends {
 public:
  InPlace(std::byte* data, std::size_t width)
      : data_(data), width_(static_cast<std::int64_t>(width)) {}
  const std::byte* part(int, Slice elements) override { return result(elements); }
  std::byte* result(Slice elements) override { return data_ + elements.begin * width_; }
  void store(Slice) override {}

 private:
  std::byte* data_;
  std::int64_t width_;
};

/// One all_reduce.
class AllReduce {
 public:
  AllReduce(const Group& group, const Leaves& leaves, DType dtype, Addends& addends)
      : group_(group), leaves_(leaves), dtype_(dtype), addends_(addends) {
    for (const std::vector<std::int64_t>& of_member : leaves)
      leaves_in_order_.insert(leaves_in_order_.end(), of_member.begin(), of_member.end());
  }

  void run(std::int64_t count, Scratch& scratch) {
    const std::int64_t piece = piece_elements(group_.size(), dtype_);
    Slice summed{};
    for (std::int64_t begin = 0; begin < count; begin += piece) {
      const Slice current{begin, std::min(count, begin + piece)};
      exchange_parts(current, scratch);
      // The sums of the previous piece are sent with this one, instead of in a phase of their own.
      if (summed.size() > 0) start_gather(summed);
      group_.finish();
      if (summed.size() > 0) addends_.store(summed);
      sum(own(current));
      summed = current;
    }
    start_gather(summed);
    group_.finish();
    addends_.store(summed);
  }

 private:
  std::int64_t width() const { return static_cast<std::int64_t>(size_of(dtype_)); }
  int parts_of(int member) const {
    return static_cast<int>(leaves_[static_cast<std::size_t>(member)].size());
  }
  /// The slice of a piece that `member` sums.
  Slice share(Slice piece, int member) const {
    const Slice s = slice_of(piece.size(), group_.size(), member, size_of(dtype_));
    return {piece.begin + s.begin, piece.begin + s.end};
  }
  Slice own(Slice piece) const { return share(piece, group_.self()); }

  /// Starts to send to each member the operands of its share, and to receive those of this one's.
  void exchange_parts(Slice piece, Scratch& scratch) {
    const std::int64_t bytes = own(piece).size() * width();
    constexpr auto kLine = static_cast<std::int64_t>(Buffer::kAlignment);
    const std::int64_t stride = (bytes + kLine - 1) / kLine * kLine;
    std::byte* received = scratch.get(stride * static_cast<std::int64_t>(leaves_in_order_.size()));
    operands_.clear();
    std::vector<std::byte*> first(static_cast<std::size_t>(group_.size()));  // per member
    for (int member = 0; member < group_.size(); ++member) {
      first[static_cast<std::size_t>(member)] = received;
      for (int part = 0; part < parts_of(member); ++part, received += stride)
        operands_.push_back(received);
    }
    group_.for_each_peer([&](int to, int from) {
      for (int part = 0; part < parts_of(from); ++part)
        group_.receive(from, range(first[static_cast<std::size_t>(from)], part * stride, bytes));
      const Slice theirs = share(piece, to);
      for (int part = 0; part < parts_of(group_.self()); ++part)
        group_.send(to, range(addends_.part(part, theirs), 0, theirs.size() * width()));
    });
    const auto own_begin = static_cast<std::size_t>(
        (first[static_cast<std::size_t>(group_.self())] - first[0]) / std::max(stride, kLine));
    for (int part = 0; part < parts_of(group_.self()); ++part)
      operands_[own_begin + static_cast<std::size_t>(part)] = addends_.part(part, own(piece));
  }

  void sum(Slice elements) {
    if (elements.size() == 0) return;
    tree_sum(dtype_, operands_, leaves_in_order_, addends_.result(elements), elements.size());
  }

  void start_gather(Slice piece) {
    group_.for_each_peer([&](int to, int from) {
      const Slice theirs = share(piece, from);
      const Slice mine = own(piece);
      group_.receive(from, range(addends_.result(theirs), 0, theirs.size() * width()));
      group_.send(to, range(addends_.result(mine), 0, mine.size() * width()));
    });
  }

  const Group& group_;
  const Leaves& leaves_;
  DType dtype_;
  Addends& addends_;
  std::vector<std::int64_t> leaves_in_order_;
  std::vector<const std::byte*> operands_;
};

/// The lowest bit that is set; `n` for 0.
int lowest_bit(int value, int n) {
  return value == 0 ? n : value & -value;
}

/// "length, bytes" of each.
std::string pack(const std::vector<std::string>& strings) {
  std::string out;
  for (const std::string& s : strings) {
    const auto length = static_cast<std::uint64_t>(s.size());
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    out += s;
  }
  return out;
}

std::vector<std::string> unpack(const std::string& packed) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < packed.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, packed.data() + at, sizeof length);
    out.push_back(packed.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  return out;
}

void send_string(const Group& group, int to, const std::string& s) {
  const auto length = static_cast<std::uint64_t>(s.size());
  group.send(to, std::as_bytes(std::span(&length, 1)));
  group.send(to, std::as_bytes(std::span<const char>(s)));
  group.finish();
}

std::string receive_string(const Group& group, int from) {
  std::uint64_t length = 0;
  group.receive(from, std::as_writable_bytes(std::span(&length, 1)));
  group.finish();
  std::string out(length, '\0');
  group.receive(from, std::as_writable_bytes(std::span<char>(out)));
  group.finish();
  return out;
}

/// A binomial tree with member 0 at its root: child(c) for each child of this member, from the one
/// with the smallest subtree on; then parent(p), unless it is the root.
template <class Child, class Parent>
void towards_root(const Group& group, const Child& child, const Parent& parent) {
  const int self = group.self();
  for (int bit = 1; bit < lowest_bit(self, group.size()); bit *= 2)
    if (self + bit < group.size()) child(self + bit);
  if (self != 0) parent(self - lowest_bit(self, 0));
}

/// The same in the other direction.
template <class Parent, class Child>
void from_root(const Group& group, const Parent& parent, const Child& child) {
  const int self = group.self();
  if (self != 0) parent(self - lowest_bit(self, 0));
  std::vector<int> children;
  for (int bit = 1; bit < lowest_bit(self, group.size()); bit *= 2)
    if (self + bit < group.size()) children.push_back(self + bit);
  for (auto c = children.rbegin(); c != children.rend(); ++c) child(*c);
}

}  // namespace

std::int64_t piece_elements(int members, DType dtype) {
  return kPieceBytes / static_cast<std::int64_t>(size_of(dtype)) * members;
}

std::byte* Scratch::get(std::int64_t bytes) {
  const auto wanted = static_cast<std::size_t>(bytes);
  if (buffer == nullptr || buffer->bytes() < wanted) buffer = allocate_host(wanted);
  return buffer->data();
}

void all_reduce(const Group& group, const Leaves& leaves, DType dtype, std::int64_t count,
                Addends& addends, Scratch& scratch) {
  if (count > 0) AllReduce(group, leaves, dtype, addends).run(count, scratch);
}

void all_reduce(const Group& group, DType dtype, std::byte* data, std::int64_t count,
                Scratch& scratch) {
  if (group.size() == 1) return;
  InPlace addends(data, size_of(dtype));
  const Leaves leaves(static_cast<std::size_t>(group.size()), {1});
  all_reduce(group, leaves, dtype, count, addends, scratch);
}

void reduce_scatter(const Group& group, DType dtype, std::byte* data, std::int64_t count,
                    Scratch& scratch) {
  if (group.size() == 1) return;
  const auto width = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t piece = kPieceBytes / width;
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t length = std::min(piece, count - begin);
    const auto part = [&](int member) {
      return range(data, (group.rank(member) * count + begin) * width, length * width);
    };
    std::byte* received = scratch.get(length * width * group.size());
    std::vector<const std::byte*> operands;
    operands.reserve(static_cast<std::size_t>(group.size()));
    for (int member = 0; member < group.size(); ++member)
      operands.push_back(member == group.self() ? part(member).data()
                                                : received + member * length * width);
    group.for_each_peer([&](int to, int from) {
      group.receive(from, range(received, from * length * width, length * width));
      group.send(to, part(to));
    });
    group.finish();
    tree_sum(dtype, operands, part(group.self()).data(), length);
  }
}

void all_gather(const Group& group, std::byte* data, std::int64_t bytes) {
  group.for_each_peer([&](int to, int from) {
    group.receive(from, range(data, from * bytes, bytes));
    group.send(to, range(data, group.self() * bytes, bytes));
  });
  group.finish();
}

void broadcast(const Group& group, std::byte* data, std::int64_t bytes, int root) {
  const bool is_root = group.self() == root;
  if (group.size() <= 2 || bytes <= kScatterBytes) {
    if (!is_root) group.receive(root, range(data, 0, bytes));
    group.for_each_peer([&](int to, int) {
      if (is_root) group.send(to, range(data, 0, bytes));
    });
    group.finish();
    return;
  }
  const auto share = [&](int member) {
    const Slice s = slice_of(bytes, group.size(), member, 1);
    return range(data, s.begin, s.size());
  };
  if (!is_root) group.receive(root, share(group.self()));
  group.for_each_peer([&](int to, int) {
    if (is_root) group.send(to, share(to));
  });
  group.finish();
  group.for_each_peer([&](int to, int from) {
    if (!is_root) group.receive(from, share(from));
    if (to != root) group.send(to, share(group.self()));
  });
  group.finish();
}

std::vector<std::string> gather_strings(const Group& group, const std::string& mine) {
  // A member's subtree is the members behind it, so that strings are appended in order.
  std::vector<std::string> strings = {mine};
  towards_root(
      group,
      [&](int child) {
        for (std::string& s : unpack(receive_string(group, child))) strings.push_back(std::move(s));
      },
      [&](int parent) { send_string(group, parent, pack(strings)); });
  std::string all = pack(strings);
  from_root(
      group, [&](int parent) { all = receive_string(group, parent); },
      [&](int child) { send_string(group, child, all); });
  return unpack(all);
}

void tree_combine(const Group& group, std::span<std::byte> value, std::span<std::byte> other,
                  const std::function<void()>& combine) {
  towards_root(
      group,
      [&](int child) {
        group.receive(child, other);
        group.finish();
        combine();
      },
      [&](int parent) {
        group.send(parent, value);
        group.finish();
      });
  from_root(
      group,
      [&](int parent) {
        group.receive(parent, value);
        group.finish();
      },
      [&](int child) {
        group.send(child, value);
        group.finish();
      });
}

}  // namespace lockstep

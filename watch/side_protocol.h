// The protocol between the nodes of a job and its hubs (side_hub.h, side_link.h), over TCP.
//
// The job's secret is its token. `lockstep launch` gives it to the ranks in their environment;
// without it, rank 0 gives it by MPI. It is never sent over a connection of this protocol:
//
//   hub -> node   a nonce: 16 random bytes
//   node -> hub   a nonce, and HMAC(token, "hello" | both nonces)
//   then, both    frames: a length (u32, little-endian, at most NodeFrame::kBytes), so many bytes,
//                 and the seal HMAC(session, sender | number of the frame | bytes)
//
// HMAC is HMAC-SHA256, `session` is HMAC(token, "session" | both nonces), and each sender numbers
// its frames on a connection from 0 on; numbers are not sent.
//
// Guaranteed: a frame that is accepted was sent by a process that has the token, on this
// connection, at this place of the sequence. A changed, repeated, reordered or reflected frame, or
// one of another connection, ends the connection. What strangers take of a hub is bounded
// (side_hub.h). Not guaranteed: secrecy of the reports, and that they arrive. Who stands between
// two hosts can read them, hold them back, or cut the connection, as a bad network would. Who can
// read the environment of a rank or MPI's own messages has the token, and with it the job: MPI has
// no secrets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

using SideToken = std::array<std::uint8_t, 16>;
using SideNonce = std::array<std::uint8_t, 16>;
using SideSeal = std::array<std::uint8_t, 32>;

/// Make a token and a nonce from the system's random numbers.
SideToken make_side_token();
SideNonce make_side_nonce();
/// 32 hexadecimal digits, as in LOCKSTEP_WATCH_TOKEN.
std::string to_hex(const SideToken& token);
/// Error kUsage for anything else.
SideToken parse_side_token(const std::string& hex);

/// What the node answers to the hub's nonce: its own nonce, and what proves that it has the token.
constexpr std::size_t kHelloBytes = sizeof(SideNonce) + sizeof(SideSeal);
std::string make_hello(const SideToken& token, const SideNonce& of_hub, const SideNonce& of_node);
/// Whether somebody who has the token answered this nonce.
bool is_hello(std::string_view hello, const SideToken& token, const SideNonce& of_hub);

/// A TCP socket for either end, which does not block, and which programs that this process starts
/// do not inherit. -1 if there is none.
int open_side_socket(bool is_v6);

enum class SideSender : std::uint8_t { kHub, kNode };

/// The frames that one side of a connection sends: made there, checked on the other side.
class SealedFrames {
 public:
  static constexpr std::size_t kLengthBytes = 4;

  /// `hello`: that of the connection.
  SealedFrames(const SideToken& token, const SideNonce& of_hub, std::string_view hello,
               SideSender sender);

  /// The next frame, with its length and seal.
  std::string make(std::string_view bytes);
  /// The bytes of a frame that begins with this length, with its seal; 0 for a length that no frame
  /// has.
  static std::size_t rest_bytes(const std::array<unsigned char, kLengthBytes>& length);
  /// Whether this is the next frame, without its length. `rest` then loses its seal.
  bool take(std::string& rest);

 private:
  SideSeal next_seal(std::string_view bytes);

  SideSeal session_;
  SideSender sender_;
  std::uint64_t number_ = 0;
};

}  // namespace lockstep

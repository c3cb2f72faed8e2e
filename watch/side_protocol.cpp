#include "watch/side_protocol.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "watch/node_frame.h"

namespace lockstep {
namespace {

template <std::size_t kSize>
std::string_view view_of(const std::array<std::uint8_t, kSize>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <std::size_t kSize>
std::array<std::uint8_t, kSize> random_bytes() {
  std::array<std::uint8_t, kSize> out{};
  if (::getrandom(out.data(), out.size(), 0) != static_cast<ssize_t>(out.size()))
    raise_errno(ErrorKind::kInternal, "cannot get random numbers");
  return out;
}

std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

/// A use of the token for one pair of nonces.
SideSeal keyed(const SideToken& token, std::string_view use, std::string_view of_hub,
               std::string_view of_node) {
  return hmac_sha256(view_of(token), fmt::format("{}{}{}", use, of_hub, of_node));
}

}  // namespace

SideToken make_side_token() {
  return random_bytes<sizeof(SideToken)>();
}

SideNonce make_side_nonce() {
  return random_bytes<sizeof(SideNonce)>();
}

std::string to_hex(const SideToken& token) {
  return to_hex(token.data(), token.size());
}

SideToken parse_side_token(const std::string& hex) {
  SideToken out{};
  const bool digits = hex.find_first_not_of("0123456789abcdef") == std::string::npos;
  LS_USER_CHECK(digits && hex.size() == 2 * out.size(),
                "LOCKSTEP_WATCH_TOKEN must be 32 hexadecimal digits");
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return out;
}

std::string make_hello(const SideToken& token, const SideNonce& of_hub, const SideNonce& of_node) {
  std::string out(view_of(of_node));
  out += view_of(keyed(token, "hello", view_of(of_hub), view_of(of_node)));
  return out;
}

bool is_hello(std::string_view hello, const SideToken& token, const SideNonce& of_hub) {
  if (hello.size() != kHelloBytes) return false;
  const std::string_view of_node = hello.substr(0, sizeof(SideNonce));
  return equal_secretly(hello.substr(of_node.size()),
                        view_of(keyed(token, "hello", view_of(of_hub), of_node)));
}

int open_side_socket(bool is_v6) {
  return ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

SealedFrames::SealedFrames(const SideToken& token, const SideNonce& of_hub, std::string_view hello,
                           SideSender sender)
    : session_(keyed(token, "session", view_of(of_hub), hello.substr(0, sizeof(SideNonce)))),
      sender_(sender) {}

SideSeal SealedFrames::next_seal(std::string_view bytes) {
  std::string message(1, static_cast<char>(sender_));
  message += little_endian(number_++, sizeof number_);
  message += bytes;
  return hmac_sha256(view_of(session_), message);
}

std::string SealedFrames::make(std::string_view bytes) {
  std::string out = little_endian(bytes.size(), kLengthBytes);
  out += bytes;
  out += view_of(next_seal(bytes));
  return out;
}

std::size_t SealedFrames::rest_bytes(const std::array<unsigned char, kLengthBytes>& length) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < length.size(); ++i) bytes |= std::size_t{length[i]} << (8 * i);
  return bytes > NodeFrame::kBytes ? 0 : bytes + sizeof(SideSeal);
}

bool SealedFrames::take(std::string& rest) {
  LS_CHECK(rest.size() >= sizeof(SideSeal), "a frame of {} bytes has no seal", rest.size());
  const std::string seal = rest.substr(rest.size() - sizeof(SideSeal));
  rest.resize(rest.size() - sizeof(SideSeal));
  return equal_secretly(seal, view_of(next_seal(rest)));
}

}  // namespace lockstep

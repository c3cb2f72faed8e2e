// What mpirun itself writes to standard error, among what its ranks write there, and is no news to
// a user of `lockstep launch`: that a rank has ended with an exit code, which every save on a
// signal does, and that a signal is forwarded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Drops those remarks from a stream; everything else comes through unchanged, and at once unless
/// it may be the beginning of one.
class MpirunRemarks {
 public:
  /// The next bytes of the stream; returns those that are to be written now.
  std::string take(std::string_view bytes);

  /// Whether something is held back until more is known.
  bool holds() const { return !held_.empty(); }

  /// Returns what is held back: nothing has followed for a while, or the stream has ended.
  std::string release();

  /// The hosts whose daemon mpirun has lost, by its messages so far.
  const std::vector<std::string>& lost_hosts() const { return lost_hosts_; }

 private:
  void take_line(std::string& out);

  std::vector<std::string> lost_hosts_;
  std::string held_;            ///< a block so far, or a line that may be a remark
  std::size_t line_begin_ = 0;  ///< of the last line in held_
  bool in_block_ = false;       ///< held_ begins with a rule
  bool in_other_line_ = false;  ///< the current line comes through
};

}  // namespace lockstep

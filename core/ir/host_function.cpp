#include "core/ir/host_function.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

#include "core/base/error.h"
#include "core/base/host_memory.h"
#include "core/base/thread_pool.h"
#include "core/ir/type_list.h"

namespace lockstep {
namespace {

constexpr std::size_t kMaxNameBytes = 200;
constexpr std::int64_t kMaxVersion = std::int64_t{1} << 20;  // the limit of the text form

std::string describe(std::string_view name, std::int64_t version) {
  return fmt::format("{} version {}", name, version);
}

/// The place where the call was recorded, if it is known.
std::string prefix_of(const Node& node) {
  const bool known = !node.origin.file.empty() || !node.origin.scope.empty();
  return known ? node.origin.to_string() + ": " : "";
}

std::vector<HostTensor> make_results(const std::vector<Type>& types) {
  std::vector<HostTensor> out;
  for (const Type& type : types) {
    HostTensor& result = out.emplace_back(type.dtype, type.shape);
    std::ranges::fill(result.bytes(), std::byte{0});
  }
  return out;
}

bool has_other_bools(const HostTensor& tensor) {
  if (tensor.dtype() != DType::kBool) return false;
  return std::ranges::any_of(tensor.bytes(), [](std::byte b) { return b > std::byte{1}; });
}

/// The error in the results; empty if there is none.
std::string find_wrong(const std::vector<HostTensor>& results, const std::vector<Type>& types) {
  for (std::size_t k = 0; k < types.size(); ++k) {
    if (results[k].empty())
      return fmt::format("result {} is not a tensor, but {} was stated", k, types[k].to_string());
    const Type made{results[k].dtype(), results[k].shape()};
    if (made != types[k])
      return fmt::format("result {} is {}, but {} was stated", k, made.to_string(),
                         types[k].to_string());
    if (has_other_bools(results[k]))
      return fmt::format("result {} holds a bool that is neither 0 nor 1", k);
  }
  return "";
}

}  // namespace

void HostFunction::check() const {
  LS_USER_CHECK(!name().empty() && name().size() <= kMaxNameBytes,
                "a host function needs a name of 1 to {} bytes, not '{}'", kMaxNameBytes, name());
  LS_USER_CHECK(version() >= 1 && version() <= kMaxVersion,
                "the version of host function {} must be 1 to {}, not {}", name(), kMaxVersion,
                version());
}

std::string HostFunction::to_string() const {
  return describe(name(), version());
}

std::vector<HostTensor> HostFunction::call(const Node& node,
                                           std::span<const HostTensor> operands) const {
  const std::vector<Type> types = read_type_list(node.attrs.ints(Attr::kResults));
  std::vector<HostTensor> results = make_results(types);
  const auto fail = [&](ErrorKind kind, std::string_view what) {
    raise(kind, "{}host_call {}: {}", prefix_of(node), to_string(), what);
  };
  try {
    const DenormalsKept exact;
    state_->body(operands, results);
  } catch (const Error& e) {
    fail(e.kind(), e.what());
  } catch (const std::exception& e) {
    const std::optional<Error> memory = memory_error(e);
    fail(memory ? memory->kind() : ErrorKind::kUsage, memory ? memory->what() : e.what());
  } catch (...) {
    fail(ErrorKind::kUsage, "it threw an object that is not a std::exception");
  }
  if (const std::string wrong = find_wrong(results, types); !wrong.empty())
    fail(ErrorKind::kUsage, wrong);
  return results;
}

bool operator==(const HostFunction& a, const HostFunction& b) {
  if (a.state_ == b.state_) return true;
  const HostFunction::Code& x = a.state_->code;
  const HostFunction::Code& y = b.state_->code;
  return a.name() == b.name() && a.version() == b.version() && x.type != nullptr &&
         y.type != nullptr && *x.type == *y.type && x.address == y.address;
}

void HostFunctions::add(const HostFunction& function) {
  const auto [found, is_new] =
      functions_.try_emplace({function.name(), function.version()}, function);
  LS_USER_CHECK(is_new || found->second == function,
                "there is another host function {} already: raise the version if the code changed; "
                "make a function that captures variables once, and keep it",
                function.to_string());
}

const HostFunction& HostFunctions::find(const Node& host_call) const {
  const std::string name = host_call.attrs.text(Attr::kFunction);
  const std::int64_t version = host_call.attrs.integer(Attr::kVersion);
  const auto found = functions_.find({name, version});
  if (found != functions_.end()) return found->second;
  std::string known;
  for (const auto& [key, function] : functions_)
    known += (known.empty() ? "" : ", ") + function.to_string();
  raise(ErrorKind::kUsage,
        "{}the host function {} is not registered here ({}): it is code of the program that "
        "recorded the call",
        prefix_of(host_call), describe(name, version),
        known.empty() ? "none is" : known + (functions_.size() == 1 ? " is" : " are"));
}

void require_host_functions(const Graph& graph, const HostFunctions& functions) {
  for (const Node& node : graph.nodes) {
    if (node.op == Op::kHostCall) (void)functions.find(node);
    if (node.body != nullptr) require_host_functions(*node.body, functions);
  }
}

}  // namespace lockstep

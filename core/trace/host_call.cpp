#include "core/trace/host_call.h"

#include "core/base/error.h"
#include "core/ir/type_list.h"
#include "core/trace/context.h"
#include "core/trace/cut_trace.h"

namespace lockstep {

Tensor host_call(const HostFunction& function, ArrayRef<Tensor> operands, const Type& result,
                 Where where) {
  return host_call(function, operands, ArrayRef<Type>(&result, 1), where)[0];
}

std::vector<Tensor> host_call(const HostFunction& function, ArrayRef<Tensor> operands,
                              ArrayRef<Type> results, Where where) {
  LS_USER_CHECK(!operands.empty(), "{}: a call of {} without operands: record a constant",
                origin_of(where).to_string(), function.to_string());
  TraceContext& context = context_of_all(function.to_string(), operands, where);
  const LocationScope line(context, where);
  LS_USER_CHECK(!results.empty(), "{}: the call of {} states no result",
                context.origin().to_string(), function.to_string());
  try {
    context.host_functions().add(function);
  } catch (const Error& e) {
    throw Error(e.kind(), fmt::format("{}: {}", context.origin().to_string(), e.what()));
  }
  Attrs attrs;
  attrs.set_text(Attr::kFunction, function.name());
  attrs.set_int(Attr::kVersion, function.version());
  attrs.set(Attr::kResults, write_type_list(results));
  return context.record_host_call(std::move(attrs), operands);
}

}  // namespace lockstep

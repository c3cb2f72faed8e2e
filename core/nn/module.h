// Modules: the parts of a model. A module declares parameters and buffers under its path and holds
// its children as members, each built with its parent and a name:
//
//   struct Net : Module {
//     Linear in{*this, "in", 2, 16}, out{*this, "out", 16, 1};
//     Tensor operator()(const Tensor& x) const { return out(relu(in(x))); }
//   };
//
// A module only declares parameters. A Trainer, or Session::initialize(), gives them values, which
// live as long as the session: using a module before or after that is an error. Paths are also the
// names in checkpoints: "in.weight", "h.0.attn.c_attn.bias".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/api.h"
#include "core/nn/module_buffer.h"
#include "core/nn/parameter.h"
#include "core/trace/context.h"

namespace LOCKSTEP_API lockstep {

/// A part of a model: parameters, buffers and children; module.h has an example. Neither copied nor
/// moved: children and layers refer to their parents.
class Module {
 public:
  /// A model's outermost module. Its path is empty.
  Module();
  /// A part of `parent`, at `parent's path`.`name`. The parent must outlive it.
  Module(Module& parent, std::string_view name);
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Names from the outermost module to this one: "h.0.attn".
  const std::string& path() const { return path_; }

  /// The parameters of the whole model that this module is a part of, in the order of declaration.
  ParameterSet& parameters() { return *parameters_; }
  const ParameterSet& parameters() const { return *parameters_; }  ///< likewise
  ModuleBufferSet& buffers() { return *buffers_; }  ///< the buffers of the whole model likewise
  const ModuleBufferSet& buffers() const { return *buffers_; }  ///< likewise

  /// Whether the parameters below this module are trained; one that is not has no gradient and no
  /// optimizer state. Call it before a Trainer is made.
  void set_trainable(bool trainable);
  /// Puts the parameters below this module into a group of their own, see TrainerOptions::groups.
  void set_group(std::string_view group);
  /// The same for those below this module that have no group yet and whose names match one of the
  /// patterns: '*' stands for any text, '?' for a character, [0-5] for one of a set. Error kUsage,
  /// which begins with `setting` and has the nearest names, for a pattern that matches none, even
  /// with a group.
  void set_group(std::string_view group, const std::vector<std::string>& patterns,
                 std::string_view setting = "Module::set_group()");

  /// New nodes belong to this module while the result lives:
  ///   const ModuleScope scope = enter(x);
  /// x is a tensor that the module is called with. Error kUsage with the line if it is undefined.
  ModuleScope enter(const Operand& x) const;
  /// The same for a layer, whose nodes show the line that calls it, not their own.
  ModuleScope enter(const Tensor& x, Where where) const;

 protected:
  /// Declares `path().name`. Error kUsage for a name that exists. The reference stays valid.
  Parameter& parameter(std::string_view name, const Shape& shape, ParameterKind kind,
                       Initializer initializer);
  /// State that is not trained, see module_buffer.h.
  ModuleBuffer& buffer(std::string_view name, HostTensor initial);
  /// path().name, or the name alone in an outermost module.
  std::string path_of(std::string_view name) const;
  /// The path; for an outermost module a name that stands for it.
  std::string_view call_name() const;

 private:
  bool is_below(std::string_view name) const;

  struct Declared;
  std::unique_ptr<Declared> owned_;  ///< of an outermost module
  ParameterSet* parameters_;
  ModuleBufferSet* buffers_;
  std::string path_;
};

/// Modules of one type, at `parent's path`.`name`.0, .1, ...
template <class M>
class ModuleList final : public Module {
 public:
  using Module::Module;

  /// Appends M(*this, "<number>", arguments...).
  template <class... Arguments>
  M& add(Arguments&&... arguments) {
    modules_.push_back(std::make_unique<M>(*this, std::to_string(modules_.size()),
                                           std::forward<Arguments>(arguments)...));
    return *modules_.back();
  }
  std::size_t size() const { return modules_.size(); }  ///< number of modules
  /// Module number i; std::out_of_range beyond the last.
  const M& operator[](std::size_t i) const { return *modules_.at(i); }

  /// Goes over the modules in order.
  class Iterator {
   public:
    explicit Iterator(const std::unique_ptr<M>* at) : at_(at) {}  ///< at this module
    const M& operator*() const { return **at_; }                  ///< the module here
    /// Goes to the next module.
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    /// Whether they are at different modules.
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const std::unique_ptr<M>* at_;
  };
  Iterator begin() const { return Iterator(modules_.data()); }  ///< the first module
  /// Behind the last module.
  Iterator end() const { return Iterator(modules_.data() + modules_.size()); }

 private:
  std::vector<std::unique_ptr<M>> modules_;
};

}  // namespace lockstep

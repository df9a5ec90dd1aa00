// Modules: value structs whose parameters are visited by name.
//
//   struct Gate {
//     nn::Linear up, down;
//     static void members(auto& self, auto&& visitor) {
//       visitor("up", self.up);
//       visitor("down", self.down);
//     }
//   };
//
// That is all a module declares; names are joined with dots ("up.weight"), elements of a vector are
// named by their index ("layers.0.up.weight"). Members are parameters, modules, and optionals,
// pointers and ranges of them. A parameter is an Array or a typed tensor made by require_grad(): it
// keeps its id when it is assign()ed to. A member without a value (a bias that is not there) is no
// parameter. Copies of a module share its arrays, which never change.
//
// Running statistics and the like are buffers, declared by `visitor.buffer("mean", self.mean)`:
// they are saved and loaded with the parameters, and neither trained nor counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/tensor/types.h"

namespace hearth {
inline namespace v0 {

class QuantizedArray;

// A parameter or buffer that lives elsewhere: of a module, by its name there, or a loose one.
struct Parameter {
  Parameter(std::string its_name, Array* its_array, bool its_is_buffer = false)
      : name(std::move(its_name)), array(its_array), is_buffer(its_is_buffer) {}
  Parameter(Array& loose) : array(&loose) {}  // NOLINT(google-explicit-constructor)
  template <int Rank, TensorKind K>
  Parameter(Tensor<Rank, K>& loose)  // NOLINT(google-explicit-constructor)
      : array(&tensor_detail::Access::array(loose)) {}

  std::string name;
  Array* array;
  bool is_buffer = false;
};

struct NamedArray {
  std::string name;
  Array array;
};
using NamedArrays = std::vector<NamedArray>;

namespace parameter_detail {

// Optionals and pointers.
template <class Member>
concept MaybeMember = !std::is_array_v<Member> && requires(Member& member) {
  *member;
  static_cast<bool>(member);
};

// Whether a type is a range of arrays or tensors themselves.
template <class Range>
inline constexpr bool kHoldsTensors =
    !tensor_detail::kIsTensor<std::remove_cvref_t<Range>> && requires(Range& range) {
      requires std::is_same_v<std::remove_cvref_t<decltype(*std::begin(range))>, Array> ||
                   tensor_detail::kIsTensor<std::remove_cvref_t<decltype(*std::begin(range))>>;
    };

// Whether a type is a rate, parameters or a module.
template <class T>
inline constexpr bool kIsSteppedBy =
    std::is_arithmetic_v<std::remove_cvref_t<T>> ||
    std::is_same_v<std::remove_cvref_t<T>, std::vector<Parameter>> ||
    requires(std::remove_cvref_t<T>& module) {
      std::remove_cvref_t<T>::members(module, [](std::string_view, auto&) {});
    };

// Whether a type has members to be visited but is no value itself, as an array or a tensor is.
template <class T>
inline constexpr bool kHoldsMembers =
    !std::is_const_v<T> && !std::is_same_v<T, Array> && !std::is_same_v<T, QuantizedArray> &&
    !std::is_same_v<T, std::vector<Parameter>> &&
    !requires(const T& value, Device device) { value.to_device(device); } &&
    (MaybeMember<T> || requires(T& module) { std::begin(module); } ||
     requires(T& module) { T::members(module, [](std::string_view, auto&) {}); });

template <class F>
struct Walk {
  F& f;
  std::string path;
  bool is_in_buffer = false;

  template <class Member>
  void operator()(std::string_view name, Member& member) {
    const std::size_t length = path.size();
    if (!path.empty()) path += '.';
    path += name;
    visit_here(member);
    path.resize(length);
  }

  template <class Member>
  void buffer(std::string_view name, Member& member) {
    const bool was_in_buffer = std::exchange(is_in_buffer, true);
    (*this)(name, member);
    is_in_buffer = was_in_buffer;
  }

  template <class Member>
  using Module = std::remove_const_t<Member>;

  template <class Member>
  void visit_here(Member& member) {
    if constexpr (std::is_same_v<std::remove_const_t<Member>, Array>) {
      if (!member.defined()) return;
      const std::string& name = path;
      if constexpr (std::is_invocable_v<F&, const std::string&, Member&, bool>) {
        f(name, member, is_in_buffer);
      } else {
        f(name, member);
      }
    } else if constexpr (tensor_detail::kIsTensor<std::remove_const_t<Member>>) {
      visit_here(tensor_detail::Access::array(member));
    } else if constexpr (requires(Walk& walk) { Module<Member>::members(member, walk); }) {
      Module<Member>::members(member, *this);
    } else if constexpr (MaybeMember<Member>) {
      if (member) visit_here(*member);
    } else if constexpr (requires { std::begin(member); }) {
      std::size_t index = 0;
      for (auto& element : member) (*this)(std::to_string(index++), element);
    } else {
      static_assert(tensor_detail::kNever<Member>,
                    "a module lists its parameters: give it `static void members(auto& self, "
                    "auto&& visitor)`, as in hearth/parameter.h");
    }
  }
};

}  // namespace parameter_detail

// Calls f(name, array), or f(name, array, is_buffer) where it takes that, for every parameter and
// buffer of `module`, in the order the modules declare them.
template <class Module, class F>
void visit(Module& module, F&& f) {
  parameter_detail::Walk<std::remove_reference_t<F>> walk{f, {}};
  walk.visit_here(module);
}

// Buffers are among them.
template <class Module>
std::vector<Parameter> parameters(Module& module) {
  static_assert(!std::is_const_v<Module>,
                "a const module keeps its values: parameters are of one that may change");
  std::vector<Parameter> out;
  visit(module, [&](const std::string& name, Array& array, bool is_buffer) {
    out.push_back({name, &array, is_buffer});
  });
  return out;
}

// The values by name, of buffers too, cut off from differentiation.
template <class Module>
NamedArrays state_dict(const Module& module) {
  NamedArrays out;
  visit(module, [&](const std::string& name, const Array& array) {
    out.push_back({name, array.detach()});
  });
  return out;
}

namespace parameter_detail {

template <class Module>
NamedArrays without_buffers(const Module& module) {
  NamedArrays out;
  visit(module, [&](const std::string& name, const Array& array, bool is_buffer) {
    if (!is_buffer) out.push_back({name, array.detach()});
  });
  return out;
}

}  // namespace parameter_detail

// Values of several modules or optimizers as those of one, for one file: those of {"model", values}
// are named "model.<name>". part(arrays, "model") gives them back as they were.
//
//   save_safetensors(path, joined({{"model", state_dict(model)}, {"adam", adam.state_dict()}}));
//   const NamedArrays saved = load_safetensors(path).arrays;
//   load_state_dict(model, part(saved, "model"));
//   adam.load_state_dict(part(saved, "adam"));
HEARTH_API NamedArrays joined(const std::vector<std::pair<std::string, NamedArrays>>& parts);
// Throws Error{invalid_argument} where there is none of that name.
HEARTH_API NamedArrays part(const NamedArrays& arrays, std::string_view name,
                            CallSite site = CallSite::here());

// The number of elements of all parameters, without buffers of a module. One value under several
// names (tied weights) counts once.
HEARTH_API std::int64_t parameter_count(const NamedArrays& parameters);
// A line for each parameter (name, dtype, shape, elements) and one for all of them; of tied ones,
// those after the first say which that is.
HEARTH_API std::string summary(const NamedArrays& parameters);
template <class Module>
  requires(!std::is_same_v<Module, NamedArrays>)
std::int64_t parameter_count(const Module& module) {
  return parameter_count(parameter_detail::without_buffers(module));
}
template <class Module>
  requires(!std::is_same_v<Module, NamedArrays>)
std::string summary(const Module& module) {
  return summary(parameter_detail::without_buffers(module));
}

// Gives every parameter and buffer the value of its name. Ids and flags are kept, and on an error
// nothing has changed. Throws Error{invalid_argument} with the names that are missing or, unless
// `allow_unexpected`, that none has; Error{shape} or Error{dtype} for values that differ;
// each with the caller's line.
HEARTH_API void load_state_dict(const std::vector<Parameter>& parameters, const NamedArrays& values,
                                bool allow_unexpected = false, CallSite site = CallSite::here());
template <class Module>
void load_state_dict(Module& module, const NamedArrays& values, bool allow_unexpected = false,
                     CallSite site = CallSite::here()) {
  load_state_dict(parameters(module), values, allow_unexpected, site);
}

// Moves every parameter and buffer, as model.to(device) does elsewhere. Ids and flags are kept,
// tied ones stay tied, and optimizers move the state of what they step; on an error nothing has
// changed.
HEARTH_API void to_device(const std::vector<Parameter>& parameters, Device device);
template <class Module>
  requires parameter_detail::kHoldsMembers<Module>
void to_device(Module& module, Device device, CallSite site = CallSite::here()) {
  located(site, [&] { to_device(parameters(module), device); });
}

// Takes the parameters out of training and back in: those of a float dtype, and with new ids where
// they were out. Tied ones stay tied. Buffers are left alone.
HEARTH_API void unfreeze(const std::vector<Parameter>& parameters);
template <class Module>
void freeze(Module& module) {
  visit(module, [](const std::string&, Array& array, bool is_buffer) {
    if (!is_buffer) array = array.detach();
  });
}
template <class Module>
  requires(!std::is_same_v<Module, std::vector<Parameter>>)
void unfreeze(Module& module) {
  unfreeze(parameters(module));
}

}  // namespace v0
}  // namespace hearth

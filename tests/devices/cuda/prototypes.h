// Compares functions and enumerations that are declared by hand with those of a library's own
// header. All of it is checked when the test is compiled.
#pragma once

#include <type_traits>

namespace hearth::cuda {
// Each test has templates of its own, which it may specialize.
namespace {

template <class T>
concept Complete = requires { sizeof(T); };

// Both sides with handles, which point to what is never defined, as `void*`, and enumerations as
// the integers that they are.
template <class T>
struct Plain {
  using type = std::conditional_t<std::is_enum_v<T>, unsigned, T>;
};
template <class T>
struct Plain<T*> {
  using type = typename Plain<T>::type*;
};
template <class T>
  requires(std::is_class_v<T> && !Complete<T>)
struct Plain<T*> {
  using type = void*;
};
template <class T>
struct Plain<const T> {
  using type = const typename Plain<T>::type;
};
template <class R, class... A>
struct Plain<R(A...)> {
  using type = typename Plain<R>::type(typename Plain<A>::type...);
};

}  // namespace
}  // namespace hearth::cuda

// One type of theirs that is one of ours, and no other: a handle or a struct.
#define SAME_TYPE(Theirs, Ours) \
  template <>                   \
  struct Plain<Theirs> {        \
    using type = Ours;          \
  };                            \
  template <>                   \
  struct Plain<Ours> {          \
    using type = Ours;          \
  }

// A row of a list of functions, in a struct where its types have the names that the list gives
// them. A header may rename a function by a macro, to another version of the same type.
#define SAME_FUNCTION(result, name, parameters)                                                    \
  static_assert(std::is_same_v<Plain<decltype(&::name)>::type, Plain<result(*) parameters>::type>, \
                #name);

#define EQUAL(ours, theirs) \
  static_assert(static_cast<unsigned>(ours) == static_cast<unsigned>(theirs))

// Type traits that kernels of the dialect do not use and other people's texts do. Included in
// namespace metal, after the target's prelude.

typedef decltype(nullptr) nullptr_t;
typedef ulong uintptr_t;
typedef long intptr_t;

template <class T>
struct __is_valid_simdgroup_type : bool_constant<is_arithmetic_v<T> && sizeof(T) <= 4> {};
template <class T>
struct is_void : is_same<T, void> {};
template <class T>
struct is_const : false_type {};
template <class T>
struct is_const<const T> : true_type {};
template <class T>
struct is_reference : false_type {};
template <class T>
struct is_reference<T&> : true_type {};
template <class T>
struct is_array : false_type {};
template <class T, size_t kCount>
struct is_array<T[kCount]> : true_type {};
template <class T>
struct is_scalar : bool_constant<is_arithmetic_v<T> || is_pointer_v<T> || __is_enum(T)> {};
template <class T>
struct is_enum : bool_constant<__is_enum(T)> {};
template <class Base, class Derived>
struct is_base_of : bool_constant<__is_base_of(Base, Derived)> {};
template <class T>
struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <class T>
struct negation : bool_constant<!bool(T::value)> {};
template <class T>
struct underlying_type {
  typedef __underlying_type(T) type;
};
template <class T>
struct remove_const {
  typedef T type;
};
template <class T>
struct remove_const<const T> {
  typedef T type;
};
template <class T>
struct add_const {
  typedef const T type;
};
template <class T>
struct decay : remove_cv<remove_reference_t<T>> {};
template <class...>
using void_t = void;
template <class T>
T declval();
template <class T>
struct remove_pointer {
  typedef T type;
};
template <class T>
struct remove_pointer<T*> {
  typedef T type;
};
template <int kBytes>
struct integers_of;
#define HEARTH_INTEGERS(kBytes, T, U) \
  template <>                         \
  struct integers_of<kBytes> {        \
    typedef T with_sign;              \
    typedef U without_sign;           \
  };
HEARTH_INTEGERS(1, char, uchar)
HEARTH_INTEGERS(2, short, ushort)
HEARTH_INTEGERS(4, int, uint)
HEARTH_INTEGERS(8, long, ulong)
#undef HEARTH_INTEGERS
template <class T>
struct make_signed {
  typedef typename integers_of<int(sizeof(T))>::with_sign type;
};
template <class T>
struct make_unsigned {
  typedef typename integers_of<int(sizeof(T))>::without_sign type;
};
template <class T>
using make_signed_t = typename make_signed<T>::type;
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;
template <class T>
using remove_const_t = typename remove_const<T>::type;
template <class T>
using remove_pointer_t = typename remove_pointer<T>::type;
template <class T>
using decay_t = typename decay<T>::type;
template <class T>
using underlying_type_t = typename underlying_type<T>::type;
#define HEARTH_TRAIT_VALUE(name) \
  template <class... T>          \
  constexpr bool name##_v = name<T...>::value;
HEARTH_TRAIT_VALUE(is_void)
HEARTH_TRAIT_VALUE(is_const)
HEARTH_TRAIT_VALUE(is_reference)
HEARTH_TRAIT_VALUE(is_array)
HEARTH_TRAIT_VALUE(is_scalar)
HEARTH_TRAIT_VALUE(is_enum)
HEARTH_TRAIT_VALUE(is_base_of)
HEARTH_TRAIT_VALUE(negation)
HEARTH_TRAIT_VALUE(disjunction)
HEARTH_TRAIT_VALUE(conjunction)
#undef HEARTH_TRAIT_VALUE

// What templates ask of types: metal_type_traits, as far as kernels use it.
#pragma once

namespace metal {

// A parameter of this type takes no part in deduction.
template <class T>
struct identity {
  typedef T type;
};

template <class T, T kValue>
struct integral_constant {
  static constexpr T value = kValue;
  typedef T value_type;
  constexpr operator T() const { return kValue; }
  constexpr T operator()() const { return kValue; }
};
template <bool kValue>
using bool_constant = integral_constant<bool, kValue>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <class A, class B>
struct is_same : false_type {};
template <class A>
struct is_same<A, A> : true_type {};
template <class A, class B>
constexpr bool is_same_v = is_same<A, B>::value;

template <class From, class To>
constexpr bool is_convertible_v = requires(void (*take)(To), From (*give)()) { take(give()); };
template <class From, class To>
struct is_convertible : bool_constant<is_convertible_v<From, To>> {};

template <class... T>
struct disjunction : bool_constant<(bool(T::value) || ...)> {};
template <class... T>
struct conjunction : bool_constant<(bool(T::value) && ...)> {};
// Metal's header has it by this name, which texts use.
template <class... T>
using _disjunction = disjunction<T...>;

template <bool kCondition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  typedef T type;
};
template <bool kCondition, class T = void>
using enable_if_t = typename enable_if<kCondition, T>::type;

template <bool kCondition, class A, class B>
struct conditional {
  typedef A type;
};
template <class A, class B>
struct conditional<false, A, B> {
  typedef B type;
};
template <bool kCondition, class A, class B>
using conditional_t = typename conditional<kCondition, A, B>::type;

template <class T>
struct remove_reference {
  typedef T type;
};
template <class T>
struct remove_reference<T&> {
  typedef T type;
};
template <class T>
struct remove_cv {
  typedef T type;
};
template <class T>
struct remove_cv<const T> : remove_cv<T> {};
template <class T>
struct remove_cv<volatile T> : remove_cv<T> {};
template <class T>
using remove_reference_t = typename remove_reference<T>::type;
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
// There are no address spaces here.
template <class T>
using remove_addrspace_t = T;

template <class T>
struct is_pointer : false_type {};
template <class T>
struct is_pointer<T*> : true_type {};
template <class T>
constexpr bool is_pointer_v = is_pointer<T>::value;

template <class T>
struct is_integral : false_type {};
template <class T>
struct is_floating_point : false_type {};
template <class T>
struct is_signed : false_type {};
#define HEARTH_INTEGRAL(T, kSigned)     \
  template <>                           \
  struct is_integral<T> : true_type {}; \
  template <>                           \
  struct is_signed<T> : bool_constant<kSigned> {};
HEARTH_INTEGRAL(bool, false)
HEARTH_INTEGRAL(char, true)
HEARTH_INTEGRAL(signed char, true)
HEARTH_INTEGRAL(unsigned char, false)
HEARTH_INTEGRAL(short, true)
HEARTH_INTEGRAL(unsigned short, false)
HEARTH_INTEGRAL(int, true)
HEARTH_INTEGRAL(unsigned int, false)
HEARTH_INTEGRAL(long, true)
HEARTH_INTEGRAL(unsigned long, false)
HEARTH_INTEGRAL(long long, true)
HEARTH_INTEGRAL(unsigned long long, false)
#undef HEARTH_INTEGRAL
#define HEARTH_FLOATING_POINT(T)              \
  template <>                                 \
  struct is_floating_point<T> : true_type {}; \
  template <>                                 \
  struct is_signed<T> : true_type {};
#if HEARTH_HAS_FLOAT16
typedef _Float16 half;
#else
struct half;
#endif
struct bfloat;
HEARTH_FLOATING_POINT(float)
HEARTH_FLOATING_POINT(double)
HEARTH_FLOATING_POINT(half)
HEARTH_FLOATING_POINT(bfloat)
#undef HEARTH_FLOATING_POINT
template <class T>
struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T>
struct is_unsigned : bool_constant<is_integral<T>::value && !is_signed<T>::value> {};
template <class T>
constexpr bool is_integral_v = is_integral<T>::value;
template <class T>
constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T>
constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T>
constexpr bool is_signed_v = is_signed<T>::value;
template <class T>
constexpr bool is_unsigned_v = is_unsigned<T>::value;

}  // namespace metal

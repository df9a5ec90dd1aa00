// How the Objective-C runtime writes the types of a method: "@@:QQ" takes the receiver, the
// selector and two unsigned longs, and returns an object.
#pragma once

#include <string>
#include <string_view>

#include "devices/metal/objc/types.h"

namespace hearth::metal {

template <class T>
struct TypeEncoding;  // what is not here is no type of a message
#define HEARTH_ENCODING(type, text)                 \
  template <>                                       \
  struct TypeEncoding<type> {                       \
    static constexpr std::string_view kText = text; \
  };
HEARTH_ENCODING(void, "v")
HEARTH_ENCODING(bool, "B")
HEARTH_ENCODING(signed char, "c")
HEARTH_ENCODING(unsigned, "I")
HEARTH_ENCODING(long, "q")
HEARTH_ENCODING(unsigned long, "Q")
HEARTH_ENCODING(float, "f")
HEARTH_ENCODING(double, "d")
HEARTH_ENCODING(Id, "@")
HEARTH_ENCODING(Selector, ":")
HEARTH_ENCODING(Block, "@?")
HEARTH_ENCODING(const char*, "*")
HEARTH_ENCODING(void*, "^v")
HEARTH_ENCODING(const void*, "^v")
HEARTH_ENCODING(Id*, "^@")
HEARTH_ENCODING(const Id*, "^@")
HEARTH_ENCODING(Size, "{?=QQQ}")
HEARTH_ENCODING(SystemVersion, "{?=qqq}")
#undef HEARTH_ENCODING

template <class Signature>
struct SignatureEncoding;
template <class R, class... A>
struct SignatureEncoding<R(A...)> {
  static std::string text() {
    std::string all(TypeEncoding<R>::kText);
    all += "@:";
    ((all += TypeEncoding<A>::kText), ...);
    return all;
  }
};

// Without what says nothing about a call: offsets, qualifiers such as const, names of classes in
// quotes, names of structs.
std::string plain_encoding(std::string_view encoding);

// What a caller has to agree on: where each value lies. Pointers of all kinds are one, and so are
// integers of a size; "p", "8", "4", "2", "1", "d", "f", "v", structs in braces.
std::string call_shape(std::string_view plain);

}  // namespace hearth::metal

// Values that Metal's calls take and return, as Apple's compilers lay them out.
#pragma once

namespace hearth::metal {

struct Object;  // of the Objective-C runtime: only its address is known here
using Id = Object*;
struct SelectorTag;
using Selector = const SelectorTag*;
struct BlockTag;
using Block = const BlockTag*;  // a block of code: only nil is ever passed

using UInteger = unsigned long;  // NSUInteger
using Integer = long;            // NSInteger
#if defined(__x86_64__)
using Bool = signed char;  // BOOL
#else
using Bool = bool;
#endif
static_assert(sizeof(UInteger) == 8, "Metal is a 64-bit API");

// MTLSize
struct Size {
  UInteger width = 1, height = 1, depth = 1;
};

// NSOperatingSystemVersion
struct SystemVersion {
  Integer major = 0, minor = 0, patch = 0;
  constexpr bool operator>=(const SystemVersion& other) const {
    if (major != other.major) return major > other.major;
    return minor != other.minor ? minor > other.minor : patch >= other.patch;
  }
};

}  // namespace hearth::metal

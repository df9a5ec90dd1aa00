// Values of a kernel's arguments, described in one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hearth::tools {

// What a buffer holds where nothing was written: NaN in every float dtype, -1 in the integers.
inline constexpr std::byte kPoison{0xff};

// The bytes that a description stands for: parts separated by commas, each aligned to its dtype as
// a struct's members are,
//   TYPE:VALUE          one number ("u32:1024", "f32:0.5")
//   TYPE[COUNT]         numbers in [-1, 1), or integers from 0 to 15
//   TYPE[COUNT]:INIT    random, zeros, ones, iota (0, 1, 2...), poison
// or @FILE, the bytes of a regular file. `argument` is named in errors. Throws
// Error{invalid_argument} for another form, for numbers that the dtype has not, and for a dtype
// that `type`, that of the parameter (value_types.h), does not hold; Error{io} for a file that
// cannot be read.
std::vector<std::byte> values_of(const std::string& description, const std::string& argument,
                                 const std::string& type = "");

}  // namespace hearth::tools

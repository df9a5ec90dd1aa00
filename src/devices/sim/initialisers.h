// What the loader of a library calls by itself.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace hearth::sim {

// Throws Error{device} that names the kernel where loading this library (ELF), or closing it, would
// run more than `allowed` functions of it: initialisers of variables, constructors, destructors,
// resolvers of indirect functions. Nothing could check or interrupt them. Error{corrupt_file} where
// the bytes are no library. Of other formats than ELF nothing is refused.
void refuse_initialisers(const std::string& kernel, std::span<const std::byte> library,
                         std::size_t allowed);

}  // namespace hearth::sim

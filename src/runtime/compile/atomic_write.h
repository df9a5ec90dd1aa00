// Atomic writes of cache files: a file appears whole or not at all, also with several writers.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

namespace hearth {
inline namespace v0 {
namespace runtime {

// Replaces the file by the parts, concatenated, through a file of another name in the same
// folder, which is made if need be. False where that fails: the old file is then as it was.
bool write_whole_file(const std::string& path,
                      std::initializer_list<std::span<const std::byte>> pieces) noexcept;

// Makes `path` another name of a file that is there, in place of what has that name. False where
// that fails, as between file systems or on one that knows no such names.
bool link_whole_file(const std::string& existing, const std::string& path) noexcept;

}  // namespace runtime
}  // namespace v0
}  // namespace hearth

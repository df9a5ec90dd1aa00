// Arrays in files.
#pragma once

#include <map>
#include <string>

#include "hearth/array.h"
#include "hearth/parameter.h"

namespace hearth {
inline namespace v0 {

using Metadata = std::map<std::string, std::string>;

struct SafetensorsContents {
  NamedArrays arrays;  // in the order of their names
  Metadata metadata;
};

// Evaluates the arrays and writes them as one safetensors file: afterwards `path` holds either its
// old contents or all of the new ones, whatever happens meanwhile. Throws Error{io}, and
// Error{invalid_argument} for names that are used twice, reserved or not UTF-8.
HEARTH_API void save_safetensors(const std::string& path, const NamedArrays& arrays,
                                 const Metadata& metadata = {});

// Throws Error{io}; Error{corrupt_file} with the byte offset where the contents break the format;
// Error{unsupported} for dtypes and ranks that Hearth lacks. Bytes of bools but 0 become 1.
HEARTH_API SafetensorsContents load_safetensors(const std::string& path, Device device = Device());
template <class Module>
void load_state_dict(Module& module, const SafetensorsContents& contents,
                     bool allow_unexpected = false, CallSite site = CallSite::here()) {
  load_state_dict(module, contents.arrays, allow_unexpected, site);
}
// The same without copies where the device reads the host's memory (CPU, Metal): arrays are the
// pages of the file then, read from disk when they are first used (bools at once). So the file must
// not be changed in place or cut while one lives; save_safetensors() replaces it, which is fine.
HEARTH_API SafetensorsContents map_safetensors(const std::string& path, Device device = Device());

}  // namespace v0
}  // namespace hearth

// Arrays in files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hearth/array.h"
#include "hearth/gguf.h"
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

struct GgufContents {
  NamedArrays arrays;  // in the order of the file
  GgufMetadata metadata;
};

// Reads a GGUF file, or with any file of a split model (x-00001-of-00003.gguf) all of them; the
// metadata are those of the first, without "split.*". Weights have the shape [out, in], whose axes
// the format names in the other order. Throws Error{io}, for a missing file of a split model too;
// Error{corrupt_file} with the byte offset where the contents break the format; Error{unsupported}
// for versions and types that are not read.
HEARTH_API GgufContents load_gguf(const std::string& path, Device device = Device());
// The same without copies where the device reads the host's memory (CPU, Metal), for tensors that
// begin at multiples of 16 bytes, as almost all do. What map_safetensors() says of the file holds.
HEARTH_API GgufContents map_gguf(const std::string& path, Device device = Device());

// Evaluates the arrays one by one and writes them as one GGUF file, or several if the options ask
// for that: "model.gguf" becomes model-00001-of-00003.gguf and so on. Returns their paths. Each
// holds either its old contents or all of the new ones; none changes before all are written. Throws
// Error{io}; Error{invalid_argument} for names that are used twice or longer than 63 bytes, arrays
// of more than 4 axes, and alignments that are no power of two from 8 on; Error{dtype} for unsigned
// integers and bool, which the format lacks.
HEARTH_API std::vector<std::string> save_gguf(const std::string& path, const NamedArrays& arrays,
                                              const GgufMetadata& metadata = {},
                                              const GgufOptions& options = {});

}  // namespace v0
}  // namespace hearth

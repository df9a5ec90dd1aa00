// Folders of images as MNIST, Fashion-MNIST (IDX files), CIFAR-10 and CIFAR-100 (binary version)
// come, unpacked.
#pragma once

#include <string>

#include "tools/images/image_data.h"

namespace hearth::tools {

// The test files are the held-out part. Throws Error{io} for files that are missing,
// Error{corrupt_file} with the byte offset where a file's contents break its format or do not fit
// the other files, Error{unsupported} for images that are not of bytes, Error{invalid_argument} for
// a folder that has none.
ImageData read_image_folder(const std::string& folder);

}  // namespace hearth::tools

// Where the sources are, for tests that read them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace hearth::check {

// $HEARTH_SOURCE_DIR; the test that asks fails where it is not set.
inline std::filesystem::path source_dir() {
  const char* folder = std::getenv("HEARTH_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (folder == nullptr) {
    throw std::runtime_error("HEARTH_SOURCE_DIR is not set: it names the folder of the sources");
  }
  return folder;
}

}  // namespace hearth::check

// Where the sources are, for tests that read them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace hearth::check {

// $HEARTH_SOURCE_DIR, or the current folder where it is the root of the sources; the test that asks
// fails where neither is.
inline std::filesystem::path source_dir() {
  const char* folder = std::getenv("HEARTH_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (folder != nullptr) return folder;
  const std::filesystem::path here = std::filesystem::current_path();
  if (std::filesystem::exists(here / "include/hearth/hearth.h")) return here;
  throw std::runtime_error(
      "HEARTH_SOURCE_DIR is not set, and the current folder is not the root of the sources");
}

}  // namespace hearth::check

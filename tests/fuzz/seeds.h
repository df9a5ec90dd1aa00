// What the programs that write seed corpora share.
#pragma once

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "io/file.h"

namespace hearth::testing {

// The main() of such a program: writes each seed to a file in the folder that is its argument.
inline int write_seeds(int argc, char** argv, const std::vector<std::string>& seeds) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    int index = 0;
    for (const std::string& seed : seeds) {
      io::replace_file((folder / ("seed" + std::to_string(index++))).string(), seed);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  }
  return 0;
}

}  // namespace hearth::testing

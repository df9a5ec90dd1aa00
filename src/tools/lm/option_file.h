// Reading files that options name.
#pragma once

#include <string>

#include "hearth/error.h"

namespace hearth::tools {

// What `read` gives. Its Errors say besides which option it was, and what files it takes:
// "--imatrix: expected a file of llama-imatrix; ...".
template <class Read>
auto read_option_file(const std::string& option, const std::string& expected, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.code(), option + ": expected " + expected + "; " + error.what());
  }
}

}  // namespace hearth::tools

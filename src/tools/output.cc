#include "tools/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "hearth/error.h"

namespace hearth::tools {

void write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  throw Error(ErrorCode::io, std::string("stdout: cannot write; got ") + std::strerror(errno));
}

}  // namespace hearth::tools

#include "tools/output.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "hearth/error.h"

namespace hearth::tools {

void write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  throw Error(ErrorCode::io, std::string("stdout: cannot write; got ") + std::strerror(errno));
}

void write_note(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string decimal(double value, int decimals) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  char buffer[32];
  // Values too long for the buffer have no use for decimals.
  auto result = std::to_chars(std::begin(buffer), std::end(buffer), value, std::chars_format::fixed,
                              decimals);
  if (result.ec != std::errc()) {
    result = std::to_chars(std::begin(buffer), std::end(buffer), value,
                           std::chars_format::scientific, 3);
  }
  return {buffer, result.ptr};
}

}  // namespace hearth::tools

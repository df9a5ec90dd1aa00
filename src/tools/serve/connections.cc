#include "tools/serve/connections.h"

#include <sys/resource.h>

#include <string>

#include "hearth/error.h"

namespace hearth::tools::serve {
namespace {

constexpr std::int64_t kSpareConnections = 8;
constexpr rlim_t kOtherFiles = 64;  // of the model, the device, the system's libraries

}  // namespace

std::size_t connections_for(std::int64_t texts) {
  return static_cast<std::size_t>(texts + kSpareConnections);
}

void allow_connections(std::size_t count) {
  const rlim_t wanted = static_cast<rlim_t>(count) + kOtherFiles;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = wanted;
  if (wanted <= limit.rlim_max && ::setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  throw Error(ErrorCode::invalid_argument,
              "serve: too many texts that run or wait; got " + std::to_string(count) +
                  " connections, expected a process that may have " + std::to_string(wanted) +
                  " files open, not " + std::to_string(before) + " (ulimit -n)");
}

}  // namespace hearth::tools::serve

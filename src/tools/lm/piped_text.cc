#include "tools/lm/piped_text.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "hearth/error.h"
#include "io/text_file.h"

namespace hearth::tools {
namespace {

constexpr std::chrono::seconds kPatience{2};

// Whether there are bytes, or the end of all, within that time.
bool speaks_within(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(end - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration(0)));
    const int ready = ::poll(&input, 1, static_cast<int>(left.count()));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace

std::string piped_text(const std::string& command, std::uint64_t limit) {
  struct stat input{};
  if (::fstat(STDIN_FILENO, &input) != 0) return {};  // it is closed
  if (!S_ISREG(input.st_mode)) {
    if (!S_ISFIFO(input.st_mode) && !S_ISSOCK(input.st_mode)) return {};
    if (!speaks_within(kPatience)) {
      throw Error(ErrorCode::invalid_argument,
                  command + ": no prompt; got nothing from standard input within " +
                      std::to_string(kPatience.count()) +
                      " s, expected --prompt TEXT (\"\" for none), or --prompt - to wait for one");
    }
  }
  return io::read_input_text(limit);
}

}  // namespace hearth::tools

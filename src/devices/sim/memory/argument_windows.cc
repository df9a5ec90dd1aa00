#include "devices/sim/memory/argument_windows.h"

#include <sys/mman.h>

#include <algorithm>

#include "core/integer_math.h"
#include "hearth/error.h"

namespace hearth::sim {
namespace {

constexpr std::int64_t kPage = SimulatedMemory::kPage;
constexpr std::int64_t kGuard = 16 * kPage;  // on either side

}  // namespace

ArgumentWindows::~ArgumentWindows() {
  for (const Window& window : windows_) close(window);
}

void ArgumentWindows::close(const Window& window) {
  munmap(window.mapping - kGuard, static_cast<std::size_t>(window.bytes + 2 * kGuard));
}

void ArgumentWindows::begin_launch() {
  ++launch_;
  while (windows_.size() > kKept) {
    const auto oldest =
        std::min_element(windows_.begin(), windows_.end(),
                         [](const Window& a, const Window& b) { return a.launch < b.launch; });
    close(*oldest);
    *oldest = windows_.back();
    windows_.pop_back();
  }
}

std::byte* ArgumentWindows::open(Address address, std::int64_t bytes) {
  const std::int64_t offset = memory_.offset(address);
  const std::int64_t first = offset / kPage * kPage;
  const std::int64_t size =
      std::max(ceil_div(offset + bytes - first, kPage), std::int64_t{1}) * kPage;
  for (Window& window : windows_) {
    if (window.offset != first || window.bytes != size || window.launch == launch_) continue;
    window.launch = launch_;
    return window.mapping + (offset - first);
  }
  void* const mapped = mmap(nullptr, static_cast<std::size_t>(size + 2 * kGuard), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw Error(ErrorCode::device, "sim: no address space for arguments");
  Window window = {first, size, static_cast<std::byte*>(mapped) + kGuard, launch_};
  if (mmap(window.mapping, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_FIXED, memory_.file(), first) == MAP_FAILED) {
    throw Error(ErrorCode::device, "sim: no mapping for arguments");
  }
  windows_.push_back(window);
  return window.mapping + (offset - first);
}

}  // namespace hearth::sim

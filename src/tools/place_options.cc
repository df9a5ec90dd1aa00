#include "tools/place_options.h"

#include <cstdint>

#include "runtime/device/worker_pool.h"

namespace hearth::tools {

void add_device_option(Command& command, std::string& device) {
  command.option("-dev,--device", device, "See `hearth devices`");
}

void add_place_options(Command& command, std::string& device, int& threads) {
  add_device_option(command, device);
  command.option("-t,--threads", threads, "Of the CPU [one a core]")
      .range(std::int64_t{1}, std::int64_t{WorkerPool::kMaxThreads});
}

}  // namespace hearth::tools

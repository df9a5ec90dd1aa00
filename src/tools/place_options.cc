#include "tools/place_options.h"

#include <cstdint>

#include "runtime/device/worker_pool.h"

namespace hearth::tools {

void add_device_option(Command& command, std::string& device) {
  command.option("-dev,--device", device,
                 "Where to compute, such as cpu or cuda; `hearth devices` lists what there is");
}

void add_place_options(Command& command, std::string& device, int& threads) {
  add_device_option(command, device);
  command.option("-t,--threads", threads, "CPU threads [one per core]")
      .range(std::int64_t{1}, std::int64_t{WorkerPool::kMaxThreads});
}

}  // namespace hearth::tools

#include <memory>

#include "hearth/device.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace hearth::tools {

void add_devices(CommandLine& line) {
  Command command = line.add_command("devices", "List the devices of this machine");
  const auto verbose = std::make_shared<bool>(false);
  command.flag("-v,--verbose", *verbose, "Say what was tried to find them");
  command.action([verbose] {
    const Device chosen;
    for (const Device device : Device::all()) {
      write_out(device.name() + (device == chosen ? " (default): " : ": ") + device.description() +
                "\n");
    }
    if (!*verbose) return;
    for (const std::string& note : Device::search_notes()) write_out("  " + note + "\n");
  });
}

}  // namespace hearth::tools

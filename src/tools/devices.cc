#include "hearth/device.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace hearth::tools {

void add_devices(CommandLine& line) {
  Command command = line.add_command("devices", "List the devices of this machine");
  command.action([] {
    const Device chosen;
    for (const Device device : Device::all()) {
      write_out(device.name() + (device == chosen ? " (default): " : ": ") + device.description() +
                "\n");
    }
  });
}

}  // namespace hearth::tools

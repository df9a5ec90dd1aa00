#include "hearth/device.h"
#include "tools/commands.h"

namespace hearth::tools {

void add_devices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List the devices of this machine");
  command->callback([] {
    const Device chosen;
    for (const Device device : Device::all()) {
      write_out(device.name() + (device == chosen ? " (default): " : ": ") + device.description() +
                "\n");
    }
  });
}

}  // namespace hearth::tools

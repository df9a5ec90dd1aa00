#include "devices/metal/register.h"

#include "devices/metal/driver/metal_driver.h"
#include "hearth/error.h"
#include "runtime/device/environment.h"

namespace hearth::metal {
namespace {

constexpr SystemVersion kOldest{13, 0, 0};
constexpr const char* kNoBfloat =
    ": bf16 is computed by kernels' own conversions; from macOS 14 on Metal has bfloat";

gpu::LastSearch& last_search() {
  static auto* const search = new gpu::LastSearch;  // lives as long as the process
  return *search;
}

// Of the last search that found Metal.
SystemVersion& last_system() {
  static SystemVersion system;
  return system;
}

// Whether objects of all kinds that the device makes without a kernel take the messages that they
// will be sent.
bool check_objects(const ObjectiveC& objc, Id device, std::vector<std::string>& notes) {
  const AutoreleasePool pool(objc);
  bool fits = true;
  const auto check = [&](Id object, const char* owner) {
    if (object == nullptr) {
      notes.push_back(std::string("no ") + owner + " is given");
      fits = false;
    } else if (!objc.check(object, owner, MessageInfo::Receiver::object, notes)) {
      fits = false;
    }
    return object != nullptr && fits;
  };
  if (!check(device, "MTLDevice")) return false;
  check(objc.string("text"), "NSString");
  check(objc.send(objc.type_named("NSProcessInfo"), messages::process_info), "NSProcessInfo");
  const Owned options =
      objc.send(objc.type_named("MTLCompileOptions"), messages::new_compile_options);
  check(options.get(), "MTLCompileOptions");
  const Owned descriptor =
      objc.send(objc.type_named("MTLComputePipelineDescriptor"), messages::new_pipeline_descriptor);
  check(descriptor.get(), "MTLComputePipelineDescriptor");
  const Owned buffer = objc.send(device, messages::new_buffer, UInteger{16}, UInteger{0});
  check(buffer.get(), "MTLBuffer");
  const Owned queue = objc.send(device, messages::new_queue);
  if (!check(queue.get(), "MTLCommandQueue")) return false;
  const Id commands = objc.send(queue.get(), messages::command_buffer);
  if (!check(commands, "MTLCommandBuffer")) return false;
  const Id encoder = objc.send(commands, messages::compute_encoder, UInteger{1});
  check(encoder, "MTLComputeCommandEncoder");
  // An encoder must not go before it has ended.
  if (objc.understands(encoder, messages::end_encoding)) {
    objc.send(encoder, messages::end_encoding);
  }
  return fits;
}

std::unique_ptr<runtime::Driver> open_device(const std::shared_ptr<const ObjectiveC>& objc,
                                             Owned device, SystemVersion system,
                                             const std::shared_ptr<Capture>& capture, bool mpsgraph,
                                             const std::string& prefix,
                                             std::vector<std::string>& notes) {
  if (!check_objects(*objc, device.get(), notes)) {
    notes.push_back(prefix + "its objects are not those that are known here");
    return nullptr;
  }
  const runtime::Properties properties = device_properties(*objc, device.get(), system);
  const std::string name = prefix + properties.name + ", " + properties.architecture;
  // The M1's is the first with all that kernels do in simdgroups.
  if (!properties.unified || !properties.has_simdgroup_matrix) {
    notes.push_back(name + ": no GPU of Apple's from the M1 on");
    return nullptr;
  }
  try {
    auto mps = mpsgraph ? MpsLibrary::open(*objc, device.get(), system, notes) : nullptr;
    auto driver =
        std::make_unique<MetalDriver>(objc, std::move(device), system, capture, std::move(mps));
    notes.push_back(name + (driver->has_bfloat() ? "" : kNoBfloat));
    return driver;
  } catch (const Error& error) {
    notes.push_back(prefix + error.what());
    return nullptr;
  }
}

}  // namespace

gpu::FoundDevices find_devices(const std::string& library, const std::string& capture,
                               bool mpsgraph) {
  gpu::FoundDevices found;
  const auto objc = ObjectiveC::open(library, found.notes);
  if (objc == nullptr) return found;
  const SystemVersion system = last_system() = objc->system_version();
  if (!(system >= kOldest)) {
    found.notes.emplace_back("no Metal: the system is too old; got one before macOS 13");
    return found;
  }
  std::vector<Owned> devices = objc->devices();
  if (devices.empty()) found.notes.emplace_back("Metal sees no device");
  const std::shared_ptr<Capture> captured =
      devices.empty() ? nullptr : Capture::open(objc, capture, found.notes);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string prefix = "device " + std::to_string(i) + ": ";
    if (auto driver = open_device(objc, std::move(devices[i]), system, captured, mpsgraph, prefix,
                                  found.notes)) {
      found.drivers.push_back(std::move(driver));
    }
  }
  return found;
}

std::vector<std::unique_ptr<runtime::Driver>> open_drivers() {
  const runtime::Environment& environment = runtime::environment();
  return last_search().keep(
      find_devices(environment.metal_path, environment.metal_capture, environment.metal_mpsgraph));
}

std::string system_name() {
  const SystemVersion system = last_system();
  return "macOS " + std::to_string(system.major) + "." + std::to_string(system.minor);
}

std::vector<std::string> notes() { return last_search().notes(); }

}  // namespace hearth::metal

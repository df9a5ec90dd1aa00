#include "devices/metal/register.h"

#include <algorithm>

#include "devices/metal/driver/metal_driver.h"
#include "hearth/error.h"
#include "runtime/device/environment.h"
#include "runtime/tune/rules.h"

namespace hearth::metal {
namespace {

constexpr SystemVersion kOldest{13, 0, 0};
constexpr const char* kNoBfloat =
    ": bf16 is computed by kernels' own conversions; from macOS 14 on Metal has bfloat";

constexpr Integer kApple5 = 1005;  // MTLGPUFamilyApple5, which virtual machines have
constexpr const char* kOther = ": no GPU of Apple's from the M1 on";
constexpr const char* kVirtual =
    ": the GPU of a virtual machine, which has less than the Mac's own: no simdgroup matrices";
constexpr const char* kAnyServes = "; HEARTH_METAL_ANY=1 takes it all the same, for tests";

gpu::LastSearch& last_search() {
  static auto* const search = new gpu::LastSearch;  // lives as long as the process
  return *search;
}

// Of the last search that found Metal.
SystemVersion& last_system() {
  static SystemVersion system;
  return system;
}

std::string version_text(const SystemVersion& system) {
  std::string text = "macOS " + std::to_string(system.major) + "." + std::to_string(system.minor);
  if (system.patch > 0) text += "." + std::to_string(system.patch);
  return text;
}

// Opening its frameworks takes time that nobody gives for what will not run.
MpsUse wanted_mpsgraph(const runtime::Environment& environment) {
  if (environment.metal_mpsgraph) {
    return *environment.metal_mpsgraph ? MpsUse::measured : MpsUse::off;
  }
  try {
    const std::vector<runtime::SelectionRule> rules =
        runtime::read_choice_rules(environment.choices);
    const bool is_named = std::any_of(rules.begin(), rules.end(),
                                      [](const auto& rule) { return rule.name == "library"; });
    return is_named ? MpsUse::on_request : MpsUse::off;
  } catch (const Error&) {
    return MpsUse::off;  // told where an implementation is selected
  }
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
                                             const std::shared_ptr<Capture>& capture,
                                             MpsUse mpsgraph, bool any, const std::string& prefix,
                                             std::vector<std::string>& notes) {
  if (!check_objects(*objc, device.get(), notes)) {
    notes.push_back(prefix + "its objects are not those that are known here");
    return nullptr;
  }
  const runtime::Properties properties = device_properties(*objc, device.get(), system);
  const std::string name = prefix + properties.name + ", " + properties.architecture;
  // The M1's is the first with all that kernels do in simdgroups.
  const bool is_apples =
      properties.unified && objc->send(device.get(), messages::supports_family, kApple5) != 0;
  if (!is_apples || (!properties.has_simdgroup_matrix && !any)) {
    const bool is_virtual = properties.name.find("Paravirtual") != std::string::npos;
    notes.push_back(name + (is_virtual ? kVirtual : kOther) + (is_apples ? kAnyServes : ""));
    return nullptr;
  }
  try {
    auto mps = mpsgraph == MpsUse::off ? nullptr
                                       : MpsLibrary::open(*objc, device.get(), system,
                                                          mpsgraph == MpsUse::on_request, notes);
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
                               MpsUse mpsgraph, bool any) {
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
    if (auto driver = open_device(objc, std::move(devices[i]), system, captured, mpsgraph, any,
                                  prefix, found.notes)) {
      found.drivers.push_back(std::move(driver));
    }
  }
  return found;
}

std::vector<std::unique_ptr<runtime::Driver>> open_drivers() {
  const runtime::Environment& environment = runtime::environment();
  return last_search().keep(find_devices(environment.metal_path, environment.metal_capture,
                                         wanted_mpsgraph(environment), environment.metal_any));
}

std::string system_name() { return version_text(last_system()); }

std::vector<std::string> notes() { return last_search().notes(); }

}  // namespace hearth::metal

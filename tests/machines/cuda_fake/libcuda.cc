// The fake driver library: cards, contexts, modules and memory.
#include <sstream>

#include "machines/cuda_fake/calls.h"

using namespace hearth::cuda::fake;  // NOLINT(google-build-using-namespace)

EXPORT FakeCuda* hearth_fake_cuda() { return &machine(); }

EXPORT Result cuInit(unsigned) {
  return call("cuInit", [] { return expect(machine().cards > 0, Result::no_device); }, false);
}
EXPORT Result cuDriverGetVersion(int* version) {
  *version = machine().driver_version;
  return Result::success;
}
EXPORT Result cuGetErrorName(Result result, const char** name) {
  *name = result == Result::illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == Result::no_device     ? "CUDA_ERROR_NO_DEVICE"
          : result == Result::invalid_value ? "CUDA_ERROR_INVALID_VALUE"
                                            : nullptr;
  return expect(*name != nullptr, Result::invalid_value);
}
EXPORT Result cuGetErrorString(Result result, const char** text) {
  *text = result == Result::illegal_address ? "an illegal memory access was encountered" : "?";
  return Result::success;
}

EXPORT Result cuDeviceGetCount(int* count) {
  return call(
      "cuDeviceGetCount",
      [&] {
        *count = machine().cards;
        return Result::success;
      },
      false);
}
EXPORT Result cuDeviceGet(Card* card, int ordinal) {
  return call(
      "cuDeviceGet",
      [&] {
        *card = ordinal;
        return expect(ordinal >= 0 && ordinal < machine().cards, Result::invalid_device);
      },
      false);
}
EXPORT Result cuDeviceGetName(char* name, int bytes, Card card) {
  return call(
      "cuDeviceGetName",
      [&] {
        const std::string text = "Fake " + std::to_string(card);
        text.copy(name, static_cast<std::size_t>(bytes));
        name[text.size()] = '\0';
        return Result::success;
      },
      false);
}
EXPORT Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Card) {
  return call(
      "cuDeviceGetAttribute",
      [&] {
        switch (attribute) {
          case DeviceAttribute::max_threads_per_block:
            *value = 1024;
            break;
          case DeviceAttribute::max_threads_per_multiprocessor:
            *value = 2048;
            break;
          case DeviceAttribute::max_registers_per_multiprocessor:
            *value = 65536;
            break;
          case DeviceAttribute::max_shared_memory_per_multiprocessor:
            *value = 233472;
            break;
          case DeviceAttribute::max_shared_memory_per_block:
            *value = 49152;
            break;
          case DeviceAttribute::max_shared_memory_per_block_optin:
            *value = 232448;
            break;
          case DeviceAttribute::multiprocessor_count:
            *value = 132;
            break;
          case DeviceAttribute::l2_cache_size:
            *value = 50 << 20;
            break;
          case DeviceAttribute::compute_capability_major:
            *value = machine().major;
            break;
          case DeviceAttribute::compute_capability_minor:
            *value = machine().minor;
            break;
        }
        return Result::success;
      },
      false);
}
EXPORT Result cuDeviceTotalMem_v2(std::size_t* bytes, Card) {
  return call(
      "cuDeviceTotalMem_v2",
      [&] {
        *bytes = machine().memory;
        return Result::success;
      },
      false);
}
EXPORT Result cuDevicePrimaryCtxRetain(ContextHandle* context, Card card) {
  return call(
      "cuDevicePrimaryCtxRetain",
      [&] {
        ++machine().retained;
        *context = handle<ContextHandle>(reinterpret_cast<char*>(&machine()) + 1 + card);
        return Result::success;
      },
      false);
}
EXPORT Result cuDevicePrimaryCtxRelease_v2(Card) {
  return call(
      "cuDevicePrimaryCtxRelease_v2",
      [&] { return expect(--machine().retained >= 0, Result::invalid_context); }, false);
}
// These two work after a fault as well.
EXPORT Result cuCtxPushCurrent_v2(ContextHandle context) {
  const std::lock_guard lock(machine().mutex);
  ++machine().calls["cuCtxPushCurrent_v2"];
  if (context == nullptr) return Result::invalid_context;
  Machine::current.push_back(context);
  return Result::success;
}
EXPORT Result cuCtxPopCurrent_v2(ContextHandle* context) {
  const std::lock_guard lock(machine().mutex);
  ++machine().calls["cuCtxPopCurrent_v2"];
  if (Machine::current.empty()) return Result::invalid_context;
  *context = Machine::current.back();
  Machine::current.pop_back();
  return Result::success;
}

EXPORT Result cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned count,
                                 JitOption* options, void** values) {
  return call("cuModuleLoadDataEx", [&] {
    const auto* bytes = static_cast<const char*>(image);
    FakeModule loaded;
    if (std::memcmp(bytes,
                    "\x7f"
                    "ELF",
                    4) == 0) {
      loaded.is_machine_code = true;
    } else {
      std::istringstream text(bytes);
      std::string word;
      text >> word >> loaded.kernel;
      if (word != ".fake") {
        for (unsigned i = 0; i < count; ++i) {
          if (options[i] == JitOption::error_log_buffer) {
            std::strcpy(static_cast<char*>(values[i]), "line 1: not fake");
          }
        }
        return Result::invalid_ptx;
      }
      for (int size = 0; text >> size;) loaded.argument_bytes.push_back(size);
    }
    auto* made = machine().make<FakeModule>();
    *made = loaded;
    *module = handle<ModuleHandle>(made);
    return Result::success;
  });
}
EXPORT Result cuModuleUnload(ModuleHandle module) {
  return call("cuModuleUnload", [&] {
    if (machine().queued() > 0) machine().misuse.emplace_back("module unloaded beside queued work");
    if (!machine().is_live(module)) return Result::invalid_handle;
    for (const auto& [name, function] : behind<FakeModule>(module)->functions) {
      machine().live_functions.erase(&function);
    }
    return expect(machine().destroy(module));
  });
}
EXPORT Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  return call("cuModuleGetFunction", [&] {
    if (!machine().is_live(module)) return Result::invalid_handle;
    auto* owner = behind<FakeModule>(module);
    if (!owner->is_machine_code && owner->kernel != name) return Result::not_found;
    FakeFunction& found = owner->functions[name];
    found.name = name;
    found.argument_bytes = owner->argument_bytes;
    machine().live_functions[&found] = &found;
    *function = handle<FunctionHandle>(&found);
    return Result::success;
  });
}
EXPORT Result cuFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle function) {
  return call("cuFuncGetAttribute", [&] {
    if (!machine().live_functions.contains(behind<FakeFunction>(function))) {
      return Result::invalid_handle;
    }
    *value = attribute == FunctionAttribute::ptx_version ? (machine().kernels_wait ? 90 : 89) : 0;
    return expect(attribute == FunctionAttribute::shared_size_bytes ||
                      attribute == FunctionAttribute::ptx_version,
                  Result::invalid_value);
  });
}
EXPORT Result cuFuncSetAttribute(FunctionHandle function, FunctionAttribute attribute, int value) {
  return call("cuFuncSetAttribute", [&] {
    auto* asked = behind<FakeFunction>(function);
    if (!machine().live_functions.contains(asked)) return Result::invalid_handle;
    if (attribute != FunctionAttribute::max_dynamic_shared_size_bytes || value < 0 ||
        value > 232448) {
      return Result::invalid_value;
    }
    asked->dynamic_bytes = static_cast<unsigned>(value);
    return Result::success;
  });
}
EXPORT Result cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  return call("cuMemGetInfo_v2", [&] {
    *total_bytes = machine().memory;
    *free_bytes = machine().memory - machine().used();
    return Result::success;
  });
}
EXPORT Result cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  return call("cuMemAlloc_v2", [&] {
    if (bytes == 0) return Result::invalid_value;
    *address = machine().allocate(bytes);
    return expect(*address != 0, Result::out_of_memory);
  });
}
EXPORT Result cuMemFree_v2(DevicePointer address) {
  return call("cuMemFree_v2",
              [&] { return expect(machine().release(address), Result::invalid_value); });
}
EXPORT Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return call("cuMemHostAlloc", [&] {
    *memory = machine().pin(bytes);
    return Result::success;
  });
}
EXPORT Result cuMemFreeHost(void* memory) {
  return call("cuMemFreeHost",
              [&] { return expect(machine().unpin(memory), Result::invalid_value); });
}

// Devices of the Metal double, and the functions of C that give them.
#include <unistd.h>

#include "machines/metal_double/commands.h"
#include "machines/metal_double/objc/foundation.h"
#include "machines/metal_double/state.h"

namespace hearth::metal::fake {
namespace {

struct Architecture final : Object {
  static constexpr const char* kType = "MTLArchitecture";
  Architecture() : Object(class_named(kType)) {}
  Id name() { return string("applegpu_double"); }
};

struct Device final : Object {
  static constexpr const char* kType = "MTLDevice";
  // Devices are there as long as the system.
  explicit Device(int of) : Object(class_named(kType), false), number(of) { retain(this); }

  Id name() {
    return string(state().device_name + (number == 0 ? "" : " " + std::to_string(number)));
  }
  Id architecture() { return autorelease(new Architecture); }
  Bool supports_family(Integer family) {
    const bool is_metal3 = family == 5001;
    return static_cast<Bool>(is_metal3 ? state().is_metal3 : family <= state().family);
  }
  UInteger argument_buffers_support() { return state().argument_buffers_tier; }
  Bool has_unified_memory() { return static_cast<Bool>(state().unified); }
  UInteger working_set_size() { return state().memory; }
  UInteger max_buffer_length() { return state().longest_buffer; }
  UInteger max_threadgroup_memory() { return 32 * 1024; }
  void set_concurrent_compilation(Bool value) { state().compiles_concurrently = value != 0; }
  Id new_queue() { return new Queue(this); }
  Id new_buffer(UInteger length, UInteger options) {
    if (length == 0) fault("a buffer of no bytes");
    if (length > state().longest_buffer) fault("a buffer of more bytes than there may be");
    if (options != 0) fault("a buffer that is not shared");
    if (state().gpu == nullptr || length == 0) return nullptr;
    std::byte* const memory = state().gpu->allocate(static_cast<std::int64_t>(length));
    return memory == nullptr ? nullptr : new Buffer(memory, length);
  }
  Id new_buffer_no_copy(void* bytes, UInteger length, UInteger options, Block deallocator) {
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    if (length == 0 || length > state().longest_buffer) fault("a buffer of no bytes, or too many");
    if (options != 0) fault("a buffer that is not shared");
    if (deallocator != nullptr) fault("a block");
    if (reinterpret_cast<std::uintptr_t>(bytes) % page != 0 || length % page != 0) {
      fault("a buffer without a copy that is not of whole pages");
    }
    if (state().gpu == nullptr || !state().gives_buffers_in_place) return nullptr;
    auto* const memory = static_cast<std::byte*>(bytes);
    state().gpu->adopt(memory, static_cast<std::int64_t>(length));
    return new Buffer(memory, length);
  }
  Id archive(Id descriptor, Id* error) { return new_archive(descriptor, error); }
  Id new_residency_set(Id descriptor, Id* error) {
    if (as<ResidencyDescriptor>(descriptor) == nullptr) return nullptr;
    if (state().gives_residency_sets) return new ResidencySet;
    if (error != nullptr) *error = autorelease(new ErrorObject("no residency sets"));
    return nullptr;
  }
  Id library(Id source, Id options, Id* error) { return new_library(source, options, error); }
  Id pipeline(Id descriptor, UInteger options, Id* reflection, Id* error) {
    return new_pipeline(descriptor, options, reflection, error);
  }

  int number;
};

Id device(int number) {
  static auto* devices = new std::map<int, Device*>;
  const std::lock_guard lock(state().mutex);
  Device*& found = (*devices)[number];
  if (found == nullptr) found = new Device(number);
  return found;
}

}  // namespace

void define_devices() {
  define<messages::device_name, &Device::name>();
  define<messages::architecture, &Device::architecture>();
  define<messages::supports_family, &Device::supports_family>();
  define<messages::argument_buffers_support, &Device::argument_buffers_support>();
  define<messages::has_unified_memory, &Device::has_unified_memory>();
  define<messages::working_set_size, &Device::working_set_size>();
  define<messages::max_buffer_length, &Device::max_buffer_length>();
  define<messages::max_threadgroup_memory, &Device::max_threadgroup_memory>();
  define<messages::set_concurrent_compilation, &Device::set_concurrent_compilation>();
  define<messages::new_queue, &Device::new_queue>();
  define<messages::new_buffer, &Device::new_buffer>();
  define<messages::new_buffer_no_copy, &Device::new_buffer_no_copy>();
  define<messages::new_archive, &Device::archive>();
  define<messages::new_residency_set, &Device::new_residency_set>();
  define<messages::new_library, &Device::library>();
  define<messages::new_pipeline, &Device::pipeline>();
  define<messages::architecture_name, &Architecture::name>();
}

}  // namespace hearth::metal::fake

using hearth::metal::Id;

extern "C" __attribute__((visibility("default"))) Id MTLCreateSystemDefaultDevice() {
  namespace fake = hearth::metal::fake;
  if (fake::state().devices == 0) return nullptr;
  const Id found = fake::device(0);
  fake::retain(found);
  return found;
}

extern "C" __attribute__((visibility("default"))) Id MTLCopyAllDevices() {
  namespace fake = hearth::metal::fake;
  std::vector<Id> all;
  for (int i = 0; i < fake::state().devices; ++i) all.push_back(fake::device(i));
  return new fake::Array(std::move(all));
}

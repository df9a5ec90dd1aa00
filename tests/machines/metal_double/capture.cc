// The capture manager of the Metal double.
#include <fstream>

#include "machines/metal_double/objc/foundation.h"
#include "machines/metal_double/state.h"

namespace hearth::metal::fake {
namespace {

constexpr Integer kTraceDocument = 2;

struct CaptureDescriptor final : Object {
  static constexpr const char* kType = "MTLCaptureDescriptor";
  CaptureDescriptor() : Object(class_named(kType)) {}
  static Id make() { return new CaptureDescriptor; }
  void dispose() override {
    release(object);
    release(url);
  }
  void set_object(Id value) {
    const Id given = expect(value, "MTLDevice");
    retain(given);
    release(object);
    object = given;
  }
  void set_destination(Integer value) { destination = value; }
  void set_url(Id value) {
    auto* const given = as<Url>(value);
    retain(given);
    release(url);
    url = given;
  }

  Id object = nullptr;
  Integer destination = 1;  // the developer's tools
  Url* url = nullptr;
};

struct CaptureManager final : Object {
  static constexpr const char* kType = "MTLCaptureManager";
  CaptureManager() : Object(class_named(kType), false) {}
  static Id shared() {
    static auto* manager = new CaptureManager;
    return manager;
  }
  Bool supports(Integer destination) {
    return static_cast<Bool>(state().may_capture && destination == kTraceDocument);
  }
  Bool start(Id given, Id* error) {
    const auto* const descriptor = as<CaptureDescriptor>(given);
    if (descriptor == nullptr) return 0;
    const std::lock_guard lock(state().mutex);
    if (state().is_capturing) fault("a capture starts while another is under way");
    if (descriptor->object == nullptr) fault("a capture of nothing");
    std::string wrong;
    if (supports(descriptor->destination) == 0) {
      wrong = "capturing is not supported";
    } else if (descriptor->url == nullptr) {
      wrong = "a capture to no file";
    } else if (std::ifstream(descriptor->url->path)) {
      wrong = descriptor->url->path + " is there already";
    }
    if (wrong.empty()) {
      std::ofstream(descriptor->url->path) << "gputrace\n";
      state().is_capturing = true;
      return 1;
    }
    if (error != nullptr) *error = autorelease(new ErrorObject(wrong));
    return 0;
  }
  void stop() {
    const std::lock_guard lock(state().mutex);
    if (!state().is_capturing) fault("a capture stops that was not started");
    state().is_capturing = false;
  }
};

}  // namespace

void define_capture() {
  define<messages::capture_manager, &CaptureManager::shared>();
  define<messages::supports_destination, &CaptureManager::supports>();
  define<messages::start_capture, &CaptureManager::start>();
  define<messages::stop_capture, &CaptureManager::stop>();
  define<messages::new_capture_descriptor, &CaptureDescriptor::make>();
  define<messages::set_capture_object, &CaptureDescriptor::set_object>();
  define<messages::set_capture_destination, &CaptureDescriptor::set_destination>();
  define<messages::set_capture_url, &CaptureDescriptor::set_url>();
}

}  // namespace hearth::metal::fake

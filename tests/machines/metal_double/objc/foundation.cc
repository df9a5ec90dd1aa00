#include "machines/metal_double/objc/foundation.h"

#include <algorithm>
#include <cstring>

#include "machines/metal_double/state.h"

namespace hearth::metal::fake {
namespace {

Id retained(Id self) {
  retain(self);
  return self;
}
Bool responds_to(Id self, Selector selector) {
  const bool missing = state().missing.contains(reinterpret_cast<const char*>(selector));
  const Method* const method = self->type->find(selector);
  return static_cast<Bool>(method != nullptr && is_there(*method) && !missing);
}

struct ProcessInfo final : Object {
  static constexpr const char* kType = "NSProcessInfo";
  ProcessInfo() : Object(class_named(kType), false) {}
  static Id shared() {
    static auto* info = new ProcessInfo;
    return info;
  }
  Id version() {
    const SystemVersion& system = state().system;
    return string("Version " + std::to_string(system.major) + "." + std::to_string(system.minor) +
                  " (Build " + state().build + ")");
  }
  Bool is_at_least(SystemVersion version) {
    return static_cast<Bool>(state().told_system.value_or(state().system) >= version);
  }
};

// Whether bytes are sequences of UTF-8 of their right lengths.
bool is_utf8(const char* text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text);
  while (*at != 0) {
    const int more = *at < 0x80 ? 0 : *at < 0xc2 ? -1 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3;
    if (more < 0 || *at > 0xf4) return false;
    ++at;
    for (int i = 0; i < more; ++i, ++at) {
      if (*at < 0x80 || *at > 0xbf) return false;
    }
  }
  return true;
}

Id string_with_utf8(const char* text) {
  if (text == nullptr) fault("a string is made of nothing");
  if (text != nullptr && !is_utf8(text)) return nullptr;
  return string(text == nullptr ? "" : text);
}

Id file_url(Id path) {
  const auto* const given = as<String>(path);
  if (given == nullptr) return nullptr;
  if (given->text.empty() || given->text[0] != '/') fault("a URL of no whole path");
  return autorelease(new Url(given->text));
}

Id array_with(const Id* objects, UInteger count) {
  if (std::find(objects, objects + count, nullptr) != objects + count) fault("an array of nil");
  return autorelease(new Array({objects, objects + count}));
}

Id array_of(Id object) {
  if (object == nullptr) fault("an array of nil");
  return autorelease(new Array({object}));
}

}  // namespace

Id string(const std::string& text) { return autorelease(new String(text)); }

void Array::dispose() {
  for (const Id object : objects) release(object);
  objects.clear();
}

Id Array::at(UInteger index) {
  if (index < objects.size()) return objects[index];
  fault("an array has no such object; got " + std::to_string(index));
  return nullptr;
}

void define_foundation() {
  define<messages::retain, &retained>();
  define<messages::release, &release>();
  define<messages::responds_to, &responds_to>();
  define<messages::string_with_utf8, &string_with_utf8>();
  define<messages::utf8_string, &String::utf8>();
  define<messages::localized_description, &ErrorObject::description>();
  define<messages::array_count, &Array::count>();
  define<messages::object_at, &Array::at>();
  define<messages::array_of, &array_of>();
  define<messages::array_with, &array_with>();
  define<messages::file_url, &file_url>();
  define<messages::process_info, &ProcessInfo::shared>();
  define<messages::version_string, &ProcessInfo::version>();
  define<messages::is_system_at_least, &ProcessInfo::is_at_least>();
}

}  // namespace hearth::metal::fake

extern "C" __attribute__((visibility("default"))) int sysctlbyname(const char* name, void* value,
                                                                   std::size_t* bytes, void*,
                                                                   std::size_t) {
  const auto& state = hearth::metal::fake::state();
  if (!state.tells_product_version || std::strcmp(name, "kern.osproductversion") != 0) return -1;
  std::string text = std::to_string(state.system.major) + "." + std::to_string(state.system.minor);
  if (state.system.patch > 0) text += "." + std::to_string(state.system.patch);
  if (text.size() + 1 > *bytes) return -1;
  *bytes = text.size() + 1;
  std::memcpy(value, text.c_str(), *bytes);
  return 0;
}

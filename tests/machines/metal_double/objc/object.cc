#include "machines/metal_double/objc/object.h"

#include <map>
#include <mutex>
#include <set>

#include "machines/metal_double/state.h"

namespace hearth::metal {

Object::Object(fake::Class& is, bool is_counted) : type(&is) {
  if (is_counted) fake::state().count(is, 1);
}

namespace fake {
namespace {

// Of classes, selectors and what was released.
std::mutex& registry_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::map<std::string, Class*>& all_classes() {
  static auto* classes = new std::map<std::string, Class*>;
  return *classes;
}

std::vector<std::vector<Id>>& pools() {
  thread_local std::vector<std::vector<Id>> mine;
  return mine;
}

std::string name_of(Id object) {
  const bool is_class = dynamic_cast<const Class*>(object) != nullptr;
  return is_class ? static_cast<const Class*>(object)->name : object->type->name;
}

// What an unknown message, or one to nil, calls.
long nothing() { return 0; }

// An exception of Objective-C's, as a C++ program meets it.
struct Raised {};
long raise() { throw Raised(); }

}  // namespace

Class::Class(std::string called, Class* inherits, Meta)
    : Object(*this, false), name(std::move(called)), super(inherits) {}

Class::Class(std::string called, Class* inherits)
    : Object(*this, false), name(std::move(called)), super(inherits) {
  // A class understands what an object does, too.
  type = new Class(name, inherits == nullptr ? this : inherits->type, Meta());
}

const Method* Class::find(Selector selector) const {
  for (const Class* at = this; at != nullptr; at = at->super) {
    const auto found = at->methods.find(selector);
    if (found != at->methods.end()) return &found->second;
  }
  return nullptr;
}

bool is_there(const Method& method) { return state().system >= method.since; }

Class& class_named(const std::string& name) {
  Class* const super = name == "NSObject" ? nullptr : &class_named("NSObject");
  const std::lock_guard lock(registry_mutex());
  Class*& found = all_classes()[name];
  if (found == nullptr) found = new Class(name, super);
  return *found;
}

Selector selector_of(std::string_view name) {
  static auto* names = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(registry_mutex());
  auto found = names->find(name);
  if (found == names->end()) found = names->emplace(name).first;
  return reinterpret_cast<Selector>(found->c_str());
}

void fault(const std::string& what) {
  const std::lock_guard lock(state().mutex);
  state().faults.push_back(what);
}

void retain(Id object) {
  if (object != nullptr) ++object->references;
}

void release(Id object) {
  if (object == nullptr || dynamic_cast<Class*>(object) != nullptr) return;
  if (object->is_released) return fault("a released " + object->type->name + " is released again");
  if (--object->references > 0) return;
  object->is_released = true;
  state().count(*object->type, -1);
  object->dispose();
  if (!state().keeps_released) {
    delete object;
    return;
  }
  // It stays, so that who uses it is found out.
  static auto* gone = new std::vector<Id>;
  const std::lock_guard lock(registry_mutex());
  gone->push_back(object);
}

Id autorelease(Id object) {
  if (pools().empty()) {
    fault(object->type->name + " is autoreleased without a pool, and never released");
  } else {
    pools().back().push_back(object);
  }
  return object;
}

Id expect(Id object, const char* type) {
  if (object == nullptr) {
    fault(std::string("nil in place of a ") + type);
  } else if (object->is_released) {
    fault(std::string("a released ") + object->type->name + " in place of a " + type);
  } else if (object->type->name != type) {
    fault(std::string("a ") + name_of(object) + " in place of a " + type);
  } else {
    return object;
  }
  return nullptr;
}

std::string offset_encoding(const std::string& plain) {
  std::string made;
  std::size_t offset = 0;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    if (plain[at] == '*') made += 'r';  // const char*
    made += plain[at];
    if (plain[at] == '{') {
      while (plain[at] != '}') made += plain[++at];
    } else if (plain[at] == '^') {
      made += plain[++at];
    }
    made += std::to_string(offset);
    offset += 8;
  }
  return made;
}

// What objc_msgSend calls; see send_entry.cc.
extern "C" __attribute__((visibility("hidden"), used)) Implementation
hearth_find_method(Id object, Selector selector) {
  if (object == nullptr) return reinterpret_cast<Implementation>(&nothing);
  const char* const name = reinterpret_cast<const char*>(selector);
  state().note_call(name);
  if (object->is_released) {
    fault(std::string(name) + " is sent to a released " + object->type->name);
    return reinterpret_cast<Implementation>(&nothing);
  }
  const Method* const method = object->type->find(selector);
  if (method == nullptr || state().missing.contains(name)) {
    fault(std::string(name) + " is not understood by a " + name_of(object));
    return reinterpret_cast<Implementation>(&nothing);
  }
  if (state().raises.contains(name)) return reinterpret_cast<Implementation>(&raise);
  if (!is_there(*method)) {
    fault(std::string(name) + " is not there before macOS " + std::to_string(method->since.major));
    return reinterpret_cast<Implementation>(&nothing);
  }
  return method->implementation;
}

}  // namespace fake
}  // namespace hearth::metal

using namespace hearth::metal;        // NOLINT(google-build-using-namespace): names of C
using namespace hearth::metal::fake;  // NOLINT(google-build-using-namespace)

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT Selector sel_registerName(const char* name) { return selector_of(name); }

EXPORT Id objc_getClass(const char* name) {
  static std::once_flag once;
  std::call_once(once, [] {
    define_foundation();
    define_devices();
    define_libraries();
    define_commands();
    define_capture();
    define_mps_arrays();
    define_mps_graphs();
  });
  const std::lock_guard lock(registry_mutex());
  const auto found = all_classes().find(name);
  return found == all_classes().end() ? nullptr : found->second;
}

EXPORT Id object_getClass(Id object) { return object == nullptr ? nullptr : object->type; }

EXPORT void* class_getInstanceMethod(Id type, Selector selector) {
  const char* const name = reinterpret_cast<const char*>(selector);
  if (state().missing.contains(name)) return nullptr;
  const Method* const method = static_cast<Class*>(type)->find(selector);
  return method != nullptr && is_there(*method) ? const_cast<Method*>(method) : nullptr;
}

EXPORT const char* method_getTypeEncoding(void* method) {
  const auto* const found = static_cast<const Method*>(method);
  for (const auto& [name, types] : state().other_types) {
    const Selector selector = selector_of(name);
    for (const MessageInfo& info : message_table()) {
      if (info.selector != name) continue;
      Class& type = class_named(std::string(info.owner));
      if (type.find(selector) == found || type.meta().find(selector) == found) return types.c_str();
    }
  }
  return found->types.c_str();
}

EXPORT void* objc_autoreleasePoolPush() {
  pools().emplace_back();
  return reinterpret_cast<void*>(pools().size());
}

EXPORT void objc_autoreleasePoolPop(void* pool) {
  const auto depth = reinterpret_cast<std::size_t>(pool);
  if (depth == 0 || depth > pools().size()) return fault("a pool ends that is not there");
  while (pools().size() >= depth) {
    const std::vector<Id> objects = std::move(pools().back());
    pools().pop_back();
    for (const Id object : objects) release(object);
  }
}

EXPORT MetalDouble* hearth_metal_double() { return &state(); }

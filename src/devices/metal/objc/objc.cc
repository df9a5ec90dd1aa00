#include "devices/metal/objc/objc.h"

#include <dlfcn.h>

#include <charconv>

#include "devices/metal/objc/encoding.h"
#include "hearth/error.h"

namespace hearth::metal {
namespace {

constexpr const char* kRuntime = "/usr/lib/libobjc.A.dylib";
constexpr const char* kFrameworks[] = {
    "/System/Library/Frameworks/Foundation.framework/Foundation",
    "/System/Library/Frameworks/Metal.framework/Metal",
    // Without it a program with no windows is given no default device.
    "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics",
};

// Its libraries stay open as long as the process.
class Libraries {
 public:
  explicit Libraries(std::vector<std::string>& notes) : notes_(notes) {}

  bool open(const std::string& path) {
    if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      notes_.push_back(path + ": opened");
      handles_.push_back(handle);
      return true;
    }
    const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): kept for each thread
    const std::string text = reason == nullptr ? "cannot be opened" : reason;
    notes_.push_back(text.rfind(path + ":", 0) == 0 ? text : path + ": " + text);
    return false;
  }

  template <class Function>
  bool find(const char* name, Function& function) {
    for (void* const handle : handles_) {
      if (void* const symbol = dlsym(handle, name)) {
        function = reinterpret_cast<Function>(symbol);
        return true;
      }
    }
    function = nullptr;
    return false;
  }

 private:
  std::vector<std::string>& notes_;
  std::vector<void*> handles_;
};

}  // namespace

ObjectiveC::ObjectiveC(const Functions& functions, bool is_system)
    : functions_(functions), is_system_(is_system) {
  for (std::size_t i = 0; i < kMessages; ++i) {
    selectors_[i] = functions_.sel_registerName(message_table()[i].selector);
  }
}

std::shared_ptr<const ObjectiveC> ObjectiveC::open(const std::string& library,
                                                   std::vector<std::string>& notes) {
  Libraries libraries(notes);
  if (!libraries.open(library.empty() ? kRuntime : library)) {
    notes.emplace_back("no Metal: there is no Objective-C runtime");
    return nullptr;
  }
  if (library.empty()) {
    for (const char* framework : kFrameworks) libraries.open(framework);
  }
  Functions functions{};
  std::string missing;
  const auto need = [&](const char* name, auto& function) {
    if (!libraries.find(name, function)) missing.append(" ").append(name);
  };
#define HEARTH_NEED(name) need(#name, functions.name)
  HEARTH_NEED(objc_msgSend);
  HEARTH_NEED(objc_getClass);
  HEARTH_NEED(sel_registerName);
  HEARTH_NEED(object_getClass);
  HEARTH_NEED(class_getInstanceMethod);
  HEARTH_NEED(method_getTypeEncoding);
  HEARTH_NEED(objc_autoreleasePoolPush);
  HEARTH_NEED(objc_autoreleasePoolPop);
  HEARTH_NEED(MTLCreateSystemDefaultDevice);
#undef HEARTH_NEED
  libraries.find("MTLCopyAllDevices", functions.MTLCopyAllDevices);
  libraries.find("sysctlbyname", functions.sysctlbyname);
  if (!missing.empty()) {
    notes.push_back("no Metal: the system's libraries lack" + missing);
    return nullptr;
  }
  std::shared_ptr<const ObjectiveC> objc(new ObjectiveC(functions, library.empty()));
  bool fits = true;
  for (const char* name : {"NSString", "NSArray", "NSURL", "NSProcessInfo", "MTLCompileOptions",
                           "MTLComputePipelineDescriptor"}) {
    const Id type = objc->type_named(name);
    if (type == nullptr) notes.push_back(std::string("no class ") + name);
    fits = type != nullptr && objc->check(type, name, MessageInfo::Receiver::type, notes) && fits;
  }
  if (!fits) {
    notes.emplace_back("no Metal: the system's classes are not those that are known here");
    return nullptr;
  }
  return objc;
}

Owned ObjectiveC::keep(Id object) const {
  return {*this, object == nullptr ? nullptr : send(object, messages::retain)};
}

void ObjectiveC::release(Id object) const noexcept {
  without_throwing([&] { send(object, messages::release); });
}

void ObjectiveC::throw_raised(std::size_t message) {
  const MessageInfo& info = message_table()[message];
  throw Error(ErrorCode::device, "metal: an exception of the system's; got one from [" +
                                     std::string(info.owner) + " " + info.selector +
                                     "], expected it to return");
}

Id ObjectiveC::string(const std::string& text) const {
  const Id made = send(type_named("NSString"), messages::string_with_utf8, text.c_str());
  if (made != nullptr) return made;
  throw Error(ErrorCode::invalid_argument, "metal: a text cannot be passed on; got " +
                                               std::to_string(text.size()) +
                                               " bytes that are no UTF-8, expected UTF-8");
}

Id ObjectiveC::array(std::span<const Id> objects) const {
  return send(type_named("NSArray"), messages::array_with, objects.data(), objects.size());
}

Id ObjectiveC::numbers(std::span<const UInteger> values) const {
  const Id type = type_named("NSNumber");
  std::vector<Id> objects;
  for (const UInteger value : values) {
    objects.push_back(send(type, messages::number_with, value));
  }
  return array(objects);
}

bool ObjectiveC::open_framework(const char* path, std::vector<std::string>& notes) const {
  return !is_system_ || Libraries(notes).open(path);
}

std::string ObjectiveC::text(Id string) const {
  const char* const bytes = string == nullptr ? nullptr : send(string, messages::utf8_string);
  return bytes == nullptr ? "" : bytes;
}

std::string ObjectiveC::error_text(Id error) const {
  return error == nullptr ? "" : text(send(error, messages::localized_description));
}

std::vector<Owned> ObjectiveC::devices() const {
  std::vector<Owned> all;
  const AutoreleasePool pool(*this);
  if (functions_.MTLCopyAllDevices != nullptr) {
    const Owned array(*this, functions_.MTLCopyAllDevices());
    const UInteger count = array ? send(array.get(), messages::array_count) : 0;
    for (UInteger i = 0; i < count; ++i) {
      all.push_back(keep(send(array.get(), messages::object_at, i)));
    }
  }
  if (all.empty()) {
    Owned device(*this, functions_.MTLCreateSystemDefaultDevice());
    if (device) all.push_back(std::move(device));
  }
  return all;
}

SystemVersion ObjectiveC::product_version() const {
  std::array<char, 32> text{};
  std::size_t bytes = text.size() - 1;
  if (functions_.sysctlbyname == nullptr ||
      functions_.sysctlbyname("kern.osproductversion", text.data(), &bytes, nullptr, 0) != 0) {
    return {};
  }
  SystemVersion version;
  const char* at = text.data();
  for (Integer* const part : {&version.major, &version.minor, &version.patch}) {
    const auto [end, status] = std::from_chars(at, text.data() + text.size(), *part);
    if (status != std::errc()) return part == &version.major ? SystemVersion{} : version;
    if (*end != '.') break;
    at = end + 1;
  }
  return version;
}

SystemVersion ObjectiveC::system_version() const {
  // NSProcessInfo tells programs that were linked with an older SDK of an older system.
  const SystemVersion product = product_version();
  if (product.major > 0) return product;
  const AutoreleasePool pool(*this);
  const Id info = send(type_named("NSProcessInfo"), messages::process_info);
  for (const Integer major : {26, 15, 14, 13}) {
    if (send(info, messages::is_system_at_least, {major, 0, 0}) != 0) return {major, 0, 0};
  }
  return {};
}

std::string ObjectiveC::system_name() const {
  const AutoreleasePool pool(*this);
  const Id info = send(type_named("NSProcessInfo"), messages::process_info);
  return text(send(info, messages::version_string));
}

bool ObjectiveC::check(Id object, std::string_view owner, MessageInfo::Receiver receiver,
                       std::vector<std::string>& lines) const {
  return check_methods(functions_.object_getClass(object), object, owner, receiver, lines);
}

bool ObjectiveC::check_class(const char* name, std::vector<std::string>& lines) const {
  const Id type = type_named(name);
  if (type == nullptr) {
    lines.push_back(std::string("no class ") + name);
    return false;
  }
  const bool makes = check(type, name, MessageInfo::Receiver::type, lines);
  return check_methods(type, nullptr, name, MessageInfo::Receiver::object, lines) && makes;
}

bool ObjectiveC::check_methods(Id type, Id object, std::string_view owner,
                               MessageInfo::Receiver receiver,
                               std::vector<std::string>& lines) const {
  const SystemVersion system =
      receiver == MessageInfo::Receiver::object ? system_version() : SystemVersion();
  bool fits = true;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const MessageInfo& message = message_table()[i];
    if (message.owner != owner || message.receiver != receiver) continue;
    if (receiver == MessageInfo::Receiver::object && !(system >= message.since)) continue;
    const std::string name = (receiver == MessageInfo::Receiver::type ? "+[" : "-[") +
                             std::string(owner) + " " + message.selector + "]";
    void* const method = functions_.class_getInstanceMethod(type, selectors_[i]);
    if (method == nullptr) {
      // An object may pass on what its class has no method for, as those of Metal's debugger do.
      if (object != nullptr && send(object, messages::responds_to, selectors_[i]) != 0) continue;
      lines.push_back(name + " is missing");
      fits = false;
      continue;
    }
    const char* const types = functions_.method_getTypeEncoding(method);
    const std::string got = types == nullptr ? "" : plain_encoding(types);
    const std::string expected = plain_encoding(message.encoding());
    if (got == expected) continue;
    lines.push_back(name + " has other types; got " + got + ", expected " + expected);
    fits = fits && call_shape(got) == call_shape(expected);
  }
  return fits;
}

}  // namespace hearth::metal

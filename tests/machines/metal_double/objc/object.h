// Objects and classes of the Metal double's Objective-C runtime.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "devices/metal/objc/encoding.h"
#include "devices/metal/objc/messages.h"

namespace hearth::metal {

namespace fake {
struct Class;
}  // namespace fake

struct Object {
  explicit Object(fake::Class& is, bool is_counted = true);
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  // Gives up what the object holds. The object itself stays, so that who uses it is found out.
  virtual void dispose() {}

  fake::Class* type;
  std::atomic<int> references{1};
  std::atomic<bool> is_released{false};
};

namespace fake {

using Implementation = void (*)();

struct Method {
  Implementation implementation;
  std::string types;  // as the runtime writes them, with offsets
  SystemVersion since;
};

struct Class : Object {
  Class(std::string called, Class* inherits);
  const Method* find(Selector selector) const;
  // The class that describes the class itself.
  Class& meta() { return *type; }

  std::string name;
  Class* super;
  std::unordered_map<Selector, Method> methods;

 private:
  struct Meta {};
  Class(std::string called, Class* inherits, Meta);
};

// Whether the system that the Metal double stands for has the method.
bool is_there(const Method& method);

// A class by its name, made when it is first asked for; all inherit from NSObject.
Class& class_named(const std::string& name);
Selector selector_of(std::string_view name);

// Takes part of the life of objects, as release and autorelease do.
void retain(Id object);
void release(Id object);
// Returns the object. A fault where the thread has no pool.
Id autorelease(Id object);

// A caller did what it must not.
void fault(const std::string& what);
// The object of a class here behind an argument; a fault and null for what is none.
Id expect(Id object, const char* type);
template <class T>
T* as(Id object) {
  return static_cast<T*>(expect(object, T::kType));
}

// How the runtime writes the types of a method: with the offsets that nobody uses.
std::string offset_encoding(const std::string& plain);

template <auto kMessage, auto kMethod>
struct Call;
template <class R, class... A, bool kOwned, Message<R(A...), kOwned> kMessage, class T,
          R (T::*kMethod)(A...)>
struct Call<kMessage, kMethod> {
  static R call(Id self, Selector, A... arguments) {
    return (static_cast<T*>(self)->*kMethod)(arguments...);
  }
};
template <class R, class... A, bool kOwned, Message<R(A...), kOwned> kMessage, R (*kFunction)(A...)>
struct Call<kMessage, kFunction> {
  static R call(Id, Selector, A... arguments) { return kFunction(arguments...); }
};
// What objects of every class do.
template <class R, class... A, bool kOwned, Message<R(A...), kOwned> kMessage,
          R (*kFunction)(Id, A...)>
struct Call<kMessage, kFunction> {
  static R call(Id self, Selector, A... arguments) { return kFunction(self, arguments...); }
};

// Gives a class the method of a message. Its types are those of the table, or it does not compile.
template <auto kMessage, auto kMethod>
void define() {
  const MessageInfo& info = message_table()[kMessage.index];
  Class& type = class_named(std::string(info.owner));
  Class& owner = info.receiver == MessageInfo::Receiver::type ? type.meta() : type;
  owner.methods[selector_of(info.selector)] = {
      reinterpret_cast<Implementation>(&Call<kMessage, kMethod>::call),
      offset_encoding(info.encoding()), info.since};
}

}  // namespace fake
}  // namespace hearth::metal

// The Objective-C runtime and the frameworks, opened at run time: nothing of Apple's is needed to
// build this, and on other systems it is not there.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "devices/metal/objc/messages.h"
#include "devices/metal/objc/types.h"

namespace hearth::metal {

class ObjectiveC;

// For what must not throw: an exception of Metal's ends here, and what was begun stays undone.
template <class Function>
void without_throwing(const Function& function) noexcept {
  try {
    function();
  } catch (...) {  // NOLINT(bugprone-empty-catch)
  }
}

// An object that is released at the end. It must not outlive the runtime that it came from.
class Owned {
 public:
  Owned() noexcept = default;
  // Takes what the caller owns.
  Owned(const ObjectiveC& objc, Id object) noexcept : objc_(&objc), object_(object) {}
  Owned(Owned&& other) noexcept { swap(other); }
  Owned& operator=(Owned&& other) noexcept {
    Owned(std::move(other)).swap(*this);
    return *this;
  }
  ~Owned();

  Id get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  // The object, which is the caller's from now on.
  Id give() noexcept { return std::exchange(object_, nullptr); }
  void swap(Owned& other) noexcept {
    std::swap(objc_, other.objc_);
    std::swap(object_, other.object_);
  }

 private:
  const ObjectiveC* objc_ = nullptr;
  Id object_ = nullptr;
};

// Thread-safe.
class ObjectiveC {
 public:
  // `library`: one that stands for the runtime and all frameworks; empty: the system's. Null where
  // anything is missing, for the reason that `notes` gives then.
  static std::shared_ptr<const ObjectiveC> open(const std::string& library,
                                                std::vector<std::string>& notes);

  // Each shape of a call is a function type of its own: variadic calls pass values elsewhere. What
  // returns an object that the caller owns gives an Owned. Throws Error{device} where the method
  // raises an exception.
  template <class R, class... A, bool kOwned>
  auto send(Id receiver, Message<R(A...), kOwned> message,
            std::type_identity_t<A>... arguments) const {
    using Function = R (*)(Id, Selector, A...);
    const auto function = reinterpret_cast<Function>(functions_.objc_msgSend);
    try {
      if constexpr (kOwned) {
        static_assert(std::is_same_v<R, Id>);
        return Owned(*this, function(receiver, selectors_[message.index], arguments...));
      } else {
        return function(receiver, selectors_[message.index], arguments...);
      }
    } catch (...) {  // those of Objective-C, too
      throw_raised(message.index);
    }
  }
  // What `alloc` to the type makes, initialised: it belongs to the second message, which gives it
  // or another in its place.
  template <class R, class... A>
  Owned make(Id type, Message<Id(), true> alloc, Message<R(A...), true> init,
             std::type_identity_t<A>... arguments) const {
    return send(send(type, alloc).give(), init, arguments...);
  }
  template <class Signature, bool kOwned>
  bool understands(Id receiver, Message<Signature, kOwned> message) const {
    return receiver != nullptr &&
           send(receiver, messages::responds_to, selectors_[message.index]) != 0;
  }
  // Another owner of an object that somebody else, such as a pool, releases.
  Owned keep(Id object) const;
  void release(Id object) const noexcept;

  // Null where there is none.
  Id type_named(const char* name) const { return functions_.objc_getClass(name); }
  // An autoreleased NSString. Throws Error{invalid_argument} for what is no UTF-8.
  Id string(const std::string& text) const;
  // Autoreleased NSArrays.
  Id array(std::span<const Id> objects) const;
  Id numbers(std::span<const UInteger> values) const;  // of NSNumbers
  // Empty for nil.
  std::string text(Id string) const;
  std::string error_text(Id error) const;

  // Opens another of the system's frameworks; false, for the reason that `notes` gives, where there
  // is none.
  bool open_framework(const char* path, std::vector<std::string>& notes) const;

  // Those of MTLCopyAllDevices, or the default one.
  std::vector<Owned> devices() const;
  // Of macOS.
  SystemVersion system_version() const;
  // As the system names its very build.
  std::string system_name() const;

  // Messages to objects of `owner` that the type of `object` does not understand, or with other
  // types: a line each. True where all can be sent nevertheless. For messages to a class itself
  // pass it as `object`.
  bool check(Id object, std::string_view owner, MessageInfo::Receiver receiver,
             std::vector<std::string>& lines) const;
  // The same for a class by its name and for its objects, without one of them.
  bool check_class(const char* name, std::vector<std::string>& lines) const;

 private:
  friend class AutoreleasePool;

  [[noreturn]] static void throw_raised(std::size_t message);
  // By kern.osproductversion; of zeros where the system does not tell.
  SystemVersion product_version() const;
  // Of what objects of a class understand; `object`: one of them, or null.
  bool check_methods(Id type, Id object, std::string_view owner, MessageInfo::Receiver receiver,
                     std::vector<std::string>& lines) const;

  struct Functions {
    void (*objc_msgSend)();
    Id (*objc_getClass)(const char* name);
    Selector (*sel_registerName)(const char* name);
    Id (*object_getClass)(Id object);
    void* (*class_getInstanceMethod)(Id type, Selector selector);
    const char* (*method_getTypeEncoding)(void* method);
    void* (*objc_autoreleasePoolPush)();
    void (*objc_autoreleasePoolPop)(void* pool);
    Id (*MTLCreateSystemDefaultDevice)();
    Id (*MTLCopyAllDevices)();  // null on iOS
    // Null where the system has none.
    int (*sysctlbyname)(const char* name, void* value, std::size_t* bytes, void* other,
                        std::size_t other_bytes);
  };

  ObjectiveC(const Functions& functions, bool is_system);

  Functions functions_;
  bool is_system_;
  std::array<Selector, kMessages> selectors_;
};

// Objects that calls return without giving them to the caller live until the innermost pool of the
// thread ends.
class AutoreleasePool {
 public:
  explicit AutoreleasePool(const ObjectiveC& objc)
      : objc_(objc), pool_(objc.functions_.objc_autoreleasePoolPush()) {}
  ~AutoreleasePool() {
    without_throwing([this] { objc_.functions_.objc_autoreleasePoolPop(pool_); });
  }
  AutoreleasePool(const AutoreleasePool&) = delete;
  AutoreleasePool& operator=(const AutoreleasePool&) = delete;

 private:
  const ObjectiveC& objc_;
  void* pool_;
};

inline Owned::~Owned() {
  if (object_ != nullptr) objc_->release(object_);
}

}  // namespace hearth::metal

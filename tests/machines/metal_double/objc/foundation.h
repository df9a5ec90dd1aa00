// The classes of Foundation that Metal's calls take and return.
#pragma once

#include <string>
#include <vector>

#include "machines/metal_double/objc/object.h"

namespace hearth::metal::fake {

struct String final : Object {
  static constexpr const char* kType = "NSString";
  explicit String(std::string of) : Object(class_named(kType)), text(std::move(of)) {}
  const char* utf8() { return text.c_str(); }
  std::string text;
};

// Autoreleased.
Id string(const std::string& text);

struct ErrorObject final : Object {
  static constexpr const char* kType = "NSError";
  explicit ErrorObject(std::string of) : Object(class_named(kType)), text(std::move(of)) {}
  Id description() { return string(text); }
  std::string text;
};

struct Array final : Object {
  static constexpr const char* kType = "NSArray";
  explicit Array(std::vector<Id> of) : Object(class_named(kType)), objects(std::move(of)) {
    for (const Id object : objects) retain(object);
  }
  void dispose() override;
  UInteger count() { return objects.size(); }
  Id at(UInteger index);
  std::vector<Id> objects;
};

struct Url final : Object {
  static constexpr const char* kType = "NSURL";
  explicit Url(std::string of) : Object(class_named(kType)), path(std::move(of)) {}
  std::string path;
};

}  // namespace hearth::metal::fake

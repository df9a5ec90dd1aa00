// The arguments of a call, by the names of a function's parameters.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

// For messages, behind what is got: ", expected one of a, b", or that none is.
std::string expected_names(const std::vector<std::string>& names);

class Bound {
 public:
  // `names`: the parameters in their order, of which the first `required` must be given. Throws
  // Error{invalid_argument} as fail() does.
  Bound(Context& context, const Arguments& arguments, std::initializer_list<const char*> names,
        std::size_t required = 0);

  bool has(std::size_t index) const { return values_[index].has_value(); }
  // What is not given is undefined.
  Value value(std::size_t index) const { return values_[index].value_or(Value(Undefined{})); }
  // Throw Error{invalid_argument} for a value of another kind; `fallback` where it is not given.
  bool truth(std::size_t index, bool fallback) const;
  std::int64_t integer(std::size_t index, std::int64_t fallback) const;
  MarkedText text(std::size_t index, std::string_view fallback) const;
  // Nothing where it is not given or none.
  std::optional<MarkedText> optional_text(std::size_t index) const;

  // Throws Error{invalid_argument}: "function: what".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  Context& context_;
  std::string function_;
  std::vector<const char*> names_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace hearth::models::chat_template

// Filters, tests and methods by their names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/chat_template/interpreter.h"

namespace hearth::models::chat_template {

using Filter = Value (*)(Interpreter& interpreter, const Value& value, const Arguments& arguments);
using Test = bool (*)(Interpreter& interpreter, const Value& value, const Arguments& arguments);

template <typename Function>
struct Named {
  std::string_view name;
  Function function;
};
using NamedFilter = Named<Filter>;
using NamedTest = Named<Test>;

// ---- Tables

std::span<const NamedFilter> text_filters();
std::span<const NamedFilter> markup_filters();
std::span<const NamedFilter> value_filters();
std::span<const NamedFilter> list_filters();
std::span<const NamedTest> all_tests();
std::span<const NamedFilter> text_methods();
// Of the kind that `value` is; empty for other values than lists, tuples, dicts and their views.
std::span<const NamedFilter> container_methods(const Value& value);

// ---- Null where there is none

Filter find_filter(std::string_view name);
Test find_test(std::string_view name);
Filter find_method(const Value& value, std::string_view name);

// ---- For messages: what was probably meant by a name that there is not, and the ways it is said

std::string expected_filter(std::string_view name);
std::string expected_test(std::string_view name);
// Empty where none is near.
std::string expected_method(const Value& value, std::string_view name);

}  // namespace hearth::models::chat_template

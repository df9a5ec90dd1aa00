#include "models/chat_template/built_ins.h"

#include <vector>

#include "core/closest.h"

namespace hearth::models::chat_template {
namespace {

constexpr std::span<const NamedFilter> (*kFilterTables[])() = {value_filters, text_filters,
                                                               markup_filters, list_filters};

template <typename Function>
Function find_in(std::span<const Named<Function>> all, std::string_view name) {
  for (const Named<Function>& each : all) {
    if (each.name == name) return each.function;
  }
  return nullptr;
}

template <typename Function>
void add_names(std::span<const Named<Function>> all, std::vector<std::string>& names) {
  for (const Named<Function>& each : all) names.emplace_back(each.name);
}

std::span<const NamedFilter> methods_of(const Value& value) {
  return value.text() != nullptr ? text_methods() : container_methods(value);
}

// Empty where no name is near.
std::string perhaps(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 40;  // what is longer is near none
  const std::string meant = name.size() > kLongest ? "" : closest(name, names);
  return meant.empty() ? "" : ", expected perhaps " + meant;
}

}  // namespace

Filter find_filter(std::string_view name) {
  for (const auto table : kFilterTables) {
    if (const Filter filter = find_in(table(), name)) return filter;
  }
  return nullptr;
}

Test find_test(std::string_view name) { return find_in(all_tests(), name); }

Filter find_method(const Value& value, std::string_view name) {
  return find_in(methods_of(value), name);
}

std::string expected_filter(std::string_view name) {
  std::vector<std::string> names;
  for (const auto table : kFilterTables) add_names(table(), names);
  const std::string near = perhaps(name, names);
  return near.empty() ? ", expected one that jinja2 has" : near;
}

std::string expected_test(std::string_view name) {
  std::vector<std::string> names;
  add_names(all_tests(), names);
  const std::string near = perhaps(name, names);
  return near.empty() ? ", expected one that jinja2 has" : near;
}

std::string expected_method(const Value& value, std::string_view name) {
  std::vector<std::string> names;
  add_names(methods_of(value), names);
  return perhaps(name, names);
}

}  // namespace hearth::models::chat_template

// Methods of lists, tuples and dicts. Those that would change their value are refused.
#include <algorithm>

#include "models/chat_template/arguments.h"
#include "models/chat_template/built_ins.h"

namespace hearth::models::chat_template {
namespace {

Value refused_method(Interpreter& interpreter, const Value& value, const Arguments&) {
  interpreter.context().fail(
      std::string("a method would change its value; got one of ") + type_name(value) +
      ", whose values never change, expected a new one in its place, such as a + b");
}

Value copy_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound(interpreter.context(), arguments, {});
  return value;
}

Value list_index_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"value"}, 1);
  const Values& items = value.list()->items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equals(context, items[i], bound.value(0))) return static_cast<std::int64_t>(i);
  }
  context.fail("index: a value is not in the list; expected one of its elements");
}

Value list_count_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"value"}, 1);
  const Values& items = value.list()->items;
  return static_cast<std::int64_t>(
      std::count_if(items.begin(), items.end(),
                    [&](const Value& item) { return equals(context, item, bound.value(0)); }));
}

Value get_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"key", "default"}, 1);
  if (const Value* found = value.dict()->find(context, bound.value(0))) return *found;
  return bound.has(1) ? bound.value(1) : Value(None{});
}

Value keys_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  Values items = reserved_values(context, value.dict()->size());
  for (const auto& [key, member] : value.dict()->entries()) items.push_back(key);
  return make_counted_list(context, std::move(items), ListKind::keys_view);
}

Value values_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  Values items = reserved_values(context, value.dict()->size());
  for (const auto& [key, member] : value.dict()->entries()) items.push_back(member);
  return make_counted_list(context, std::move(items), ListKind::values_view);
}

Value items_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  Values items = reserved_values(context, value.dict()->size());
  for (const auto& [key, member] : value.dict()->entries()) {
    items.push_back(make_list(context, {key, member}, ListKind::tuple));
  }
  return make_counted_list(context, std::move(items), ListKind::items_view);
}

constexpr NamedFilter kListMethods[] = {
    {"index", list_index_method}, {"count", list_count_method}, {"copy", copy_method},
    {"append", refused_method},   {"clear", refused_method},    {"pop", refused_method},
    {"reverse", refused_method},  {"insert", refused_method},   {"sort", refused_method},
    {"extend", refused_method},   {"remove", refused_method},
};
constexpr NamedFilter kTupleMethods[] = {{"index", list_index_method},
                                         {"count", list_count_method}};
constexpr NamedFilter kDictMethods[] = {
    {"get", get_method},        {"keys", keys_method},       {"values", values_method},
    {"items", items_method},    {"copy", copy_method},       {"clear", refused_method},
    {"pop", refused_method},    {"popitem", refused_method}, {"setdefault", refused_method},
    {"update", refused_method},
};

}  // namespace

std::span<const NamedFilter> container_methods(const Value& value) {
  if (value.dict() != nullptr) return kDictMethods;
  const List* list = value.list();
  if (list == nullptr || list->kind == ListKind::generator) return {};
  if (list->kind == ListKind::list) return kListMethods;
  return kTupleMethods;
}

}  // namespace hearth::models::chat_template

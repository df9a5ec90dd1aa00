// Attributes and items.
#include "core/quoted.h"
#include "models/chat_template/built_ins.h"
#include "models/chat_template/unicode.h"

namespace hearth::models::chat_template {
namespace {

Value loop_cycle(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Values& choices = arguments.positional;
  if (choices.empty()) {
    interpreter.context().fail(
        "loop.cycle: nothing to choose from; got no arguments, expected at least one");
  }
  return choices[value.loop()->index % choices.size()];
}

Value loop_changed(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const auto& loop = std::get<std::shared_ptr<Loop>>(value);
  const Value now = make_list(context, arguments.positional);
  const bool has_changed = !equals(context, loop->last_changed, now);
  loop->last_changed = now;
  context.charge_bytes(sizeof(Loop));
  interpreter.keep(loop);
  return has_changed;
}

Value loop_attribute(Context& context, const Value& value, std::string_view name) {
  const Loop& loop = *value.loop();
  const auto index = static_cast<std::int64_t>(loop.index);
  const auto count = static_cast<std::int64_t>(loop.items->items.size());
  const auto item_at = [&](std::int64_t at, const char* none) {
    if (at < 0 || at >= count) return make_undefined(none);
    return loop.items->items[static_cast<std::size_t>(at)];
  };
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return count - index;
  if (name == "revindex0") return count - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == count;
  if (name == "length") return count;
  if (name == "depth") return loop.depth + 1;
  if (name == "depth0") return loop.depth;
  if (name == "previtem") return item_at(index - 1, "there is no previous item");
  if (name == "nextitem") return item_at(index + 1, "there is no next item");
  if (name == "cycle") return make_method(context, "cycle", value, loop_cycle);
  if (name == "changed") return make_method(context, "changed", value, loop_changed);
  return make_undefined("a loop has no attribute " + hearth::quoted(name, 60));
}

// Index of an element, from the end where it is negative. Negative for none.
std::int64_t placed(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  return index < count ? index : -1;
}

[[noreturn]] void fail_undefined(Context& context, const Undefined& value,
                                 const std::string& wanted) {
  context.fail((value.what == nullptr ? std::string("a value is undefined") : *value.what) +
               "; it was asked for " + wanted);
}

}  // namespace

Value Interpreter::attribute(const Value& value, std::string_view name) {
  if (const auto* undefined = std::get_if<Undefined>(&value)) {
    fail_undefined(context_, *undefined, "its attribute " + hearth::quoted(name, 60));
  }
  if (value.loop() != nullptr) return loop_attribute(context_, value, name);
  if (Namespace* space = value.name_space()) {
    if (const Value* found = space->find(name)) return *found;
  }
  if (const Filter method = find_method(value, name)) {
    return make_method(context_, std::string(name), value, method);
  }
  if (const Dict* dict = value.dict()) {
    if (const Value* found = dict->find(name)) return *found;
  }
  if (const Callable* callable = value.callable(); callable != nullptr && name == "name") {
    return make_text(context_, callable->name);
  }
  return make_undefined(std::string(type_name(value)) + " has no attribute " +
                        hearth::quoted(name, 60));
}

Value Interpreter::item(const Value& value, const Value& key) {
  if (const auto* undefined = std::get_if<Undefined>(&value)) {
    fail_undefined(context_, *undefined, "an item");
  }
  if (const Dict* dict = value.dict()) {
    const bool is_key = key.dict() == nullptr && key.name_space() == nullptr &&
                        key.loop() == nullptr && key.callable() == nullptr &&
                        (key.list() == nullptr || key.list()->kind == ListKind::tuple);
    const Value* found = is_key ? dict->find(context_, key) : nullptr;
    if (found != nullptr) return *found;
  }
  const List* list = value.list();
  if (list != nullptr && list->kind <= ListKind::range && key.is_integer()) {
    const std::int64_t at = placed(key.integer(), list->items.size());
    if (at >= 0) return list->items[static_cast<std::size_t>(at)];
  }
  if (const MarkedText* text = value.text(); text != nullptr && key.is_integer()) {
    context_.charge_steps(text->size() / 32);
    const std::int64_t at = placed(key.integer(), count_characters(text->view()));
    if (at >= 0) {
      const std::size_t byte = byte_of_character(text->view(), static_cast<std::size_t>(at));
      return make_text(context_, text->part(byte, character_at(text->view(), byte).size));
    }
  }
  if (const MarkedText* name = key.text()) return attribute(value, name->view());
  const std::string shown = key.is_integer() ? " " + std::to_string(key.integer()) : "";
  return make_undefined(std::string(type_name(value)) + " has no item" + shown);
}

}  // namespace hearth::models::chat_template

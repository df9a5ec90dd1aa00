#include "models/chat_template/value.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/number_text.h"
#include "models/chat_template/interpreter.h"
#include "models/chat_template/unicode.h"

namespace hearth::models::chat_template {
namespace {

int nesting_of(const Value& value) {
  if (const List* list = value.list()) return list->nesting;
  if (const Dict* dict = value.dict()) return dict->nesting();
  if (const Callable* callable = value.callable()) return callable->nesting;
  if (const Loop* loop = value.loop()) return loop->items->nesting + 1;
  return 0;
}

int nesting_around(Context& context, int inner, const Value& value) {
  const int nesting = std::max(inner, nesting_of(value) + 1);
  if (nesting > context.limits().nesting) {
    context.fail("the limit of nesting is reached; expected at most " +
                 std::to_string(context.limits().nesting) + " lists and dicts within one another");
  }
  return nesting;
}

std::string text_key_of(std::string_view text) { return "s" + std::string(text); }

// Equal for what Python takes for one key.
std::string key_of(Context& context, const Value& key) {
  charge_walk(context, key);
  if (const MarkedText* text = key.text()) return text_key_of(text->view());
  if (key.is_integer()) return "i" + std::to_string(key.integer());
  if (const double* number = key.floating()) {
    if (std::abs(*number) < 9e18 && *number == std::trunc(*number)) {
      return "i" + std::to_string(static_cast<std::int64_t>(*number));
    }
    return "f" + number_text(*number);
  }
  if (const LargeInteger* large = key.large_integer()) return "i" + std::to_string(large->value);
  if (key.is_none()) return "n";
  if (const List* list = key.list(); list != nullptr && list->kind == ListKind::tuple) {
    std::string out = "t";
    for (const Value& item : list->items) {
      const std::string each = key_of(context, item);
      out += std::to_string(each.size()) + ":" + each;
    }
    context.charge_bytes(out.size());
    return out;
  }
  context.fail(std::string("a value cannot be a key; got ") + type_name(key) +
               ", expected a text, a number or a tuple");
}

int sign_of(double difference) { return difference < 0 ? -1 : difference > 0 ? 1 : 0; }

bool equal_lists(Context& context, const List& left, const List& right) {
  const bool is_alike = left.kind == right.kind;
  if (!is_alike || left.items.size() != right.items.size()) return false;
  for (std::size_t i = 0; i < left.items.size(); ++i) {
    if (!equals(context, left.items[i], right.items[i])) return false;
  }
  return true;
}

bool equal_dicts(Context& context, const Dict& left, const Dict& right) {
  if (left.size() != right.size()) return false;
  for (const auto& [key, value] : left.entries()) {
    const Value* other = right.find(context, key);
    if (other == nullptr || !equals(context, value, *other)) return false;
  }
  return true;
}

}  // namespace

bool Value::is_integer() const {
  return std::holds_alternative<std::int64_t>(*this) || std::holds_alternative<bool>(*this);
}

std::int64_t Value::integer() const {
  const bool* truth = boolean();
  return truth != nullptr ? (*truth ? 1 : 0) : std::get<std::int64_t>(*this);
}

double Value::number() const {
  const double* found = floating();
  return found != nullptr ? *found : static_cast<double>(integer());
}

const Value* Dict::find(std::string_view text_key) const {
  const auto at = index_.find(text_key_of(text_key));
  return at == index_.end() ? nullptr : &entries_[at->second].second;
}

const Value* Dict::find(Context& context, const Value& key) const {
  if (key.is_undefined()) return nullptr;
  context.charge_steps(1);
  const auto at = index_.find(key_of(context, key));
  return at == index_.end() ? nullptr : &entries_[at->second].second;
}

void Dict::set(Context& context, Value key, Value value) {
  nesting_ = nesting_around(context, nesting_, value);
  context.charge_steps(1);
  std::string text = key_of(context, key);
  context.charge_bytes(text.size());
  const auto [at, is_new] = index_.emplace(std::move(text), entries_.size());
  if (is_new) {
    context.charge_bytes(kMemberBytes);
    entries_.emplace_back(std::move(key), std::move(value));
  } else {
    entries_[at->second].second = std::move(value);
  }
}

Value* Namespace::find(std::string_view name) {
  for (auto& [member, value] : members) {
    if (member == name) return &value;
  }
  return nullptr;
}

Value make_text(Context& context, MarkedText text) {
  static const Text empty = std::make_shared<const MarkedText>();
  if (text.empty() && !text.is_markup) return empty;
  context.charge_steps(1);
  context.charge_bytes(text.weight() + kTextBytes);
  return std::make_shared<const MarkedText>(std::move(text));
}

Value make_text(Context& context, std::string_view text) {
  return make_text(context, MarkedText(text, false));
}

Value make_list(Context& context, Values items, ListKind kind) {
  context.charge_bytes(items.size() * sizeof(Value));
  return make_counted_list(context, std::move(items), kind);
}

Values reserved_values(Context& context, std::size_t count) {
  const bool is_huge = count > SIZE_MAX / sizeof(Value);
  context.charge_bytes(is_huge ? SIZE_MAX : count * sizeof(Value));
  Values out;
  out.reserve(count);
  return out;
}

Value make_counted_list(Context& context, Values items, ListKind kind) {
  context.charge_steps(1 + items.size() / 8);
  context.charge_bytes(kListBytes);
  List list{kind, std::move(items)};
  for (const Value& item : list.items) {
    list.nesting = nesting_around(context, list.nesting, item);
  }
  return std::make_shared<const List>(std::move(list));
}

Value make_dict(Context& context, Dict dict) {
  context.charge_steps(1);
  context.charge_bytes(sizeof(Dict) + 32);
  return std::make_shared<const Dict>(std::move(dict));
}

Value make_function(std::string name, std::function<Value(Interpreter&, const Arguments&)> call) {
  return std::make_shared<const Callable>(Callable{std::move(name), std::move(call)});
}

Value make_function(Context& context, std::string name, const Value& held,
                    std::function<Value(Interpreter&, const Arguments&)> call) {
  context.charge_steps(1);
  context.charge_bytes(sizeof(Callable) + 96);
  return std::make_shared<const Callable>(
      Callable{std::move(name), std::move(call), nesting_around(context, 1, held)});
}

Value make_method(Context& context, std::string name, const Value& of,
                  Value (*method)(Interpreter&, const Value&, const Arguments&)) {
  context.charge_steps(1);
  context.charge_bytes(sizeof(Callable) + 96);
  return std::make_shared<const Callable>(
      Callable{std::move(name),
               [of, method](Interpreter& interpreter, const Arguments& arguments) {
                 charge_walk(interpreter.context(), of);
                 return method(interpreter, of, arguments);
               },
               nesting_around(context, 1, of)});
}

Value make_undefined(std::string what) {
  return Undefined{std::make_shared<const std::string>(std::move(what))};
}

void charge_walk(Context& context, const Value& value) {
  if (const MarkedText* text = value.text()) context.charge_steps(text->size() / 64);
  if (const List* list = value.list()) context.charge_steps(list->items.size() / 4);
  if (const Dict* dict = value.dict()) context.charge_steps(dict->size() / 4);
}

bool is_true(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (value.is_number()) return value.number() != 0;
  if (const MarkedText* text = value.text()) return !text->empty();
  if (const List* list = value.list()) {
    return list->kind == ListKind::generator || !list->items.empty();
  }
  if (const Dict* dict = value.dict()) return dict->size() != 0;
  if (const Loop* loop = value.loop()) return !loop->items->items.empty();
  return true;
}

bool equals(Context& context, const Value& left, const Value& right) {
  context.charge_steps(1);
  if (left.is_number() && right.is_number()) {
    if (left.is_integer() && right.is_integer()) return left.integer() == right.integer();
    return left.number() == right.number();
  }
  if (left.index() != right.index()) return false;
  if (const MarkedText* text = left.text()) {
    if (text->size() == right.text()->size()) context.charge_steps(text->size() / 256);
    return text->view() == right.text()->view();
  }
  if (const LargeInteger* large = left.large_integer()) {
    return large->value == right.large_integer()->value;
  }
  if (const List* list = left.list()) {
    return list == right.list() || equal_lists(context, *list, *right.list());
  }
  if (const Dict* dict = left.dict()) {
    return dict == right.dict() || equal_dicts(context, *dict, *right.dict());
  }
  if (const Callable* callable = left.callable()) return callable == right.callable();
  if (const Namespace* space = left.name_space()) return space == right.name_space();
  return left.loop() == right.loop();
}

int compare(Context& context, const Value& left, const Value& right) {
  context.charge_steps(1);
  if (left.is_number() && right.is_number()) {
    if (left.is_integer() && right.is_integer()) {
      return left.integer() < right.integer() ? -1 : left.integer() > right.integer() ? 1 : 0;
    }
    return sign_of(left.number() - right.number());
  }
  if (left.text() != nullptr && right.text() != nullptr) {
    context.charge_steps(std::min(left.text()->size(), right.text()->size()) / 256);
    return left.text()->view().compare(right.text()->view());
  }
  const List *a = left.list(), *b = right.list();
  if (a != nullptr && b != nullptr && a->kind == b->kind && a->kind <= ListKind::tuple) {
    for (std::size_t i = 0; i < std::min(a->items.size(), b->items.size()); ++i) {
      if (equals(context, a->items[i], b->items[i])) continue;
      return compare(context, a->items[i], b->items[i]);
    }
    return sign_of(static_cast<double>(a->items.size()) - static_cast<double>(b->items.size()));
  }
  context.fail(std::string("values have no order; got ") + type_name(left) + " and " +
               type_name(right) + ", expected two numbers, texts, lists or tuples");
}

bool contains(Context& context, const Value& container, const Value& element) {
  if (const MarkedText* text = container.text()) {
    if (element.text() == nullptr) {
      context.fail(std::string("only texts are in texts; got ") + type_name(element) +
                   ", expected a text");
    }
    context.charge_search(text->size(), element.text()->size());
    return text->view().find(element.text()->view()) != std::string_view::npos;
  }
  if (const Dict* dict = container.dict()) return dict->find(context, element) != nullptr;
  const auto list = elements(context, container);
  return std::any_of(list->items.begin(), list->items.end(),
                     [&](const Value& item) { return equals(context, item, element); });
}

const char* type_name(const Value& value) {
  if (value.is_undefined()) return "an undefined value";
  if (value.is_none()) return "none";
  if (value.boolean() != nullptr) return "a boolean";
  if (value.is_integer()) return "an integer";
  if (value.large_integer() != nullptr) return "an integer of 2^63 or more";
  if (value.floating() != nullptr) return "a float";
  if (value.text() != nullptr) return "a text";
  if (value.dict() != nullptr) return "a dict";
  if (value.callable() != nullptr) return "a function";
  if (value.name_space() != nullptr) return "a namespace";
  if (value.loop() != nullptr) return "a loop";
  switch (value.list()->kind) {
    case ListKind::list:
      return "a list";
    case ListKind::tuple:
      return "a tuple";
    case ListKind::range:
      return "a range";
    case ListKind::generator:
      return "a generator";
    default:
      return "a view of a dict";
  }
}

std::shared_ptr<const List> elements(Context& context, const Value& value) {
  if (const auto* list = std::get_if<std::shared_ptr<const List>>(&value)) return *list;
  Values items;
  if (const Dict* dict = value.dict()) {
    context.charge_steps(dict->size());
    items = reserved_values(context, dict->size());
    for (const auto& [key, unused] : dict->entries()) items.push_back(key);
  } else if (const MarkedText* text = value.text()) {
    context.charge_steps(text->size() / 8);
    const std::size_t count = count_characters(text->view());
    context.expect_bytes(count * (sizeof(Value) + kTextBytes));
    items = reserved_values(context, count);
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t size = character_at(text->view(), at).size;
      items.push_back(make_text(context, text->part(at, size)));
      at += size;
    }
  } else if (!value.is_undefined()) {
    context.fail(std::string("a value has no elements; got ") + type_name(value) +
                 ", expected a list, a dict or a text");
  }
  return std::get<std::shared_ptr<const List>>(make_counted_list(context, std::move(items)));
}

std::size_t length(Context& context, const Value& value) {
  if (value.is_undefined()) return 0;
  if (const MarkedText* text = value.text()) {
    context.charge_steps(text->size() / 256);
    return count_characters(text->view());
  }
  if (const Dict* dict = value.dict()) return dict->size();
  if (const List* list = value.list(); list != nullptr && list->kind != ListKind::generator) {
    return list->items.size();
  }
  if (const Loop* loop = value.loop()) return loop->items->items.size();
  context.fail(std::string("a value has no length; got ") + type_name(value) +
               ", expected a list, a dict or a text");
}

}  // namespace hearth::models::chat_template

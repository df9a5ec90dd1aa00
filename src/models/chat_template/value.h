// The values that templates compute with: those of Python that jinja2 shows them.
//
// All but namespaces and loops are immutable and shared. Nothing that a value reaches lies outside
// of the values of one rendering.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "models/chat_template/context.h"
#include "models/chat_template/marked_text.h"

namespace hearth::models::chat_template {

class Interpreter;
struct Arguments;
struct Callable;
class Dict;
struct List;
struct Loop;
struct Namespace;
class Value;

// What is not there: prints as nothing, is false and empty; most other uses are Errors.
struct Undefined {
  std::shared_ptr<const std::string> what;  // for messages, such as "'x' is undefined"; may be null
};
struct None {};

using Values = std::vector<Value>;
using Text = std::shared_ptr<const MarkedText>;

// An integer of JSON that is 2^63 or more: told as it is, and no number to reckon with.
struct LargeInteger {
  std::uint64_t value;
};

class Value : public std::variant<Undefined, None, bool, std::int64_t, LargeInteger, double, Text,
                                  std::shared_ptr<const List>, std::shared_ptr<const Dict>,
                                  std::shared_ptr<const Callable>, std::shared_ptr<Namespace>,
                                  std::shared_ptr<Loop>> {
 public:
  using variant::variant;

  bool is_undefined() const { return std::holds_alternative<Undefined>(*this); }
  bool is_none() const { return std::holds_alternative<None>(*this); }
  // Null for values of other kinds.
  const MarkedText* text() const { return target<Text>(); }
  const List* list() const { return target<std::shared_ptr<const List>>(); }
  const Dict* dict() const { return target<std::shared_ptr<const Dict>>(); }
  const Callable* callable() const { return target<std::shared_ptr<const Callable>>(); }
  Namespace* name_space() const { return target<std::shared_ptr<Namespace>>(); }
  Loop* loop() const { return target<std::shared_ptr<Loop>>(); }
  const bool* boolean() const { return std::get_if<bool>(this); }
  const double* floating() const { return std::get_if<double>(this); }
  const LargeInteger* large_integer() const { return std::get_if<LargeInteger>(this); }
  // Of booleans too, which are integers in Python.
  bool is_integer() const;
  std::int64_t integer() const;  // of what is_integer()
  bool is_number() const { return is_integer() || floating() != nullptr; }
  double number() const;  // of what is_number()

 private:
  template <class Pointer>
  auto target() const -> decltype(std::declval<Pointer>().get()) {
    const Pointer* found = std::get_if<Pointer>(this);
    return found == nullptr ? nullptr : found->get();
  }
};

// Sequences of Python that differ in how they print and in what they can do.
enum class ListKind { list, tuple, range, generator, keys_view, values_view, items_view };

struct List {
  ListKind kind = ListKind::list;
  Values items;
  int nesting = 1;
};

// Keeps the order in which keys came. Keys are told apart as Python does: 1, 1.0 and True are one.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const noexcept { return entries_; }
  std::size_t size() const noexcept { return entries_.size(); }
  // Null where there is none.
  const Value* find(std::string_view text_key) const;
  const Value* find(Context& context, const Value& key) const;
  // Replaces the value of a key that is there. Throws Error{invalid_argument} for a key that cannot
  // be one.
  void set(Context& context, Value key, Value value);
  int nesting() const noexcept { return nesting_; }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
  int nesting_ = 1;
};

struct Arguments {
  std::string function;  // the name that is called by, for messages
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct Callable {
  std::string name;
  std::function<Value(Interpreter&, const Arguments&)> call;
  int nesting = 0;  // levels of lists and dicts that it holds
  bool is_macro = false;
};

// What `namespace()` makes: the one value that templates change. Also what `cycler()` makes, which
// only its own functions change.
struct Namespace {
  std::vector<std::pair<std::string, Value>> members;
  bool is_cycler = false;

  Value* find(std::string_view name);
};

// The variable `loop` of a for statement.
struct Loop {
  std::shared_ptr<const List> items;
  std::size_t index = 0;
  Value last_changed;  // a list of the arguments of the last changed()
  std::int64_t depth = 0;
  // Of a recursive loop: the text that its body makes of these, one level deeper.
  std::function<Value(Interpreter&, const Value& iterable)> descend = {};
};

// ---- Making values; each counts a step and what it takes

// What values take beside their bytes, elements and members, with what the heap adds to each.
inline constexpr std::size_t kTextBytes = sizeof(MarkedText) + 32;
inline constexpr std::size_t kListBytes = sizeof(List) + 64;
inline constexpr std::size_t kMemberBytes = 2 * sizeof(Dict::Entry) + 96;

// Empty texts, which are one, take nothing.
Value make_text(Context& context, MarkedText text);
// Text of the template's own.
Value make_text(Context& context, std::string_view text);
Value make_list(Context& context, Values items, ListKind kind = ListKind::list);
// None yet, with room for `count`, which it counts.
Values reserved_values(Context& context, std::size_t count);
// A list of what reserved_values() counted.
Value make_counted_list(Context& context, Values items, ListKind kind = ListKind::list);
Value make_dict(Context& context, Dict dict);
Value make_function(std::string name, std::function<Value(Interpreter&, const Arguments&)> call);
// The same, of a function that holds the value and may change it.
Value make_function(Context& context, std::string name, const Value& held,
                    std::function<Value(Interpreter&, const Arguments&)> call);
// A function that holds the value it is a method of.
Value make_method(Context& context, std::string name, const Value& of,
                  Value (*method)(Interpreter&, const Value&, const Arguments&));
Value make_undefined(std::string what);

// Counts the steps of going through what `value` holds.
void charge_walk(Context& context, const Value& value);

// ---- What Python does with any value

bool is_true(const Value& value);
// As `==` has it; values of kinds that cannot be compared differ.
bool equals(Context& context, const Value& left, const Value& right);
// Less than 0, 0 or more than 0. Throws Error{invalid_argument} where Python has no order.
int compare(Context& context, const Value& left, const Value& right);
bool contains(Context& context, const Value& container, const Value& element);
// What Python calls the type, for messages.
const char* type_name(const Value& value);
// The elements that a for statement goes through: of dicts the keys, of texts the characters.
// The caller holds them: nothing else may. Throws Error{invalid_argument} for what has none.
std::shared_ptr<const List> elements(Context& context, const Value& value);
// len(). Throws Error{invalid_argument} for what has none.
std::size_t length(Context& context, const Value& value);

}  // namespace hearth::models::chat_template

// Filters of lists and dicts.
#include <algorithm>
#include <charconv>

#include "core/counted.h"
#include "core/quoted.h"
#include "models/chat_template/arguments.h"
#include "models/chat_template/built_ins.h"
#include "models/chat_template/letter_case.h"
#include "models/chat_template/stable_order.h"
#include "models/chat_template/text_edits.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

Value length_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound(interpreter.context(), arguments, {});
  return static_cast<std::int64_t>(length(interpreter.context(), value));
}

Value list_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  const auto list = elements(context, value);
  Values items = reserved_values(context, list->items.size());
  items.assign(list->items.begin(), list->items.end());
  return make_counted_list(context, std::move(items));
}

Value first_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound(interpreter.context(), arguments, {});
  const auto list = elements(interpreter.context(), value);
  return list->items.empty() ? make_undefined("there is no first item") : list->items.front();
}

Value last_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  const auto list = elements(context, value);
  if (list->kind == ListKind::generator) {
    context.fail(
        "last: a value has no last item; got a generator, expected a list, which the filter list "
        "makes of it");
  }
  return list->items.empty() ? make_undefined("there is no last item") : list->items.back();
}

// jinja2 draws one. Of several that is refused: a prompt which differs each time can neither be
// found in the caches nor be had again.
Value random_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  const bool is_generator = value.list() != nullptr && value.list()->kind > ListKind::range;
  if (is_generator || (value.dict() != nullptr && value.dict()->size() > 0)) {
    context.fail(std::string("random: a value is no sequence; got ") + type_name(value) +
                 ", expected a list");
  }
  const auto list = elements(context, value);
  if (list->items.empty()) return make_undefined("there is no item to draw");
  if (list->items.size() == 1) return list->items.front();
  context.fail("random: a template draws nothing at random; got " +
               counted(list->items.size(), "item") + ", expected at most 1");
}

Value reverse_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  const auto list = elements(context, value);
  Values items = reserved_values(context, list->items.size());
  items.assign(list->items.rbegin(), list->items.rend());
  if (value.text() == nullptr) {
    return make_counted_list(context, std::move(items), ListKind::generator);
  }
  MarkedText out;
  for (const Value& item : items) out.append(*item.text());
  return make_text(context, std::move(out));
}

Value items_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  Values items;
  if (value.dict() != nullptr) {
    items = reserved_values(context, value.dict()->size());
    for (const auto& [key, member] : value.dict()->entries()) {
      items.push_back(make_list(context, {key, member}, ListKind::tuple));
    }
  } else if (!value.is_undefined()) {
    context.fail(std::string("items: a value is no dict; got ") + type_name(value) +
                 ", expected a dict");
  }
  return make_counted_list(context, std::move(items), ListKind::generator);
}

// `item.a.b` of "a.b", as filters name attributes: by items first, numbers as indices.
Value member_of(Interpreter& interpreter, Value item, const Value& path) {
  if (path.text() == nullptr) return interpreter.item(item, path);
  std::string_view rest = path.text()->view();
  while (true) {
    const std::size_t point = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, point);
    std::int64_t index = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = !part.empty() && part[0] != '-' && read.ptr == part.data() + part.size();
    const Value key = is_index ? Value(index) : make_text(interpreter.context(), part);
    item = interpreter.item(item, key);
    if (point == rest.size()) return item;
    rest = rest.substr(point + 1);
  }
}

// What orders an item: itself or its attribute, without case unless `minds_case`.
Value sort_key(Interpreter& interpreter, const Value& item, const Value& path, bool minds_case) {
  Context& context = interpreter.context();
  const auto folded = [&](const Value& key) {
    if (minds_case || key.text() == nullptr) return key;
    context.charge_steps(key.text()->size() / 8);
    return make_text(context, in_letters(*key.text(), Letters::lower));
  };
  if (path.is_undefined() || path.is_none()) return folded(item);
  const MarkedText* text = path.text();
  if (text == nullptr || text->view().find(',') == std::string_view::npos) {
    return folded(member_of(interpreter, item, path));
  }
  Values keys;
  for (const Value& each : split(context, *text, MarkedText(",", false), -1, false)) {
    keys.push_back(folded(member_of(interpreter, item, each)));
  }
  return make_list(context, std::move(keys));
}

using Keyed = std::vector<std::pair<Value, Value>>;  // what orders an item, and the item

// None yet, with room for `count`, which it counts with the order that sorted() makes of them.
Keyed reserved_keyed(Context& context, std::size_t count) {
  context.charge_bytes(count * (sizeof(Keyed::value_type) + 2 * sizeof(std::size_t)));
  Keyed out;
  out.reserve(count);
  return out;
}

Values sorted(Context& context, Keyed keyed, bool is_reverse) {
  const auto order = stable_order(keyed.size(), [&](std::size_t a, std::size_t b) {
    if (is_reverse) std::swap(a, b);
    return compare(context, keyed[a].first, keyed[b].first) < 0;
  });
  Values out = reserved_values(context, order.size());
  for (const std::size_t index : order) out.push_back(std::move(keyed[index].second));
  return out;
}

Value sort_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"reverse", "case_sensitive", "attribute"});
  const auto list = elements(context, value);
  Keyed keyed = reserved_keyed(context, list->items.size());
  for (const Value& item : list->items) {
    keyed.emplace_back(sort_key(interpreter, item, bound.value(2), bound.truth(1, false)), item);
  }
  return make_counted_list(context, sorted(context, std::move(keyed), bound.truth(0, false)));
}

Value dictsort_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"case_sensitive", "by", "reverse"});
  if (value.dict() == nullptr) {
    context.fail(std::string("dictsort: a value is no dict; got ") + type_name(value) +
                 ", expected a dict");
  }
  const MarkedText by = bound.text(1, "key");
  if (by.view() != "key" && by.view() != "value") {
    context.fail("dictsort: an unknown order; got " + hearth::quoted(by.view(), 40) +
                 ", expected key or value");
  }
  Keyed keyed = reserved_keyed(context, value.dict()->size());
  for (const auto& [key, member] : value.dict()->entries()) {
    keyed.emplace_back(sort_key(interpreter, by.view() == "key" ? key : member, Undefined{},
                                bound.truth(0, false)),
                       make_list(context, {key, member}, ListKind::tuple));
  }
  return make_counted_list(context, sorted(context, std::move(keyed), bound.truth(2, false)));
}

Value unique_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"case_sensitive", "attribute"});
  Dict seen;
  const auto list = elements(context, value);
  Values out = reserved_values(context, list->items.size());
  for (const Value& item : list->items) {
    const Value key = sort_key(interpreter, item, bound.value(1), bound.truth(0, false));
    if (seen.find(context, key) != nullptr) continue;
    seen.set(context, key, true);
    out.push_back(item);
  }
  return make_counted_list(context, std::move(out), ListKind::generator);
}

template <bool is_max>
Value extreme_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"case_sensitive", "attribute"});
  const auto list = elements(context, value);
  if (list->items.empty()) return make_undefined("there is no item");
  const Value* best = nullptr;
  Value best_key;
  for (const Value& item : list->items) {
    const Value key = sort_key(interpreter, item, bound.value(1), bound.truth(0, false));
    const int order = best == nullptr ? 0 : compare(context, key, best_key);
    if (best != nullptr && (is_max ? order <= 0 : order >= 0)) continue;
    best = &item;
    best_key = key;
  }
  return *best;
}

Value sum_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"attribute", "start"});
  Value total = bound.has(1) ? bound.value(1) : Value(std::int64_t{0});
  const bool has_path = bound.has(0) && !bound.value(0).is_none();
  const auto list = elements(context, value);
  for (const Value& item : list->items) {
    const Value each = has_path ? member_of(interpreter, item, bound.value(0)) : item;
    if (total.text() != nullptr || each.text() != nullptr) {
      context.fail("sum: texts have no sum; expected numbers or lists, or the filter join");
    }
    total = interpreter.binary("+", total, each);
  }
  return total;
}

Value join_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"d", "attribute"});
  const Text separator = printed_text(context, bound.has(0) ? bound.value(0) : Value(Undefined{}));
  const bool has_path = bound.has(1) && !bound.value(1).is_none();
  // All are counted before any is copied.
  const auto list = elements(context, value);
  std::vector<Text> texts;
  context.charge_bytes(list->items.size() * sizeof(Text));
  texts.reserve(list->items.size());
  std::size_t size = 0;
  for (const Value& item : list->items) {
    context.charge_steps(1);
    texts.push_back(
        printed_text(context, has_path ? member_of(interpreter, item, bound.value(1)) : item));
    const bool is_made = texts.back().use_count() == 1;
    context.charge_bytes(separator->weight() + texts.back()->weight() +
                         (is_made ? texts.back()->weight() + kTextBytes : 0));
    size += separator->size() + texts.back()->size();
  }
  MarkedText out;
  out.reserve(size);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out.append(*separator);
    out.append(*texts[i]);
  }
  return make_text(context, std::move(out));
}

// Takes the first of the arguments by their order, which must be a text.
std::string take_name(Context& context, Arguments& arguments, const char* kind) {
  if (arguments.positional.empty() || arguments.positional[0].text() == nullptr) {
    context.fail(arguments.function + ": a name is missing; expected that of a " + kind);
  }
  std::string name(arguments.positional[0].text()->view());
  arguments.positional.erase(arguments.positional.begin());
  return name;
}

Value map_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  // What is false has no elements here, even none.
  const auto list = elements(context, is_true(value) ? value : Value(Undefined{}));
  Values out = reserved_values(context, list->items.size());
  if (arguments.positional.empty()) {
    const Bound bound(context, arguments, {"attribute", "default"}, 1);
    for (const Value& item : list->items) {
      context.charge_steps(1);
      Value member = member_of(interpreter, item, bound.value(0));
      if (member.is_undefined() && bound.has(1)) member = bound.value(1);
      out.push_back(std::move(member));
    }
  } else {
    Arguments rest = arguments;
    const std::string name = take_name(context, rest, "filter");
    for (const Value& item : list->items) {
      context.charge_steps(1);
      out.push_back(interpreter.apply_filter(name, item, rest));
    }
  }
  return make_counted_list(context, std::move(out), ListKind::generator);
}

// select, reject, selectattr and rejectattr.
template <bool selects, bool of_attribute>
Value select_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  Arguments rest = arguments;
  Value path;
  if (of_attribute) {
    if (rest.positional.empty()) {
      context.fail(arguments.function + ": an attribute is missing; expected its name");
    }
    path = rest.positional[0];
    rest.positional.erase(rest.positional.begin());
  }
  const bool has_test = !rest.positional.empty();
  const std::string test = has_test ? take_name(context, rest, "test") : "";
  // What is false has no elements here, even none.
  const auto list = elements(context, is_true(value) ? value : Value(Undefined{}));
  Values out = reserved_values(context, list->items.size());
  for (const Value& item : list->items) {
    context.charge_steps(1);
    const Value judged = of_attribute ? member_of(interpreter, item, path) : item;
    const bool holds = has_test ? interpreter.apply_test(test, judged, rest) : is_true(judged);
    if (holds == selects) out.push_back(item);
  }
  return make_counted_list(context, std::move(out), ListKind::generator);
}

void charge_values(Context& context, std::size_t count) {
  context.charge_steps(count);
  context.charge_bytes(count < SIZE_MAX / sizeof(Value) ? count * sizeof(Value) : SIZE_MAX);
}

// Lists of `size` items each, the last filled up where a filling is given.
Value batch_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"linecount", "fill_with"}, 1);
  const std::int64_t size = bound.integer(0, 1);
  const auto list = elements(context, value);
  const std::size_t each = size < 1 ? list->items.size() : static_cast<std::size_t>(size);
  Values out = reserved_values(context, each == 0 ? 0 : list->items.size() / each + 1), batch;
  for (const Value& item : list->items) {
    if (static_cast<std::int64_t>(batch.size()) == size) {
      out.push_back(make_list(context, std::exchange(batch, {})));
    }
    batch.push_back(item);
  }
  if (!batch.empty()) {
    const bool fills = bound.has(1) && !bound.value(1).is_none();
    if (fills && size > static_cast<std::int64_t>(batch.size())) {
      const auto most = static_cast<std::size_t>(size);
      charge_values(context, most - batch.size());
      batch.resize(most, bound.value(1));
    }
    out.push_back(make_list(context, std::move(batch)));
  }
  return make_counted_list(context, std::move(out), ListKind::generator);
}

// So many lists of about the same size, the first longer, the others filled up where a filling is
// given.
Value slice_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"slices", "fill_with"}, 1);
  const std::int64_t slices = bound.integer(0, 1);
  if (slices == 0) context.fail("slice: no slices; got 0, expected at least one");
  const auto list = elements(context, value);
  const auto size = static_cast<std::int64_t>(list->items.size());
  const bool fills = bound.has(1) && !bound.value(1).is_none();
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(slices, 0));
  context.charge_steps(count);
  Values out = reserved_values(context, count);
  auto next = list->items.begin();
  for (std::int64_t i = 0; i < slices; ++i) {
    const bool is_longer = i < size % slices;
    const auto end = next + (size / slices + (is_longer ? 1 : 0));
    Values part(next, end);
    if (fills && !is_longer) part.push_back(bound.value(1));
    out.push_back(make_list(context, std::move(part)));
    next = end;
  }
  return make_counted_list(context, std::move(out), ListKind::generator);
}

// Pairs of what items have in common and the list of those items, in order.
Value groupby_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"attribute", "default", "case_sensitive"}, 1);
  const auto list = elements(context, value);
  Keyed keyed = reserved_keyed(context, list->items.size());
  for (const Value& item : list->items) {
    Value key = member_of(interpreter, item, bound.value(0));
    if (key.is_undefined() && bound.has(1)) key = bound.value(1);
    keyed.emplace_back(sort_key(interpreter, key, Undefined{}, bound.truth(2, false)),
                       make_list(context, {key, item}, ListKind::tuple));
  }
  Values out, group;
  Value name, last;
  const auto close = [&] {
    if (group.empty()) return;
    const Value items = make_list(context, std::exchange(group, {}));
    out.push_back(make_list(context, {name, items}, ListKind::tuple));
  };
  for (const Value& pair : sorted(context, std::move(keyed), false)) {
    const Values& parts = pair.list()->items;
    const Value key = sort_key(interpreter, parts[0], Undefined{}, bound.truth(2, false));
    if (group.empty() || !equals(context, key, last)) {
      close();
      name = parts[0];
      last = key;
    }
    group.push_back(parts[1]);
  }
  close();
  return make_list(context, std::move(out));
}

constexpr NamedFilter kListFilters[] = {
    {"length", length_filter},
    {"count", length_filter},
    {"list", list_filter},
    {"first", first_filter},
    {"last", last_filter},
    {"random", random_filter},
    {"reverse", reverse_filter},
    {"items", items_filter},
    {"sort", sort_filter},
    {"dictsort", dictsort_filter},
    {"unique", unique_filter},
    {"min", extreme_filter<false>},
    {"max", extreme_filter<true>},
    {"sum", sum_filter},
    {"join", join_filter},
    {"map", map_filter},
    {"select", select_filter<true, false>},
    {"reject", select_filter<false, false>},
    {"selectattr", select_filter<true, true>},
    {"rejectattr", select_filter<false, true>},
    {"batch", batch_filter},
    {"slice", slice_filter},
    {"groupby", groupby_filter},
};

}  // namespace

std::span<const NamedFilter> list_filters() { return kListFilters; }

}  // namespace hearth::models::chat_template

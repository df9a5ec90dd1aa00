// The functions that all templates can call.
#include <algorithm>

#include "models/chat_template/arguments.h"
#include "models/chat_template/date_text.h"
#include "models/chat_template/interpreter.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

Value range_function(Interpreter& interpreter, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "range", arguments, {"start", "stop", "step"}, 1);
  const std::int64_t begin = bound.has(1) ? bound.integer(0, 0) : 0;
  const std::int64_t end = bound.has(1) ? bound.integer(1, 0) : bound.integer(0, 0);
  const std::int64_t step = bound.integer(2, 1);
  if (step == 0) context.fail("range: the step is 0");
  constexpr std::int64_t kMax = std::int64_t{1} << 60;
  if (std::max({begin, end, step}) > kMax || std::min({begin, end, step}) < -kMax) {
    context.fail("range: a bound is out of range");
  }
  std::int64_t count = 0;
  if (step > 0 && begin < end) count = (end - begin - 1) / step + 1;
  if (step < 0 && end < begin) count = (begin - end - 1) / -step + 1;
  if (count > context.limits().range) {
    context.fail("range: the limit of elements is reached; got " + std::to_string(count) +
                 ", expected at most " + std::to_string(context.limits().range));
  }
  Values items;
  for (std::int64_t i = 0; i < count; ++i) items.push_back(begin + i * step);
  return make_list(context, std::move(items), ListKind::range);
}

// Pairs and names as members.
Dict dict_of(Context& context, const char* function, const Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) {
    context.fail(std::string(function) + ": too many arguments; expected at most 1");
  }
  if (!arguments.positional.empty()) {
    const Value& given = arguments.positional[0];
    if (given.dict() != nullptr) {
      for (const auto& [key, value] : given.dict()->entries()) dict.set(context, key, value);
    } else {
      const auto pairs = elements(context, given);
      for (const Value& each : pairs->items) {
        const auto pair = elements(context, each);
        if (pair->items.size() != 2) context.fail(std::string(function) + ": an item is no pair");
        dict.set(context, pair->items[0], pair->items[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) {
    dict.set(context, make_text(context, name), value);
  }
  return dict;
}

Value dict_function(Interpreter& interpreter, const Arguments& arguments) {
  Context& context = interpreter.context();
  return make_dict(context, dict_of(context, "dict", arguments));
}

Value namespace_function(Interpreter& interpreter, const Arguments& arguments) {
  Context& context = interpreter.context();
  std::vector<std::pair<std::string, Value>> members;
  const Dict dict = dict_of(context, "namespace", arguments);
  for (const auto& [key, value] : dict.entries()) {
    if (key.text() == nullptr) context.fail("namespace: a name is no text");
    members.emplace_back(key.text()->view(), value);
  }
  return interpreter.make_namespace(std::move(members));
}

[[noreturn]] Value raise_function(Interpreter& interpreter, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "raise_exception", arguments, {"message"}, 1);
  context.fail(std::string(printed_text(context, bound.value(0))->view()));
}

Value date_function(Interpreter& interpreter, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "strftime_now", arguments, {"format"}, 1);
  const MarkedText format = bound.text(0, "");
  context.charge_bytes(format.size() * 16);
  return make_text(context, date_text(interpreter.now(), format.view()));
}

}  // namespace

std::vector<std::pair<std::string, Value>> global_functions() {
  std::vector<std::pair<std::string, Value>> out;
  const auto add = [&](const char* name, Value (*call)(Interpreter&, const Arguments&)) {
    out.emplace_back(name, make_function(name, call));
  };
  add("range", range_function);
  add("dict", dict_function);
  add("namespace", namespace_function);
  add("raise_exception", raise_function);
  add("strftime_now", date_function);
  return out;
}

}  // namespace hearth::models::chat_template

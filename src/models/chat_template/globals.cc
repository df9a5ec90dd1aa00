// The functions that all templates can call.
#include <algorithm>
#include <memory>
#include <utility>

#include "models/chat_template/arguments.h"
#include "models/chat_template/date_text.h"
#include "models/chat_template/interpreter.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

Value range_function(Interpreter& interpreter, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"start", "stop", "step"}, 1);
  const std::int64_t begin = bound.has(1) ? bound.integer(0, 0) : 0;
  const std::int64_t end = bound.has(1) ? bound.integer(1, 0) : bound.integer(0, 0);
  const std::int64_t step = bound.integer(2, 1);
  if (step == 0) context.fail("range: the step is 0; expected another one");
  constexpr std::int64_t kMax = std::int64_t{1} << 60;
  if (std::max({begin, end, step}) > kMax || std::min({begin, end, step}) < -kMax) {
    context.fail("range: a bound is out of range; expected at most 2^60");
  }
  std::int64_t count = 0;
  if (step > 0 && begin < end) count = (end - begin - 1) / step + 1;
  if (step < 0 && end < begin) count = (begin - end - 1) / -step + 1;
  if (count > context.limits().range) {
    context.fail("range: the limit of elements is reached; got " + std::to_string(count) +
                 ", expected at most " + std::to_string(context.limits().range));
  }
  Values items = reserved_values(context, static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) items.push_back(begin + i * step);
  return make_counted_list(context, std::move(items), ListKind::range);
}

// Pairs and names as members.
Dict dict_of(Context& context, const char* function, const Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) {
    context.fail(std::string(function) + ": too many arguments; got " +
                 std::to_string(arguments.positional.size()) + ", expected at most 1");
  }
  if (!arguments.positional.empty()) {
    const Value& given = arguments.positional[0];
    if (given.dict() != nullptr) {
      for (const auto& [key, value] : given.dict()->entries()) dict.set(context, key, value);
    } else {
      const auto pairs = elements(context, given);
      for (const Value& each : pairs->items) {
        const auto pair = elements(context, each);
        if (pair->items.size() != 2) {
          context.fail(std::string(function) + ": an item is no pair; got " +
                       std::to_string(pair->items.size()) + " elements, expected 2");
        }
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
    if (key.text() == nullptr) {
      context.fail(std::string("namespace: a name is no text; got ") + type_name(key) +
                   ", expected a text");
    }
    members.emplace_back(key.text()->view(), value);
  }
  return interpreter.make_namespace(std::move(members));
}

// Its functions change the members of the namespace that they are in, which the rendering keeps.
Value cycler_function(Interpreter& interpreter, const Arguments& arguments) {
  Context& context = interpreter.context();
  if (!arguments.named.empty()) context.fail("cycler: an unknown argument; expected items alone");
  if (arguments.positional.empty()) context.fail("cycler: no items; expected at least one");
  const Value items = make_list(context, arguments.positional, ListKind::tuple);
  const Value made = interpreter.make_namespace(
      {{"current", items.list()->items.front()}, {"items", items}, {"pos", std::int64_t{0}}});
  const std::weak_ptr<Namespace> space = std::get<std::shared_ptr<Namespace>>(made);
  const auto move_to = [space](std::int64_t (*next)(std::int64_t position, std::int64_t count)) {
    const std::shared_ptr<Namespace> cycler = space.lock();
    const Values& all = cycler->find("items")->list()->items;
    const Value before = *cycler->find("current");
    const std::int64_t position =
        next(cycler->find("pos")->integer(), static_cast<std::int64_t>(all.size()));
    *cycler->find("pos") = position;
    *cycler->find("current") = all[static_cast<std::size_t>(position)];
    return before;
  };
  const auto next_function = [move_to](Interpreter& of, const Arguments& given) -> Value {
    const Bound bound(of.context(), given, {});
    return move_to(
        [](std::int64_t position, std::int64_t count) { return (position + 1) % count; });
  };
  const auto reset_function = [move_to](Interpreter& of, const Arguments& given) -> Value {
    const Bound bound(of.context(), given, {});
    move_to([](std::int64_t, std::int64_t) { return std::int64_t{0}; });
    return None{};
  };
  Namespace& cycler = *space.lock();
  cycler.is_cycler = true;
  cycler.members.emplace_back("next", make_function(context, "next", items, next_function));
  cycler.members.emplace_back("reset", make_function(context, "reset", items, reset_function));
  return made;
}

// Nothing the first time, then the separator.
Value joiner_function(Interpreter& interpreter, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"sep"});
  const Value separator = bound.has(0) ? bound.value(0) : make_text(context, ", ");
  return make_function(
      context, "joiner", separator,
      [separator, used = std::make_shared<bool>(false)](Interpreter& of, const Arguments& given) {
        const Bound none(of.context(), given, {});
        return std::exchange(*used, true) ? separator : make_text(of.context(), "");
      });
}

// What is drawn would differ each time: a prompt then could not be found in the caches, nor an
// answer be had again by its seed.
[[noreturn]] Value lipsum_function(Interpreter& interpreter, const Arguments&) {
  interpreter.context().fail("lipsum: a template draws nothing at random; expected a text");
}

[[noreturn]] Value raise_function(Interpreter& interpreter, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"message"}, 1);
  context.fail(std::string(printed_text(context, bound.value(0))->view()));
}

Value date_function(Interpreter& interpreter, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"format"}, 1);
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
  add("cycler", cycler_function);
  add("joiner", joiner_function);
  add("lipsum", lipsum_function);
  add("raise_exception", raise_function);
  add("strftime_now", date_function);
  return out;
}

}  // namespace hearth::models::chat_template

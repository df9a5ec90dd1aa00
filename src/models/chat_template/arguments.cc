#include "models/chat_template/arguments.h"

#include <algorithm>

#include "core/quoted.h"

namespace hearth::models::chat_template {

std::string expected_names(const std::vector<std::string>& names) {
  if (names.empty()) return ", expected none";
  std::string out = ", expected ";
  if (names.size() > 1) out += "one of ";
  for (const std::string& name : names) {
    if (name != names.front()) out += ", ";
    out += name;
  }
  return out;
}

Bound::Bound(Context& context, const Arguments& arguments, std::initializer_list<const char*> names,
             std::size_t required)
    : context_(context), function_(arguments.function), names_(names), values_(names.size()) {
  if (arguments.positional.size() > names.size()) {
    fail("too many arguments; got " + std::to_string(arguments.positional.size()) +
         ", expected at most " + std::to_string(names.size()));
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), values_.begin());
  for (const auto& [name, value] : arguments.named) {
    const auto at = std::find(names_.begin(), names_.end(), name);
    if (at == names_.end()) {
      fail("an unknown argument; got " + hearth::quoted(name, 40) +
           expected_names({names_.begin(), names_.end()}));
    }
    std::optional<Value>& place = values_[static_cast<std::size_t>(at - names_.begin())];
    if (place.has_value()) {
      fail("an argument is given twice; got " + hearth::quoted(name, 40) + ", expected it once");
    }
    place = value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (!values_[i].has_value()) fail(std::string("an argument is missing; expected ") + names_[i]);
  }
}

void Bound::fail(const std::string& what) const { context_.fail(function_ + ": " + what); }

bool Bound::truth(std::size_t index, bool fallback) const {
  return has(index) ? is_true(*values_[index]) : fallback;
}

std::int64_t Bound::integer(std::size_t index, std::int64_t fallback) const {
  if (!has(index)) return fallback;
  if (!values_[index]->is_integer()) {
    fail(std::string("an argument is of the wrong kind; got ") + type_name(*values_[index]) +
         ", expected an integer for " + names_[index]);
  }
  return values_[index]->integer();
}

MarkedText Bound::text(std::size_t index, std::string_view fallback) const {
  if (!has(index)) return MarkedText(fallback, false);
  const MarkedText* text = values_[index]->text();
  if (text == nullptr) {
    fail(std::string("an argument is of the wrong kind; got ") + type_name(*values_[index]) +
         ", expected a text for " + names_[index]);
  }
  context_.charge_steps(text->size() / 256);
  return *text;
}

std::optional<MarkedText> Bound::optional_text(std::size_t index) const {
  if (!has(index) || values_[index]->is_none()) return std::nullopt;
  return text(index, "");
}

}  // namespace hearth::models::chat_template

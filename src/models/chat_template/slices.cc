#include "models/chat_template/slices.h"

#include <algorithm>

#include "models/chat_template/unicode.h"

namespace hearth::models::chat_template {
namespace {

// Indices of [0, size) that a slice takes.
struct SliceIndices {
  std::int64_t begin, step;
  std::size_t count;
};

SliceIndices indices_of(const SliceBounds& bounds, std::int64_t size) {
  const std::int64_t step = std::clamp<std::int64_t>(
      bounds.step.value_or(1), -(std::int64_t{1} << 40), std::int64_t{1} << 40);
  const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  const auto placed = [&](std::optional<std::int64_t> bound, std::int64_t fallback) {
    if (!bound) return fallback;
    return std::clamp(*bound < 0 ? *bound + size : *bound, low, high);
  };
  const std::int64_t begin = placed(bounds.begin, step < 0 ? high : low);
  const std::int64_t end = placed(bounds.end, step < 0 ? low : high);
  std::int64_t count = 0;
  if (step > 0 && begin < end) count = (end - begin - 1) / step + 1;
  if (step < 0 && end < begin) count = (begin - end - 1) / -step + 1;
  return {begin, step, static_cast<std::size_t>(count)};
}

MarkedText sliced_text(Context& context, const MarkedText& text, const SliceBounds& bounds) {
  if (bounds.step.value_or(1) == 1) {
    const std::string_view view = text.view();
    const SliceIndices indices =
        indices_of(bounds, static_cast<std::int64_t>(count_characters(view)));
    if (indices.count == 0) return {};
    const std::size_t begin = byte_of_character(view, static_cast<std::size_t>(indices.begin));
    return text.part(begin, byte_of_character(view.substr(begin), indices.count));
  }
  context.charge_steps(text.size() / 4);
  context.charge_bytes(text.size() * sizeof(std::size_t));
  std::vector<std::size_t> starts;
  starts.reserve(text.size() + 1);
  for (std::size_t at = 0; at < text.size(); at += character_at(text.view(), at).size) {
    starts.push_back(at);
  }
  const SliceIndices indices = indices_of(bounds, static_cast<std::int64_t>(starts.size()));
  starts.push_back(text.size());
  MarkedText out;
  if (indices.count == 0) return out;
  for (std::size_t i = 0; i < indices.count; ++i) {
    const auto at =
        static_cast<std::size_t>(indices.begin + static_cast<std::int64_t>(i) * indices.step);
    out.append_part(text, starts[at], starts[at + 1] - starts[at]);
  }
  return out;
}

}  // namespace

Value sliced(Context& context, const Value& value, const SliceBounds& bounds) {
  if (bounds.step == 0) context.fail("the step of a slice is 0; expected another one");
  if (const MarkedText* text = value.text()) {
    context.charge_steps(text->size() / 32);
    context.charge_bytes(text->weight());
    return make_text(context, sliced_text(context, *text, bounds));
  }
  const List* list = value.list();
  if (list == nullptr || list->kind > ListKind::range) {
    context.fail(std::string("a value has no slices; got ") + type_name(value) +
                 ", expected a list or a text");
  }
  const SliceIndices indices = indices_of(bounds, static_cast<std::int64_t>(list->items.size()));
  Values items = reserved_values(context, indices.count);
  for (std::size_t i = 0; i < indices.count; ++i) {
    items.push_back(list->items[static_cast<std::size_t>(
        indices.begin + static_cast<std::int64_t>(i) * indices.step)]);
  }
  return make_counted_list(context, std::move(items), list->kind);
}

}  // namespace hearth::models::chat_template

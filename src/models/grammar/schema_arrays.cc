#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "models/grammar/schema_characters.h"
#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_negation.h"
#include "models/grammar/schema_texts.h"
#include "models/grammar/schema_types.h"
#include "models/grammar/schema_writer.h"

namespace hearth::models::grammar {
namespace {

constexpr char kHead[] = "\"[\" space ";
constexpr char kTail[] = " space \"]\"";
constexpr char kBetween[] = "space \",\" space ";

// Values of which all orders are written out; of more, only that of the schema.
constexpr std::size_t kMaxPermuted = 6;
constexpr std::int64_t kMaxCounters = 4096;  // of items times those that `contains` counts

bool is_true(const JsonValue* value) { return value != nullptr && *value == JsonValue(true); }

JsonValue items_of(const JsonObject& schema) {
  const JsonValue* items = find_key(schema, "items");
  return items == nullptr ? JsonValue(true) : *items;
}

// Says of `not` by minItems what it can say of lists: that they are not empty.
JsonObject with_excluded_lists(const JsonObject& schema) {
  bool is_empty_excluded = false;
  for (const JsonValue& value : excluded_by(schema).values) {
    const auto* list = std::get_if<JsonArray>(&value);
    if (list == nullptr) continue;
    if (!list->empty()) {
      fail_unsupported("keyword not supported; got `not` of " + json_text(value) +
                       ", expected no list but []");
    }
    is_empty_excluded = true;
  }
  return is_empty_excluded ? merged_schemas(schema, {{"minItems", std::int64_t{1}}}) : schema;
}

// Lists of values in any order, none of them twice: a rule for each set of those that were used.
std::string permutations(const std::vector<std::string>& values, std::int64_t least,
                         std::int64_t most, SchemaRules& rules) {
  const std::size_t count = std::size_t{1} << values.size();
  std::vector<std::string> behind(count);
  for (std::size_t used = count; used-- > 0;) {
    std::int64_t size = 0;
    for (std::size_t i = 0; i < values.size(); ++i) size += used >> i & 1;
    std::string body = size >= least ? "\"\"" : "";
    for (std::size_t i = 0; i < values.size() && (most < 0 || size < most); ++i) {
      const std::string& rest = behind[used | std::size_t{1} << i];
      if ((used >> i & 1) != 0 || rest.empty()) continue;
      body += (body.empty() ? "" : " | ") + std::string(size == 0 ? "" : kBetween) + values[i] +
              " " + rest;
    }
    if (!body.empty() && (most < 0 || size <= most)) behind[used] = rules.rule("distinct", body);
  }
  return behind[0];
}

}  // namespace

std::string SchemaWriter::array(const JsonObject& all, int depth) {
  const JsonObject schema = with_excluded_lists(all);
  const std::int64_t least = count_of(schema, "minItems", 0);
  const std::int64_t most = count_of(schema, "maxItems", -1);
  const bool is_distinct = is_true(find_key(schema, "uniqueItems")) && (most < 0 || most > 1);
  const bool contains = find_key(schema, "contains") != nullptr;
  if (is_distinct && contains) {
    fail_unsupported("keyword not supported; got `uniqueItems` beside `contains`, expected one");
  }
  if (is_distinct) return array_of_distinct(schema, depth);
  if (contains) return array_that_contains(schema, depth);
  check_range(least, most, "Items");
  const JsonArray* prefix = list_at(schema, "prefixItems");
  const JsonValue items = items_of(schema);
  std::vector<std::string> first;
  for (std::size_t i = 0; prefix != nullptr && i < prefix->size(); ++i) {
    if (most >= 0 && static_cast<std::int64_t>(first.size()) >= most) break;
    first.push_back(visit((*prefix)[i], depth + 1));
  }
  const auto count = static_cast<std::int64_t>(first.size());
  const std::int64_t more = std::max<std::int64_t>(0, least - count);
  std::int64_t most_others = most < 0 ? -1 : most - count;
  if (prefix != nullptr && find_key(schema, "items") == nullptr) most_others = more;
  std::optional<std::string> item;
  if (most_others != 0) item = visit_if_any(items, depth + 1);
  if (!item) most_others = 0;
  std::string head = kHead;
  for (std::size_t i = 0; i < first.size(); ++i) {
    head += (i == 0 ? "" : std::string(" ") + kBetween) + first[i];
  }
  if (most_others == 0) {
    if (least > count) {
      fail_without_values("nothing is in range; got minItems " + std::to_string(least) +
                          ", and no value for more than " + std::to_string(count));
    }
    return rules_.rule("array", head + kTail);
  }
  times(least, most_others < 0 ? -1 : count + most_others, "Items");
  const std::string others = "(" + std::string(kBetween) + *item + ")";
  if (count > 0) {
    return rules_.rule("array", head + " (space \",\" space " + *item + ")" +
                                    times(more, most_others, "Items") + kTail);
  }
  const std::string rest =
      *item + " " + others +
      times(std::max<std::int64_t>(0, least - 1), most < 0 ? -1 : most - 1, "Items");
  return rules_.rule("array", head + (least == 0 ? "(" + rest + ")?" : rest) + kTail);
}

// Items that are counted and others, by how many of both stand before.
std::string SchemaWriter::array_that_contains(const JsonObject& schema, int depth) {
  const JsonValue& contained = *find_key(schema, "contains");
  const std::int64_t least = count_of(schema, "minItems", 0);
  const std::int64_t most = count_of(schema, "maxItems", -1);
  const std::int64_t least_inside = count_of(schema, "minContains", 1);
  const std::int64_t most_inside = count_of(schema, "maxContains", -1);
  if (find_key(schema, "prefixItems") != nullptr) {
    fail_unsupported("keyword not supported; got `prefixItems` beside `contains`, expected items");
  }
  times(least_inside, most_inside, "Contains");
  times(least, most, "Items");
  const JsonValue items = items_of(schema);
  const std::optional<std::string> inside = visit_if_any(both_hold(items, contained), depth + 1);
  if (!inside && least_inside > 0) {
    fail_without_values("`contains` that no item satisfies; got " + json_text(contained));
  }
  const std::optional<std::string> outside = visit_if_any(
      most_inside < 0 ? items : both_hold(items, JsonObject{{"not", contained}}), depth + 1);
  // All items are of one kind where there is no other.
  const std::int64_t least_of_all = std::max(least, inside ? least_inside : 0);
  const bool has_others = outside.has_value();
  const std::int64_t most_of_all = has_others || most_inside < 0 ? most
                                   : most < 0                    ? most_inside
                                                                 : std::min(most, most_inside);
  if ((most_of_all >= 0 && most_of_all < least_of_all) || (!inside && !has_others && least > 0)) {
    fail_without_values("nothing is in range; got minItems " + std::to_string(least) +
                        (most < 0 ? "" : ", maxItems " + std::to_string(most)) + ", minContains " +
                        std::to_string(least_inside) +
                        (most_inside < 0 ? "" : ", maxContains " + std::to_string(most_inside)) +
                        (has_others ? "" : ", and no items but those of `contains`"));
  }
  const std::int64_t items_counted = most < 0 ? std::max<std::int64_t>(least, 1) : most;
  const std::int64_t inside_counted = most_inside < 0 ? least_inside : most_inside;
  if ((items_counted + 1) * (inside_counted + 1) > kMaxCounters) {
    fail_unsupported("`contains` too large; got " + std::to_string(items_counted) +
                     " items times " + std::to_string(inside_counted) + ", expected at most " +
                     std::to_string(kMaxCounters) + " together");
  }
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> names;
  for (std::int64_t i = 0; i <= items_counted; ++i) {
    for (std::int64_t j = 0; j <= inside_counted; ++j) names[{i, j}] = rules_.open("counted");
  }
  for (const auto& [place, name] : names) {
    const auto& [i, j] = place;
    std::string body = i >= least && j >= least_inside ? "\"\"" : "";
    const auto add = [&](const std::optional<std::string>& item, std::int64_t then) {
      if (!item || (most >= 0 && i == most)) return;
      body += (body.empty() ? "" : " | ") + std::string(i == 0 ? "" : kBetween) + *item + " " +
              names[{std::min(i + 1, items_counted), then}];
    };
    // Where no more have to be counted, any item is one of the others.
    const bool is_enough = most_inside < 0 && j == inside_counted;
    if (!is_enough && (most_inside < 0 || j < most_inside)) add(inside, j + 1);
    add(outside, j);
    rules_.fill(name, body.empty() ? "[]" : body);
  }
  return rules_.rule("array", kHead + names[{0, 0}] + kTail);
}

std::string SchemaWriter::array_of_distinct(const JsonObject& schema, int depth) {
  if (find_key(schema, "prefixItems") != nullptr) {
    fail_unsupported(
        "keyword not supported; got `uniqueItems` beside `prefixItems`, expected items");
  }
  JsonObject items = document_.expanded(items_of(schema), depth + 1);
  JsonArray values;
  if (find_key(items, "anyOf") == nullptr) {
    if (find_key(items, "enum") == nullptr && find_key(items, "const") == nullptr) {
      if (types_of(items) == std::vector<std::string>{"boolean"}) {
        items.emplace_back("enum", JsonArray{false, true});
      }
    }
    if (find_key(items, "enum") != nullptr || find_key(items, "const") != nullptr) {
      check_keywords(items);
      for (const JsonValue& value : fitting_constants(items, depth + 1)) {
        steps_.take(values.size());
        if (!holds(values, value)) values.push_back(value);
      }
    }
  }
  if (values.empty()) {
    fail_unsupported(
        "keyword not supported; got `uniqueItems`, expected maxItems 1 beside it, or items of an "
        "enum");
  }
  const std::int64_t least = count_of(schema, "minItems", 0);
  const std::int64_t most = count_of(schema, "maxItems", -1);
  times(least, most, "Items");
  std::vector<std::string> texts;
  for (const JsonValue& value : values) texts.push_back(gbnf_literal(json_text(value)));
  if (texts.size() <= kMaxPermuted) {
    const std::string inside = permutations(texts, least, most, rules_);
    if (inside.empty()) {
      fail_without_values("nothing is in range; got minItems " + std::to_string(least) +
                          ", expected at most the " + std::to_string(texts.size()) +
                          " different ones that there are");
    }
    return rules_.rule("array", kHead + inside + kTail);
  }
  std::vector<ListMember> members;
  for (const std::string& text : texts) members.push_back({text, false});
  return rules_.rule("array",
                     kHead + members_rule(members, "", least, most, "Items", rules_) + kTail);
}

}  // namespace hearth::models::grammar

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_texts.h"
#include "models/grammar/schema_writer.h"

namespace hearth::models::grammar {
namespace {

constexpr char kComma[] = "space \",\" space ";

// What may follow `count` members where only others are left.
std::optional<std::string> ends_with(const std::string& other, std::int64_t count,
                                     std::int64_t least, std::int64_t most, const char* what) {
  const std::int64_t more = least - count;
  const std::int64_t room = most < 0 ? -1 : most - count;
  if (more <= 0 && (other.empty() || room == 0)) return "\"\"";
  if (more > 1 || other.empty() || room == 0) return std::nullopt;
  const std::string next = std::string("(") + kComma + other + ")";
  if (count > 0) return next + times(std::max<std::int64_t>(more, 0), room, what);
  const std::string all = other + " " + next + times(0, room < 0 ? -1 : room - 1, what);
  return more > 0 ? all : "(" + all + ")?";
}

// Of members that may be left out any may come next, up to one that is required.
void check_left_out(const std::vector<ListMember>& members, const char* what) {
  constexpr std::size_t kMaxLeftOut = 3500;  // a set of positions has 4096
  std::size_t longest = 0, run = 0;
  for (const ListMember& member : members) {
    run = member.is_required ? 0 : run + 1;
    longest = std::max(longest, run);
  }
  if (longest <= kMaxLeftOut) return;
  const bool is_of_items = std::string_view(what) == "Items";
  fail_unsupported(
      std::string(is_of_items ? "`uniqueItems` of too many values"
                              : "`properties` too many that may be left out in a row") +
      "; got " + std::to_string(longest) + ", expected at most " + std::to_string(kMaxLeftOut));
}

}  // namespace

std::string members_rule(const std::vector<ListMember>& members, const std::string& other,
                         std::int64_t least, std::int64_t most, const char* what,
                         SchemaRules& rules) {
  // From the end, by how many members stand before. Beyond those that limits count, all numbers of
  // them are the same.
  const auto size = static_cast<std::int64_t>(members.size());
  const std::int64_t sure = std::count_if(members.begin(), members.end(),
                                          [](const ListMember& one) { return one.is_required; });
  times(least, most, what);
  if (most >= 0) times(sure, most, what);
  if (least > size + (other.empty() ? 0 : 1)) {
    const std::string keyword = "`min" + std::string(what) + "`";
    if (other.empty()) {
      fail_without_values("nothing is in range; got " + keyword + " " + std::to_string(least) +
                          ", expected at most the " + std::to_string(size) + " that there are");
    }
    fail_unsupported(keyword + " too large; got " + std::to_string(least) + ", expected at most " +
                     std::to_string(size + 1) + ", since names of other members may be equal");
  }
  const bool is_limited = most >= 0 && (most < size || !other.empty());
  const std::int64_t counted = std::max<std::int64_t>(
      1, is_limited ? std::min(most, size) : (least > sure ? std::min(least, size) : 1));
  const bool is_least = least > sure;
  const std::int64_t needed = is_least ? least : 0;
  check_left_out(members, what);
  // How a text may go on: it ends, or by others alone, or with one of these members, before which
  // a comma stands once for all of them.
  struct Onward {
    std::optional<std::string> end, more;
  };
  const auto body_of = [&](const Onward& onward, bool is_first) -> std::optional<std::string> {
    if (!onward.more) return onward.end;
    const std::string more = (is_first ? "" : kComma) + rules.rule("more", *onward.more);
    return onward.end ? *onward.end + " | " + more : more;
  };
  std::vector<Onward> next(static_cast<std::size_t>(counted) + 1);
  for (std::int64_t count = 0; count <= std::min(counted, size); ++count) {
    next[static_cast<std::size_t>(count)].end =
        ends_with(other, count, needed, is_limited ? most : -1, what);
  }
  for (std::int64_t i = size; i-- > 0;) {
    const ListMember& member = members[static_cast<std::size_t>(i)];
    std::vector<Onward> now(next.size());
    for (std::int64_t count = 0; count <= std::min(counted, i); ++count) {
      Onward& out = now[static_cast<std::size_t>(count)];
      const bool is_full = is_limited && count >= most;
      const auto then = static_cast<std::size_t>(std::min(count + 1, counted));
      if (const auto rest = is_full ? std::nullopt : body_of(next[then], false)) {
        out.more = member.text + " " + rules.rule("rest", *rest);
      }
      if (member.is_required) continue;
      const Onward& without = next[static_cast<std::size_t>(count)];
      out.end = without.end;
      if (without.more) {
        const std::string more = rules.rule("more", *without.more);
        out.more = out.more ? *out.more + " | " + more : more;
      }
    }
    next = std::move(now);
  }
  const std::optional<std::string> all = body_of(next[0], true);
  if (!all) {
    fail_without_values("nothing is in range; got min" + std::string(what) + " " +
                        std::to_string(least) + " and max" + what + " " + std::to_string(most));
  }
  return rules.rule("members", *all);
}

}  // namespace hearth::models::grammar

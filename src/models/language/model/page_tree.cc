#include "models/language/model/page_tree.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "models/language/windows.h"

namespace hearth::models {
namespace {

// Numbers 0 to count - 1, the last first.
std::vector<std::int32_t> numbers_below(std::int64_t count) {
  std::vector<std::int32_t> numbers;
  for (std::int64_t i = count; i-- > 0;) numbers.push_back(static_cast<std::int32_t>(i));
  return numbers;
}

std::int64_t common_length(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  const std::size_t most = std::min(a.size(), b.size());
  return std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin()).first -
         a.begin();
}

}  // namespace

PageTree::PageTree(std::int64_t pages, std::int64_t page_size, std::int64_t states,
                   std::int64_t window, std::int64_t window_pages)
    : page_size_(page_size),
      window_(window),
      windows_(window_pages, pages),
      pages_(static_cast<std::size_t>(pages)),
      free_(numbers_below(pages)),
      free_states_(numbers_below(states)) {}

std::int32_t PageTree::take_page() {
  if (free_.empty() && !kept_.empty()) forget(kept_.begin()->second);
  if (free_.empty()) return kNone;
  const std::int32_t page = free_.back();
  free_.pop_back();
  at(page).holders = 1;
  return page;
}

void PageTree::hold(std::int32_t page) {
  Page& held = at(page);
  if (held.holders++ == 0) kept_.erase({held.released, page});
}

void PageTree::release(std::int32_t page) {
  Page& released = at(page);
  if (--released.holders > 0) return;
  if (released.has_name) {
    released.released = ++clock_;
    kept_.emplace(released.released, page);
  } else {
    free_.push_back(page);
  }
}

bool PageTree::is_writable(std::int32_t page, std::int64_t row) const {
  const Page& written = at(page);
  return written.holders == 1 &&
         (!written.has_name || static_cast<std::int64_t>(written.tokens.size()) <= row);
}

void PageTree::make_writable(std::int32_t page, std::int64_t row) {
  if (is_writable(page, row)) return;
  forget_children(page);
  forget_full(page);
  unlist_child(page);
  at(page).tokens.resize(static_cast<std::size_t>(row));
  list_child(page);
  drop_saved(page, true, [&](const Saved& each) { return each.rows > row; });
}

std::uint64_t PageTree::key(std::int32_t parent, std::span<const std::int32_t> tokens) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ static_cast<std::uint32_t>(parent);
  for (const std::int32_t token : tokens) {
    hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  return hash;
}

std::int32_t PageTree::full_page(std::int32_t parent, std::span<const std::int32_t> tokens) const {
  const auto [begin, end] = full_.equal_range(key(parent, tokens));
  for (auto each = begin; each != end; ++each) {
    const Page& page = at(each->second);
    if (page.parent == parent && std::ranges::equal(page.tokens, tokens)) return each->second;
  }
  return kNone;
}

std::int32_t PageTree::name(std::int32_t page, std::int32_t parent,
                            std::span<const std::int32_t> tokens) {
  Page& named = at(page);
  if (named.has_name && tokens.size() <= named.tokens.size()) return page;
  if (static_cast<std::int64_t>(tokens.size()) == page_size_) {
    const std::int32_t same = full_page(parent, tokens);
    if (same != kNone) {
      hold(same);
      if (named.has_name && named.holders == 1) {
        const std::vector<Saved> saved = named.saved;
        drop_saved(page, false, [](const Saved&) { return true; });
        for (const Saved& each : saved) {
          if (saved_state(same, each.rows).first != each.rows) {
            add_saved(same, each);
          } else {
            free_states_.push_back(each.state);
          }
        }
        release(page);
        forget(page);
      } else {
        release(page);
      }
      return same;
    }
  }
  if (named.has_name) {
    unlist_child(page);
  } else {
    named.has_name = true;
    named.parent = parent;
  }
  named.tokens.assign(tokens.begin(), tokens.end());
  list_child(page);
  if (is_full(named)) full_.emplace(key(parent, tokens), page);
  return page;
}

PageTree::Found PageTree::find(std::span<const std::int32_t> tokens, std::int64_t most_rows,
                               bool needs_state) {
  tokens = tokens.first(static_cast<std::size_t>(
      std::clamp<std::int64_t>(most_rows, 0, static_cast<std::int64_t>(tokens.size()))));
  Found found;
  std::vector<std::int32_t> path;
  std::size_t parents_of_best = 0;  // how much of the path
  std::int32_t last_of_best = kNone;
  std::int64_t first_kept = 0;  // the pages of the path from here on have their pages of windows
  // Whether a row behind `rows` rows, the last of them in `page`, finds what it sees.
  const auto has_window = [&](std::int32_t page, std::int64_t rows) {
    if (window_ == 0) return true;
    const std::int64_t first = first_seen_row(rows, window_) / page_size_;
    if (first * page_size_ >= rows) return true;
    return windows_.page_of(page) != WindowPages::kNone && first >= first_kept;
  };
  // What is known when `rows` rows of `page` are, whose parents are `path`.
  const auto offer = [&](std::int32_t page, std::int64_t rows) {
    std::int32_t state = kNone;
    if (needs_state) std::tie(rows, state) = saved_state(page, rows);
    const std::int64_t all = static_cast<std::int64_t>(path.size()) * page_size_ + rows;
    if (rows == 0 || all <= found.rows || !has_window(page, all)) return;
    found.rows = all;
    found.state = state;
    parents_of_best = path.size();
    last_of_best = page;
  };
  std::int32_t parent = kNone;
  const auto size = static_cast<std::size_t>(page_size_);
  for (;; tokens = tokens.subspan(size)) {
    const std::int32_t next = tokens.size() < size ? kNone : full_page(parent, tokens.first(size));
    if (next == kNone) break;
    offer(next, page_size_);
    path.push_back(next);
    parent = next;
    if (window_ > 0 && windows_.page_of(next) == WindowPages::kNone) {
      first_kept = static_cast<std::int64_t>(path.size());
    }
  }
  found.full_rows = static_cast<std::int64_t>(path.size()) * page_size_;
  // The further a child stands from where `tokens` would, the fewer rows it shares with them.
  const auto offer_better = [&](std::int32_t child) {
    const std::int64_t common = common_length(at(child).tokens, tokens);
    if (common == 0 || found.full_rows + common <= found.rows) return false;
    offer(child, common);
    return true;
  };
  std::vector<std::int32_t>& children = children_of(parent);
  const auto middle = place_among(children, tokens, kNone);
  for (auto each = middle; each != children.end() && offer_better(*each);) ++each;
  for (auto each = middle; each != children.begin() && offer_better(*--each);) continue;
  if (last_of_best == kNone) return found;
  path.resize(parents_of_best);
  path.push_back(last_of_best);
  found.pages = std::move(path);
  for (const std::int32_t page : found.pages) hold(page);
  if (found.state != kNone) {
    const std::int64_t rows = found.rows - static_cast<std::int64_t>(parents_of_best) * page_size_;
    claim_state(last_of_best, found.state);
    save_state(last_of_best, rows, found.state);
  }
  return found;
}

std::int32_t PageTree::take_state(std::int32_t besides) {
  if (free_states_.empty()) forget_oldest_state(besides);
  if (free_states_.empty()) return kNone;
  const std::int32_t state = free_states_.back();
  free_states_.pop_back();
  return state;
}

void PageTree::release_state(std::int32_t state) { free_states_.push_back(state); }

void PageTree::save_state(std::int32_t page, std::int64_t rows, std::int32_t state) {
  drop_saved(page, true, [&](const Saved& each) { return each.rows == rows; });
  add_saved(page, {rows, state, ++clock_});
}

void PageTree::claim_state(std::int32_t page, std::int32_t state) {
  drop_saved(page, false, [&](const Saved& each) { return each.state == state; });
}

void PageTree::add_saved(std::int32_t page, const Saved& saved) {
  at(page).saved.push_back(saved);
  page_of_saved_.emplace(saved.used, page);
}

template <class Which>
void PageTree::drop_saved(std::int32_t page, bool frees, Which which) {
  std::erase_if(at(page).saved, [&](const Saved& each) {
    if (!which(each)) return false;
    page_of_saved_.erase(each.used);
    if (frees) free_states_.push_back(each.state);
    return true;
  });
}

std::pair<std::int64_t, std::int32_t> PageTree::saved_state(std::int32_t page,
                                                            std::int64_t most_rows) {
  std::pair<std::int64_t, std::int32_t> best = {0, kNone};
  for (const Saved& each : at(page).saved) {
    if (each.rows <= most_rows && each.rows > best.first) best = {each.rows, each.state};
  }
  return best;
}

std::vector<std::int32_t>::iterator PageTree::place_among(std::vector<std::int32_t>& children,
                                                          std::span<const std::int32_t> tokens,
                                                          std::int32_t page) {
  return std::ranges::partition_point(children, [&](std::int32_t each) {
    const auto order = std::lexicographical_compare_three_way(
        at(each).tokens.begin(), at(each).tokens.end(), tokens.begin(), tokens.end());
    return order < 0 || (order == 0 && each < page);
  });
}

void PageTree::list_child(std::int32_t page) {
  std::vector<std::int32_t>& children = children_of(at(page).parent);
  children.insert(place_among(children, at(page).tokens, page), page);
}

void PageTree::unlist_child(std::int32_t page) {
  std::vector<std::int32_t>& children = children_of(at(page).parent);
  children.erase(place_among(children, at(page).tokens, page));
}

void PageTree::forget_children(std::int32_t page) {
  while (!at(page).children.empty()) forget(at(page).children.back());
}

void PageTree::forget_full(std::int32_t page) {
  const Page& full = at(page);
  if (!is_full(full)) return;
  const auto [begin, end] = full_.equal_range(key(full.parent, full.tokens));
  full_.erase(std::find_if(begin, end, [&](const auto& each) { return each.second == page; }));
}

void PageTree::forget(std::int32_t page) {
  Page& forgotten = at(page);
  forget_children(page);
  forget_full(page);
  windows_.forget(page);
  drop_saved(page, true, [](const Saved&) { return true; });
  unlist_child(page);
  kept_.erase({forgotten.released, page});
  forgotten = Page();
  free_.push_back(page);
}

void PageTree::forget_oldest_state(std::int32_t besides) {
  for (const auto& [used, page] : page_of_saved_) {
    const auto oldest = std::ranges::find(at(page).saved, used, &Saved::used);
    if (oldest->state == besides) continue;
    release_state(oldest->state);
    claim_state(page, oldest->state);
    return;
  }
}

}  // namespace hearth::models

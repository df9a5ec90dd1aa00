// Which pages of a cache hold the rows of which tokens, so that texts that begin the same share
// them, and which slots hold the states that a text had at some row.
//
// A page holds the rows behind those of its parent. Pages that nobody holds any more are kept while
// they have a name, and found again, until their place is wanted: the ones let go first are
// forgotten first. Of layers with windows, which have pages of their own, a page of the tree owns
// the one with the same rows, as long as that is kept. Only numbers: what pages and slots hold is
// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/language/model/window_pages.h"

namespace hearth::models {

// Not for several threads at once.
class PageTree {
 public:
  static constexpr std::int32_t kNone = -1;

  // With `window` > 0 layers see that many rows at most, and have `window_pages` pages.
  PageTree(std::int64_t pages, std::int64_t page_size, std::int64_t states, std::int64_t window = 0,
           std::int64_t window_pages = 0);

  WindowPages& windows() noexcept { return windows_; }
  const WindowPages& windows() const noexcept { return windows_; }

  // ---- Pages

  // What take_page() can give: pages that are free or only kept.
  std::int64_t free_pages() const noexcept {
    return static_cast<std::int64_t>(free_.size() + kept_.size());
  }
  std::int64_t kept_pages() const noexcept { return static_cast<std::int64_t>(kept_.size()); }
  // A page without a name, held once; kNone where all are held.
  std::int32_t take_page();
  void hold(std::int32_t page);
  void release(std::int32_t page);
  // Whether its only holder may write rows from `row` on: nobody else has or finds these.
  bool is_writable(std::int32_t page, std::int64_t row) const;
  bool is_shared(std::int32_t page) const { return at(page).holders > 1; }
  // Makes it so for a page that is not shared: rows from `row` on are found no more.
  void make_writable(std::int32_t page, std::int64_t row);

  // ---- Names

  // Says that a held page holds the rows of `tokens`, page_size at most, behind those of the full
  // page `parent` (kNone: nothing). Where another full page holds the same, that one is held and
  // given in place of it, and this one is released.
  std::int32_t name(std::int32_t page, std::int32_t parent, std::span<const std::int32_t> tokens);

  struct Found {
    std::vector<std::int32_t> pages;  // held for the caller
    std::int64_t rows = 0;            // the last page may hold more
    std::int32_t state = kNone;
    std::int64_t full_rows = 0;  // of full pages, that `tokens` begin with
  };
  // The longest run of rows, `most_rows` at most, that `tokens` begin with; with `needs_state` only
  // up to a row whose states were saved, with windows up to one that sees pages which are kept.
  Found find(std::span<const std::int32_t> tokens, std::int64_t most_rows, bool needs_state);

  // ---- States

  // A slot; where none is free, that of the saved states found or saved longest ago, but for
  // `besides`. kNone where there is none.
  std::int32_t take_state(std::int32_t besides = kNone);
  void release_state(std::int32_t state);
  // The slot, taken before, now belongs to the states behind `rows` rows of a page with a name.
  void save_state(std::int32_t page, std::int64_t rows, std::int32_t state);
  // Saved states of a page, whose slot is the caller's from now on.
  void claim_state(std::int32_t page, std::int32_t state);
  // The saved states with the most rows, `most_rows` at most, of a page: rows, slot; {0, kNone}.
  std::pair<std::int64_t, std::int32_t> saved_state(std::int32_t page, std::int64_t most_rows);

 private:
  struct Saved {
    std::int64_t rows;
    std::int32_t state;
    std::uint64_t used;
  };
  struct Page {
    std::int64_t holders = 0;
    bool has_name = false;
    std::int32_t parent = kNone;
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> children;  // pages with names, as place_among() orders them
    std::vector<Saved> saved;
    std::uint64_t released = 0;
  };

  Page& at(std::int32_t page) { return pages_[static_cast<std::size_t>(page)]; }
  const Page& at(std::int32_t page) const { return pages_[static_cast<std::size_t>(page)]; }
  std::vector<std::int32_t>& children_of(std::int32_t page) {
    return page == kNone ? roots_ : at(page).children;
  }
  bool is_full(const Page& page) const {
    return static_cast<std::int64_t>(page.tokens.size()) == page_size_;
  }
  static std::uint64_t key(std::int32_t parent, std::span<const std::int32_t> tokens);
  // The full page that holds these rows, or kNone.
  std::int32_t full_page(std::int32_t parent, std::span<const std::int32_t> tokens) const;
  void forget_full(std::int32_t page);
  // Where a page of these tokens stands or would stand among children of one page, which are in the
  // order of their tokens and then of their numbers.
  std::vector<std::int32_t>::iterator place_among(std::vector<std::int32_t>& children,
                                                  std::span<const std::int32_t> tokens,
                                                  std::int32_t page);
  // A page stands among its parent's children only while its tokens stay as they are.
  void list_child(std::int32_t page);
  void unlist_child(std::int32_t page);
  // Pages behind this one, which nobody holds.
  void forget_children(std::int32_t page);
  // A page that nobody holds, and what hangs on it: without names, and free.
  void forget(std::int32_t page);
  void forget_oldest_state(std::int32_t besides);
  void add_saved(std::int32_t page, const Saved& saved);
  // Takes those of the page's states away for which `which` is true; slots are free if `frees`.
  template <class Which>
  void drop_saved(std::int32_t page, bool frees, Which which);

  std::int64_t page_size_;
  std::int64_t window_;
  WindowPages windows_;
  std::vector<Page> pages_;
  std::vector<std::int32_t> roots_;
  std::vector<std::int32_t> free_;
  std::set<std::pair<std::uint64_t, std::int32_t>> kept_;  // when it was released, which
  std::unordered_multimap<std::uint64_t, std::int32_t> full_;
  std::vector<std::int32_t> free_states_;
  std::map<std::uint64_t, std::int32_t> page_of_saved_;  // by when states were used
  std::uint64_t clock_ = 0;
};

}  // namespace hearth::models

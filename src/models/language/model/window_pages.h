// Which pages of the layers with windows hold the rows of which pages of a tree (page_tree.h).
//
// Such layers have pages of their own, and fewer of them: rows that no later row of a text sees are
// let go while the text goes on. Pages that nobody holds any more are kept while they have an
// owner, until their place is wanted: those that lay in the middle of a text first, then those from
// which texts went on or ended, each the ones let go first. Only numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace hearth::models {

// Not for several threads at once.
class WindowPages {
 public:
  static constexpr std::int32_t kNone = -1;

  // `pages` of them, and `owners` pages of the tree.
  WindowPages(std::int64_t pages, std::int64_t owners);

  // What take() can give: pages that are free or only kept.
  std::int64_t free_pages() const noexcept {
    return static_cast<std::int64_t>(free_.size() + kept_.size());
  }
  std::int64_t kept_pages() const noexcept { return static_cast<std::int64_t>(kept_.size()); }

  // A page without an owner, held once; kNone where all are held.
  std::int32_t take();
  void hold(std::int32_t page);
  void release(std::int32_t page);
  bool is_shared(std::int32_t page) const { return at(page).holders > 1; }
  // Says that texts go on from its rows, or may: it is kept longer than others.
  void want(std::int32_t page) { at(page).is_wanted = true; }

  // The page with the rows of `owner`, or kNone.
  std::int32_t page_of(std::int32_t owner) const {
    return page_of_[static_cast<std::size_t>(owner)];
  }
  // Says that a held page has the rows of `owner`. Where another one has them that one is held and
  // given in place of it, and this one is released.
  std::int32_t give(std::int32_t page, std::int32_t owner);
  // The owner is none any more.
  void forget(std::int32_t owner);

 private:
  struct Page {
    std::int64_t holders = 0;
    std::int32_t owner = kNone;
    bool is_wanted = false;
    std::pair<bool, std::uint64_t> released;  // whether it was wanted, when
  };

  Page& at(std::int32_t page) { return pages_[static_cast<std::size_t>(page)]; }
  const Page& at(std::int32_t page) const { return pages_[static_cast<std::size_t>(page)]; }
  void free(std::int32_t page);

  std::vector<Page> pages_;
  std::vector<std::int32_t> page_of_;  // of each owner
  std::vector<std::int32_t> free_;
  std::set<std::pair<std::pair<bool, std::uint64_t>, std::int32_t>> kept_;  // in order of eviction
  std::uint64_t clock_ = 0;
};

}  // namespace hearth::models

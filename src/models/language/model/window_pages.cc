#include "models/language/model/window_pages.h"

#include <algorithm>

namespace hearth::models {

WindowPages::WindowPages(std::int64_t pages, std::int64_t owners)
    : pages_(static_cast<std::size_t>(pages)), page_of_(static_cast<std::size_t>(owners), kNone) {
  for (std::int64_t i = pages; i-- > 0;) free_.push_back(static_cast<std::int32_t>(i));
}

std::int32_t WindowPages::take() {
  if (free_.empty() && !kept_.empty()) forget(at(kept_.begin()->second).owner);
  if (free_.empty()) return kNone;
  const std::int32_t page = free_.back();
  free_.pop_back();
  at(page).holders = 1;
  return page;
}

void WindowPages::hold(std::int32_t page) {
  Page& held = at(page);
  if (held.holders++ == 0) kept_.erase({held.released, page});
}

void WindowPages::release(std::int32_t page) {
  Page& released = at(page);
  if (--released.holders > 0) return;
  if (released.owner == kNone) {
    free(page);
    return;
  }
  released.released = {released.is_wanted, ++clock_};
  kept_.emplace(released.released, page);
}

std::int32_t WindowPages::give(std::int32_t page, std::int32_t owner) {
  std::int32_t& own = page_of_[static_cast<std::size_t>(owner)];
  if (own == page) return page;
  if (own != kNone) {
    hold(own);
    release(page);
    return own;
  }
  // What belongs to another page of the tree stays there: a page has one owner.
  if (at(page).owner != kNone) return page;
  at(page).owner = owner;
  own = page;
  return page;
}

void WindowPages::forget(std::int32_t owner) {
  const std::int32_t page = std::exchange(page_of_[static_cast<std::size_t>(owner)], kNone);
  if (page == kNone) return;
  at(page).owner = kNone;
  if (at(page).holders > 0) return;
  kept_.erase({at(page).released, page});
  free(page);
}

void WindowPages::free(std::int32_t page) {
  at(page) = Page();
  free_.push_back(page);
}

}  // namespace hearth::models

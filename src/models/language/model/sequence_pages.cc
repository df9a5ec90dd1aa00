// The pages of sequences: those that the rows of a step take, those that layers with windows hold,
// and what others find in them.
#include <algorithm>
#include <string>
#include <utility>

#include "core/counted.h"
#include "hearth/error.h"
#include "models/language/model/sequences.h"
#include "models/language/windows.h"

namespace hearth::models {

std::int64_t Sequences::first_seen_page(std::int64_t length) const {
  return has_windows() ? first_seen_row(length, window_) / page_size() : 0;
}

std::int64_t Sequences::first_held_page(std::int64_t length) const {
  return std::max<std::int64_t>(first_seen_page(length) - 1, 0);
}

void Sequences::hold_window(Sequence& sequence) {
  if (!has_windows()) return;
  const std::int64_t first = first_seen_page(sequence.length);
  sequence.window_begin = std::min(sequence.window_begin, first);
  for (auto i = static_cast<std::size_t>(first); i < sequence.pages.size(); ++i) {
    std::int32_t& page = sequence.window_pages[i];
    if (page != WindowPages::kNone) continue;
    page = tree_.windows().page_of(sequence.pages[i]);
    tree_.windows().hold(page);
  }
}

void Sequences::want_window(const Sequence& sequence) {
  for (auto i = static_cast<std::size_t>(first_seen_page(sequence.length));
       i < sequence.window_pages.size(); ++i) {
    const std::int32_t page = sequence.window_pages[i];
    if (page != WindowPages::kNone) tree_.windows().want(page);
  }
}

void Sequences::let_go(Sequence& sequence) {
  const std::int64_t first_of_branch = first_seen_page(sequence.branch);
  const std::int64_t end = first_held_page(sequence.length);
  for (std::int64_t& i = sequence.window_begin; i < end; ++i) {
    const std::int32_t page =
        std::exchange(sequence.window_pages[static_cast<std::size_t>(i)], WindowPages::kNone);
    if (page == WindowPages::kNone) continue;
    if (i >= first_of_branch && i * page_size() < sequence.branch) tree_.windows().want(page);
    tree_.windows().release(page);
  }
}

std::int64_t Sequences::last_seeing_row(const Sequence& sequence, std::int64_t most) const {
  if (!has_windows()) return most;
  const auto has_page = [&](std::int64_t page) {
    const auto i = static_cast<std::size_t>(page);
    return sequence.window_pages[i] != WindowPages::kNone ||
           tree_.windows().page_of(sequence.pages[i]) != WindowPages::kNone;
  };
  while (most > 0) {
    const std::int64_t first = first_seen_page(most);
    std::int64_t page = (most - 1) / page_size();
    while (page >= first && has_page(page)) --page;
    if (page < first) break;
    most = page * page_size();
  }
  return most;
}

std::size_t Sequences::next_page(const Sequence& sequence) const {
  return static_cast<std::size_t>(sequence.length / page_size());
}

bool Sequences::is_seen(const Sequence& sequence) const {
  const std::int64_t row = sequence.length % page_size();
  if (row == 0) return false;
  return is_shared(sequence) || !tree_.is_writable(sequence.pages[next_page(sequence)], row);
}

bool Sequences::is_shared(const Sequence& sequence) const {
  const std::size_t page = next_page(sequence);
  return tree_.is_shared(sequence.pages[page]) ||
         (has_windows() && tree_.windows().is_shared(sequence.window_pages[page]));
}

PageCounts Sequences::pages_wanted(const Sequence& sequence, std::int64_t rows) const {
  std::int64_t wanted =
      std::max<std::int64_t>(0, pages_of(sequence.length + rows, page_size()) -
                                    static_cast<std::int64_t>(sequence.pages.size()));
  if (is_seen(sequence) && is_shared(sequence)) ++wanted;
  return {wanted, has_windows() ? wanted : 0};
}

PageCounts Sequences::pages_wanted(std::span<const SequenceRows> rows) const {
  PageCounts wanted;
  for (const SequenceRows& each : rows) {
    const Sequence& sequence = *each.sequence;
    const PageCounts own = pages_wanted(sequence, static_cast<std::int64_t>(each.tokens.size()));
    wanted.pages += own.pages;
    wanted.window_pages += own.window_pages;
    for (std::int64_t i = sequence.window_begin; i < first_held_page(sequence.length); ++i) {
      const std::int32_t page = sequence.window_pages[static_cast<std::size_t>(i)];
      if (page != WindowPages::kNone && !tree_.windows().is_shared(page)) --wanted.window_pages;
    }
  }
  wanted.window_pages = std::max<std::int64_t>(wanted.window_pages, 0);
  return wanted;
}

PageCounts Sequences::pages_wanted(const Sequence& sequence, std::int64_t rows,
                                   std::int64_t piece) const {
  PageCounts wanted = pages_wanted(sequence, rows);
  const std::int64_t most = window_pages_of_text(model_.config, piece, page_size());
  const std::int64_t held =
      static_cast<std::int64_t>(sequence.pages.size()) - first_seen_page(sequence.length);
  wanted.window_pages = std::max<std::int64_t>(std::min(wanted.window_pages, most - held), 0);
  return wanted;
}

void Sequences::copy_next_page(Sequence& sequence) {
  const std::size_t at = next_page(sequence);
  const std::int32_t own = tree_.take_page();
  copy_page(cache_, sequence.pages[at], own, model_.device);
  tree_.release(std::exchange(sequence.pages[at], own));
  if (has_windows()) {
    const std::int32_t of_windows = tree_.windows().take();
    copy_window_page(cache_, sequence.window_pages[at], of_windows, model_.device);
    tree_.windows().release(std::exchange(sequence.window_pages[at], of_windows));
  }
  // Alone a copy is one small plan; as part of a step it would make plans of the whole model for
  // each number of copies.
  eval_caches();
}

void Sequences::add_page(Sequence& sequence) {
  sequence.pages.push_back(tree_.take_page());
  sequence.window_pages.push_back(has_windows() ? tree_.windows().take() : WindowPages::kNone);
}

void Sequences::drop_last_page(Sequence& sequence) {
  const std::int32_t of_windows = sequence.window_pages.back();
  if (of_windows != WindowPages::kNone) tree_.windows().release(of_windows);
  tree_.release(sequence.pages.back());
  sequence.window_pages.pop_back();
  sequence.pages.pop_back();
}

void Sequences::reserve(std::span<const SequenceRows> rows) {
  const PageCounts wanted = pages_wanted(rows), free_now = free();
  const auto require = [&](std::int64_t count, std::int64_t most, const char* of) {
    if (count <= most) return;
    throw Error(ErrorCode::out_of_memory, "model: caches are full; got " + std::to_string(count) +
                                              " more pages of " + counted(page_size(), "row") + of +
                                              ", expected at most " + std::to_string(most));
  };
  require(wanted.pages, free_now.pages, "");
  require(wanted.window_pages, free_now.window_pages, " of layers with windows");
  // For copies of pages that only are found, where no sequence has them.
  std::int64_t spare = free_now.pages - wanted.pages;
  if (has_windows()) spare = std::min(spare, free_now.window_pages - wanted.window_pages);
  for (const SequenceRows& each : rows) let_go(*each.sequence);
  for (const SequenceRows& each : rows) {
    Sequence& sequence = *each.sequence;
    if (is_seen(sequence)) {
      if (is_shared(sequence) || spare-- > 0) {
        copy_next_page(sequence);
      } else {
        tree_.make_writable(sequence.pages[next_page(sequence)], sequence.length % page_size());
      }
    }
    const auto count = static_cast<std::size_t>(
        pages_of(sequence.length + static_cast<std::int64_t>(each.tokens.size()), page_size()));
    while (sequence.pages.size() < count) add_page(sequence);
  }
}

void Sequences::name_pages(Sequence& sequence, bool all) {
  const std::int64_t size = page_size();
  const std::int64_t count = all ? pages_of(sequence.length, size) : sequence.length / size;
  for (std::int64_t i = sequence.named; i < count; ++i) {
    const std::int64_t rows = std::min(size, sequence.length - i * size);
    const std::int32_t parent =
        i == 0 ? PageTree::kNone : sequence.pages[static_cast<std::size_t>(i - 1)];
    std::int32_t& page = sequence.pages[static_cast<std::size_t>(i)];
    page = tree_.name(
        page, parent,
        std::span(sequence.tokens)
            .subspan(static_cast<std::size_t>(i * size), static_cast<std::size_t>(rows)));
    std::int32_t& of_windows = sequence.window_pages[static_cast<std::size_t>(i)];
    if (of_windows != WindowPages::kNone) of_windows = tree_.windows().give(of_windows, page);
  }
  sequence.named = sequence.length / size;
}

}  // namespace hearth::models

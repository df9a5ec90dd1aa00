#include "models/language/model/page_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace hearth::models {
namespace {

using Tokens = std::vector<std::int32_t>;

// A text that holds its pages.
struct Text {
  Tokens tokens;
  std::vector<std::int32_t> pages;
};

// Takes or finds the pages of `tokens` and names them all; the rows that were known.
std::int64_t open(PageTree& tree, std::int64_t size, const Tokens& tokens, Text* text) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  PageTree::Found found = tree.find(tokens, count - 1, false);
  text->tokens = tokens;
  text->pages = found.pages;
  if (found.rows % size != 0 && !tree.is_writable(text->pages.back(), found.rows % size)) {
    const std::int32_t own = tree.take_page();
    EXPECT_NE(own, PageTree::kNone);
    tree.release(text->pages.back());
    text->pages.back() = own;
  }
  while (static_cast<std::int64_t>(text->pages.size()) * size < count) {
    text->pages.push_back(tree.take_page());
    EXPECT_NE(text->pages.back(), PageTree::kNone);
  }
  for (std::int64_t i = 0; i * size < count; ++i) {
    const std::int32_t parent =
        i == 0 ? PageTree::kNone : text->pages[static_cast<std::size_t>(i - 1)];
    std::int32_t& page = text->pages[static_cast<std::size_t>(i)];
    page = tree.name(
        page, parent,
        std::span(tokens).subspan(static_cast<std::size_t>(i * size),
                                  static_cast<std::size_t>(std::min(size, count - i * size))));
  }
  return found.rows;
}

void close(PageTree& tree, Text* text) {
  while (!text->pages.empty()) {
    tree.release(text->pages.back());
    text->pages.pop_back();
  }
}

TEST(PageTree, FindsTheLongestRunOfRows) {
  PageTree tree(8, 4, 0);
  Text first, second, third;
  EXPECT_EQ(open(tree, 4, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, &first), 0);
  // While the first still holds them: a full page, and three rows of the next.
  EXPECT_EQ(open(tree, 4, {1, 2, 3, 4, 5, 6, 7, 1}, &second), 7);
  EXPECT_EQ(second.pages[0], first.pages[0]);
  EXPECT_NE(second.pages[1], first.pages[1]);
  close(tree, &first);
  close(tree, &second);
  EXPECT_EQ(tree.free_pages(), 8);
  EXPECT_EQ(tree.kept_pages(), 4);
  // Never all of a prompt.
  EXPECT_EQ(open(tree, 4, {1, 2, 3, 4, 5, 6, 7, 8}, &third), 7);
  close(tree, &third);
}

TEST(PageTree, EqualFullPagesBecomeOne) {
  PageTree tree(4, 2, 0);
  const std::int32_t a = tree.take_page(), b = tree.take_page();
  const Tokens tokens = {5, 6};
  EXPECT_EQ(tree.name(a, PageTree::kNone, tokens), a);
  EXPECT_EQ(tree.name(b, PageTree::kNone, tokens), a);
  EXPECT_EQ(tree.free_pages(), 3);
  EXPECT_FALSE(tree.is_writable(a, 2));  // two hold it
  tree.release(a);
  tree.release(a);
  EXPECT_EQ(tree.kept_pages(), 1);
}

TEST(PageTree, ForgetsWhatWasReleasedFirst) {
  PageTree tree(4, 2, 0);
  Text first, second, third;
  open(tree, 2, {1, 1, 2, 2}, &first);
  close(tree, &first);
  open(tree, 2, {3, 3, 4, 4}, &second);
  close(tree, &second);
  open(tree, 2, {9, 9}, &third);  // in place of the end of the first text
  EXPECT_EQ(tree.find(Tokens{1, 1, 2, 2, 0}, 4, false).rows, 2);
  EXPECT_EQ(tree.find(Tokens{3, 3, 4, 4, 0}, 4, false).rows, 4);
}

TEST(PageTree, StatesAreFoundWhereTheyWereSaved) {
  PageTree tree(8, 4, 3);
  Text text;
  open(tree, 4, {1, 2, 3, 4, 5, 6}, &text);
  EXPECT_EQ(tree.find(text.tokens, 6, true).rows, 0);
  const std::int32_t a = tree.take_state(), b = tree.take_state(), c = tree.take_state();
  EXPECT_EQ(tree.take_state(), PageTree::kNone);
  tree.save_state(text.pages[0], 3, a);
  tree.save_state(text.pages[1], 2, b);
  PageTree::Found found = tree.find(Tokens{1, 2, 3, 4, 5, 6, 7}, 6, true);
  EXPECT_EQ(found.rows, 6);
  EXPECT_EQ(found.state, b);
  found = tree.find(Tokens{1, 2, 3, 4, 5, 7}, 6, true);
  EXPECT_EQ(found.rows, 3);
  EXPECT_EQ(found.state, a);
  EXPECT_EQ(found.pages.size(), 1u);
  // The slot that was found longest ago goes first.
  EXPECT_EQ(tree.take_state(), b);
  EXPECT_EQ(tree.take_state(a), PageTree::kNone);
  tree.claim_state(text.pages[0], a);
  EXPECT_EQ(tree.saved_state(text.pages[0], 4).second, PageTree::kNone);
  tree.release_state(c);
  EXPECT_EQ(tree.take_state(), c);
}

TEST(PageTree, FindsEveryBeginningOfALongText) {
  constexpr std::int64_t kSize = 4, kPages = 300, kRows = kSize * kPages - 2;
  PageTree tree(kPages, kSize, 2);
  Tokens tokens(static_cast<std::size_t>(kRows));
  std::mt19937 random(std::random_device{}());
  for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % 9);
  Text text;
  open(tree, kSize, tokens, &text);
  const std::int32_t state = tree.take_state();
  const std::int64_t saved = 1 + static_cast<std::int64_t>(random()) % (kRows - 1);
  const std::int64_t page_of_saved = (saved - 1) / kSize;
  tree.save_state(text.pages[static_cast<std::size_t>(page_of_saved)],
                  saved - page_of_saved * kSize, state);
  for (std::int64_t rows = 0; rows <= kRows; ++rows) {
    for (const bool needs_state : {false, true}) {
      const std::int64_t known = !needs_state ? rows : rows >= saved ? saved : 0;
      const PageTree::Found found = tree.find(tokens, rows, needs_state);
      ASSERT_EQ(found.rows, known);
      const auto end = text.pages.begin() + (known + kSize - 1) / kSize;
      ASSERT_EQ(found.pages, std::vector<std::int32_t>(text.pages.begin(), end)) << rows;
      ASSERT_EQ(found.full_rows, rows / kSize * kSize);
      ASSERT_EQ(found.state, needs_state && known > 0 ? state : PageTree::kNone);
      for (const std::int32_t page : found.pages) tree.release(page);
    }
  }
}

// Against all texts that were named: pages in part, which grow, are cut and are forgotten, with
// states on some of them.
TEST(PageTree, FindsTheBestOfManyPagesInPart) {
  constexpr std::int64_t kSize = 8, kPages = 30, kStates = 9;
  std::mt19937 random(std::random_device{}());
  struct Known {
    Tokens tokens;
    std::int64_t saved = 0;
    std::int32_t state = PageTree::kNone;
  };
  for (int round = 0; round < 200; ++round) {
    PageTree tree(kPages, kSize, kStates);
    std::map<std::int32_t, Known> pages;
    const auto tokens_of = [&](std::size_t least) {
      Tokens tokens(least + random() % (static_cast<std::size_t>(kSize) - least));
      for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % 3);
      return tokens;
    };
    for (std::int64_t i = 0; i < kPages; ++i) {
      const std::int32_t page = tree.take_page();
      Known& known = pages[page];
      known.tokens = tokens_of(1);
      ASSERT_EQ(tree.name(page, PageTree::kNone, known.tokens), page);
      if (random() % 3 == 0) {
        const auto row = static_cast<std::int64_t>(random() % known.tokens.size());
        tree.make_writable(page, row);
        known.tokens.resize(static_cast<std::size_t>(row));
      }
      if (random() % 2 == 0 && known.tokens.size() + 1 < static_cast<std::size_t>(kSize)) {
        known.tokens.push_back(static_cast<std::int32_t>(random() % 3));
        ASSERT_EQ(tree.name(page, PageTree::kNone, known.tokens), page);
      }
      if (random() % 3 == 0 && !known.tokens.empty()) {
        known.state = tree.take_state();
        for (auto& [other, old] : pages) {  // of which it may have been
          if (other != page && old.state == known.state) old.state = PageTree::kNone;
        }
        known.saved = 1 + static_cast<std::int64_t>(random() % known.tokens.size());
        tree.save_state(page, known.saved, known.state);
      }
    }
    for (int look = 0; look < 20; ++look) {
      const Tokens tokens = tokens_of(0);
      for (const bool needs_state : {false, true}) {
        std::int64_t best = 0;
        for (const auto& [page, known] : pages) {
          auto common = static_cast<std::int64_t>(std::ranges::mismatch(tokens, known.tokens).in1 -
                                                  tokens.begin());
          if (needs_state) {
            const bool has_state = known.state != PageTree::kNone && known.saved <= common;
            common = has_state ? known.saved : 0;
          }
          best = std::max(best, common);
        }
        const PageTree::Found found = tree.find(tokens, kSize, needs_state);
        ASSERT_EQ(found.rows, best);
        ASSERT_EQ(found.pages.size(), best > 0 ? 1u : 0u);
        if (best > 0 && needs_state) {
          ASSERT_EQ(pages[found.pages[0]].state, found.state);
        }
        for (const std::int32_t page : found.pages) tree.release(page);
      }
    }
    for (const auto& [page, known] : pages) tree.release(page);
    EXPECT_EQ(tree.kept_pages(), kPages);
    for (std::int64_t i = 0; i < kPages; ++i) EXPECT_NE(tree.take_page(), PageTree::kNone);
    for (std::int64_t i = 0; i < kStates; ++i) EXPECT_NE(tree.take_state(), PageTree::kNone);
    EXPECT_EQ(tree.take_state(), PageTree::kNone);
  }
}

// The one found longest ago, whatever page has it, and wherever pages have gone since.
TEST(PageTree, ForgetsTheStatesUsedLongestAgo) {
  PageTree tree(6, 2, 3);
  std::vector<std::int32_t> pages, states;
  for (std::int32_t i = 0; i < 3; ++i) {
    pages.push_back(tree.take_page());
    states.push_back(tree.take_state());
    const Tokens tokens = {i};
    ASSERT_EQ(tree.name(pages.back(), PageTree::kNone, tokens), pages.back());
    tree.save_state(pages.back(), 1, states.back());
  }
  EXPECT_EQ(tree.find(Tokens{0}, 1, true).state, states[0]);
  // The page of state 1 becomes another, full one, and the state goes with it.
  const std::int32_t full = tree.take_page();
  const Tokens tokens = {1, 7};
  ASSERT_EQ(tree.name(full, PageTree::kNone, tokens), full);
  ASSERT_EQ(tree.name(pages[1], PageTree::kNone, tokens), full);
  EXPECT_EQ(tree.saved_state(full, 2).second, states[1]);
  EXPECT_EQ(tree.take_state(states[1]), states[2]);
  EXPECT_EQ(tree.take_state(), states[1]);
  EXPECT_EQ(tree.saved_state(full, 2).second, PageTree::kNone);
  EXPECT_EQ(tree.take_state(), states[0]);
  EXPECT_EQ(tree.take_state(), PageTree::kNone);
}

// Against a list of all prefixes that full pages hold.
TEST(PageTree, RandomTextsShareWhatTheyShare) {
  constexpr std::int64_t kSize = 3, kPages = 40;
  std::mt19937 random(7);
  PageTree tree(kPages, kSize, 0);
  std::vector<Text> open_texts;
  for (int round = 0; round < 4000; ++round) {
    if (open_texts.size() == 4 || (!open_texts.empty() && random() % 3 == 0)) {
      const std::size_t which = random() % open_texts.size();
      close(tree, &open_texts[which]);
      open_texts.erase(open_texts.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    Tokens tokens(1 + random() % 24);
    for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % 2);
    std::size_t shared = 0;
    for (const Text& other : open_texts) {
      const auto same = static_cast<std::size_t>(
          std::mismatch(tokens.begin(), tokens.end(), other.tokens.begin(), other.tokens.end())
              .first -
          tokens.begin());
      shared = std::max(shared, std::min(same, tokens.size() - 1));
    }
    Text& text = open_texts.emplace_back();
    const std::int64_t known = open(tree, kSize, tokens, &text);
    EXPECT_GE(known, static_cast<std::int64_t>(shared));
    EXPECT_LT(known, static_cast<std::int64_t>(tokens.size()));
    // Pages of two texts are the same exactly where both have these tokens from the first on.
    std::map<std::int32_t, Tokens> held;
    std::set<std::int32_t> all;
    for (const Text& each : open_texts) {
      for (std::size_t i = 0; i < each.pages.size(); ++i) {
        const std::size_t end = std::min<std::size_t>((i + 1) * kSize, each.tokens.size());
        const Tokens prefix(each.tokens.begin(),
                            each.tokens.begin() + static_cast<std::ptrdiff_t>(end));
        const auto [at, is_new] = held.emplace(each.pages[i], prefix);
        EXPECT_TRUE(is_new || at->second == prefix);
        all.insert(each.pages[i]);
      }
    }
    EXPECT_EQ(tree.free_pages(), kPages - static_cast<std::int64_t>(all.size()));
  }
  for (Text& text : open_texts) close(tree, &text);
  EXPECT_EQ(tree.free_pages(), kPages);
}

}  // namespace
}  // namespace hearth::models

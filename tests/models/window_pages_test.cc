#include "models/language/model/window_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "models/language/model/page_tree.h"

namespace hearth::models {
namespace {

constexpr std::int32_t kNone = WindowPages::kNone;

TEST(WindowPages, AreKeptWhileTheyHaveAnOwner) {
  WindowPages pages(2, 10);
  const std::int32_t a = pages.take(), b = pages.take();
  EXPECT_EQ(pages.take(), kNone);
  EXPECT_EQ(pages.give(a, 7), a);
  pages.release(a);
  pages.release(b);
  EXPECT_EQ(pages.free_pages(), 2);
  EXPECT_EQ(pages.kept_pages(), 1);
  EXPECT_EQ(pages.page_of(7), a);
  pages.hold(a);
  EXPECT_EQ(pages.free_pages(), 1);
  // Who holds a page keeps it, also where its owner is forgotten.
  pages.forget(7);
  EXPECT_EQ(pages.page_of(7), kNone);
  EXPECT_EQ(pages.free_pages(), 1);
  pages.release(a);
  EXPECT_EQ(pages.kept_pages(), 0);
  EXPECT_EQ(pages.free_pages(), 2);
}

TEST(WindowPages, ThoseOfTheMiddleGoFirst) {
  WindowPages pages(3, 10);
  std::vector<std::int32_t> all;
  for (std::int32_t owner = 0; owner < 3; ++owner) {
    all.push_back(pages.take());
    pages.give(all.back(), owner);
  }
  pages.want(all[0]);
  for (const std::int32_t page : all) pages.release(page);
  EXPECT_EQ(pages.take(), all[1]);
  EXPECT_EQ(pages.page_of(1), kNone);
  EXPECT_EQ(pages.take(), all[2]);
  EXPECT_EQ(pages.page_of(0), all[0]);
  EXPECT_EQ(pages.take(), all[0]);
  EXPECT_EQ(pages.take(), kNone);
}

TEST(WindowPages, OneOwnerHasOnePage) {
  WindowPages pages(3, 10);
  const std::int32_t a = pages.take(), b = pages.take();
  EXPECT_EQ(pages.give(a, 4), a);
  EXPECT_EQ(pages.give(a, 4), a);
  EXPECT_EQ(pages.give(b, 4), a);
  EXPECT_TRUE(pages.is_shared(a));
  EXPECT_EQ(pages.free_pages(), 2);
  // A page that belongs elsewhere stays there.
  EXPECT_EQ(pages.give(a, 5), a);
  EXPECT_EQ(pages.page_of(5), kNone);
}

// A text of five pages whose rows see three rows, which two pages of two hold.
class WindowTree : public ::testing::Test {
 protected:
  WindowTree() {
    for (std::int32_t i = 0; i < 5; ++i) {
      const std::int32_t page = tree_.take_page();
      const std::vector<std::int32_t> tokens = {2 * i, 2 * i + 1};
      pages_.push_back(tree_.name(page, i == 0 ? PageTree::kNone : pages_.back(), tokens));
    }
  }

  void keep(std::int32_t index) {
    const auto page = pages_[static_cast<std::size_t>(index)];
    tree_.windows().release(tree_.windows().give(tree_.windows().take(), page));
  }
  std::int64_t found(std::int64_t rows) { return tree_.find(tokens_, rows, false).rows; }

  PageTree tree_{8, 2, 0, 3, 6};
  std::vector<std::int32_t> pages_;
  const std::vector<std::int32_t> tokens_ = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
};

TEST_F(WindowTree, FindsRowsWhoseWindowIsThere) {
  EXPECT_EQ(found(10), 0);
  keep(0);
  EXPECT_EQ(found(10), 2);
  EXPECT_EQ(found(1), 1);
  keep(3);
  EXPECT_EQ(found(10), 8);  // the row behind sees 6 and 7
  EXPECT_EQ(found(7), 2);   // and that one 5, too
  keep(2);
  EXPECT_EQ(found(7), 7);
  EXPECT_EQ(found(10), 8);
  EXPECT_EQ(tree_.find(tokens_, 7, false).full_rows, 6);
  keep(4);
  EXPECT_EQ(found(10), 10);
  EXPECT_EQ(found(5), 2);  // sees 3 and 4
}

TEST_F(WindowTree, ForgottenPagesGiveTheirsBack) {
  for (std::int32_t i = 0; i < 5; ++i) keep(i);
  EXPECT_EQ(tree_.windows().kept_pages(), 5);
  while (!pages_.empty()) {
    tree_.release(pages_.back());
    pages_.pop_back();
  }
  for (int i = 0; i < 8; ++i) tree_.take_page();
  EXPECT_EQ(tree_.windows().kept_pages(), 0);
  EXPECT_EQ(tree_.windows().free_pages(), 6);
}

}  // namespace
}  // namespace hearth::models

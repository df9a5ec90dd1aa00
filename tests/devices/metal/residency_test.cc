// Which memory is in residency sets, and in how many.
#include "devices/metal/driver/memory/residency.h"

#include <algorithm>

#include "machines/double_fixture.h"

namespace hearth::metal {
namespace {

constexpr UInteger kMemory = 1000000;
constexpr UInteger kShare = kMemory / Residency::kShares;

class MetalResidency : public MetalObjectsTest {
 protected:
  void SetUp() override {
    MetalObjectsTest::SetUp();
    double_->memory = kMemory;
    before_resident_ = double_->resident;
    before_sets_ = double_->live()["MTLResidencySet"];
    residency_ = std::make_unique<Residency>(*objc_, device_.get(), double_->system);
    residency_->attach(queue_.get());
  }
  void TearDown() override {
    while (!buffers_.empty()) remove(0);
    residency_->apply();
    queue_ = {};
    residency_.reset();
    MetalObjectsTest::TearDown();
  }

  // Its number.
  std::size_t add(UInteger bytes, bool is_adopted = false) {
    buffers_.push_back(new_buffer(bytes));
    residency_->add(buffers_.back().get(), static_cast<std::int64_t>(bytes), is_adopted);
    return buffers_.size() - 1;
  }
  void remove(std::size_t i) {
    residency_->remove(std::move(buffers_[i]));
    buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  // How many buffers are resident once the sets are told.
  UInteger resident() {
    residency_->apply();
    return double_->resident - before_resident_;
  }
  int sets() { return double_->live()["MTLResidencySet"] - before_sets_; }

  std::unique_ptr<Residency> residency_;
  std::vector<Owned> buffers_;
  UInteger before_resident_ = 0;
  int before_sets_ = 0;
};

TEST_F(MetalResidency, ASetTakesItsShare) {
  for (int i = 0; i < 10; ++i) add(kShare / 10);
  EXPECT_EQ(resident(), 10u);
  EXPECT_EQ(sets(), 1);
  add(kShare / 10);
  EXPECT_EQ(resident(), 11u);
  EXPECT_EQ(sets(), 2);
  // What has left makes room in its set.
  remove(0);
  add(kShare / 10);
  EXPECT_EQ(resident(), 11u);
  EXPECT_EQ(sets(), 2);
  // A larger buffer has a set of its own.
  add(3 * kShare);
  EXPECT_EQ(resident(), 12u);
  EXPECT_EQ(sets(), 3);
}

TEST_F(MetalResidency, AQueueGetsNoMoreThan32Sets) {
  for (int i = 0; i < 36; ++i) add(kShare / 2 + 1);
  EXPECT_EQ(resident(), 36u);
  EXPECT_EQ(sets(), 32);
}

TEST_F(MetalResidency, WhatIsBeyondTheWorkingSetStaysOut) {
  for (int i = 0; i < 10; ++i) add(kMemory / 10);
  EXPECT_EQ(resident(), 9u);
  remove(3);
  EXPECT_EQ(resident(), 9u);  // the tenth came in
  remove(3);
  EXPECT_EQ(resident(), 8u);
  add(2 * kMemory);
  EXPECT_EQ(resident(), 8u);
}

TEST_F(MetalResidency, AdoptedMemoryHasWhatIsLeft) {
  const std::size_t file = add(kMemory / 2, true);
  add(2 * kMemory, true);  // never fits
  EXPECT_EQ(resident(), 1u);
  for (int i = 0; i < 4; ++i) add(kMemory / 10);
  EXPECT_EQ(resident(), 5u);
  // Other memory comes first, whatever the order.
  add(kMemory / 10);
  EXPECT_EQ(resident(), 5u);
  // The file comes back where it can stay.
  remove(buffers_.size() - 1);
  EXPECT_EQ(resident(), 4u);
  remove(buffers_.size() - 1);
  EXPECT_EQ(resident(), 4u);
  remove(file);
  EXPECT_EQ(resident(), 3u);
}

TEST_F(MetalResidency, NeitherSetsNorBuffersAreToldOfWhatCameAndWent) {
  add(kShare);
  add(kShare, true);
  remove(1);
  EXPECT_EQ(resident(), 1u);
  const int buffers = double_->live().at("MTLBuffer");
  remove(0);
  const std::size_t again = add(kShare);
  EXPECT_EQ(resident(), 1u);
  EXPECT_EQ(double_->live().at("MTLBuffer"), buffers);  // the first is let go of
  remove(again);
  EXPECT_EQ(resident(), 0u);
}

}  // namespace
}  // namespace hearth::metal

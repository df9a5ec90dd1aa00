// What the Metal double finds wrong with addresses in constants.
#include "machines/double_fixture.h"

namespace hearth::metal {
namespace {

constexpr char kShift[] = R"(
#include <metal_stdlib>
using namespace metal;
struct Shift {
  device const float* x;
  alignas(8) device float* y;
  uint by;
  float sum() const { return 0.0f; }
};
struct Shifts {
  uint count;
  Shift each[2];
  device const float* offsets[2];
};
kernel void shift_each(constant Shifts& shifts [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  for (uint k = 0u; k < shifts.count; ++k) {
    float offset = shifts.offsets[k] == nullptr ? 0.0f : shifts.offsets[k][i];
    shifts.each[k].y[i] = shifts.each[k].x[i] + float(shifts.each[k].by) + offset;
  }
}
)";

struct Shift {
  UInteger x, y;
  std::uint32_t by;
};
struct Shifts {
  std::uint32_t count;
  Shift each[2];
  UInteger offsets[2];
};

class MetalPointers : public MetalObjectsTest {
 protected:
  static constexpr UInteger kRead = 1, kWrite = 2;

  void SetUp() override {
    MetalObjectsTest::SetUp();
    for (Owned* each : {&x_, &y_, &z_}) *each = new_buffer(128);
    shift_ = pipeline(kShift, "shift_each");
    begin();
  }
  void TearDown() override {
    for (Owned* each : {&x_, &y_, &z_, &shift_}) *each = {};
    MetalObjectsTest::TearDown();
  }

  UInteger address(const Owned& buffer) { return objc_->send(buffer.get(), messages::gpu_address); }
  // y = x + 1.
  Shifts shifts(UInteger x, UInteger y) { return {1, {{x, y, 1}, {}}, {}}; }
  void use(const Owned& buffer, UInteger usage) {
    const Id resource = buffer.get();
    objc_->send(encoder_.get(), messages::use_resources, &resource, 1, usage);
  }
  void dispatch_with(const Shifts& shifts) {
    objc_->send(encoder_.get(), messages::set_pipeline, shift_.get());
    objc_->send(encoder_.get(), messages::set_bytes, &shifts, sizeof shifts, 0);
    dispatch();
  }
  void run_with(const Shifts& shifts) {
    dispatch_with(shifts);
    run();
  }

  Owned x_, y_, z_, shift_;
};

TEST_F(MetalPointers, AreFollowedWhereAllIsRight) {
  for (const Owned* each : {&y_, &z_}) use(*each, kRead | kWrite);
  use(x_, kRead);
  Shifts all = shifts(address(x_), address(y_));
  all.count = 2;
  all.each[1] = {address(x_), address(z_), 5};
  all.offsets[1] = address(x_);
  run_with(all);
  EXPECT_EQ(at(y_, 31), 1);
  EXPECT_EQ(at(z_, 31), 5);
}

TEST_F(MetalPointers, AddressesAreNoneOfTheHost) {
  use(y_, kRead | kWrite);
  const auto host = reinterpret_cast<UInteger>(objc_->send(x_.get(), messages::contents));
  EXPECT_NE(host, address(x_));
  run_with(shifts(host, address(y_)));
  EXPECT_TRUE(fault().starts_with("shift_each: shifts.each[0].x is no gpuAddress; got 0x"));
}

TEST_F(MetalPointers, BuffersThatNobodyUses) {
  use(y_, kRead | kWrite);
  run_with(shifts(address(x_), address(y_)));
  EXPECT_EQ(fault(), "shift_each: shifts.each[0].x points to a buffer that is not resident");
  begin();  // what was said was said to another encoder
  use(x_, kRead);
  run_with(shifts(address(x_), address(y_)));
  EXPECT_EQ(fault(), "shift_each: shifts.each[0].y points to a buffer that is not resident");
  begin();
  dispatch_with(shifts(address(x_), address(y_)));
  use(x_, kRead);
  run();
  EXPECT_EQ(fault(), "shift_each: shifts.each[0].x points to a buffer that is not resident");
}

TEST_F(MetalPointers, ResidencySetsOrderNothing) {
  const Owned descriptor = objc_->send(objc_->type_named("MTLResidencySetDescriptor"),
                                       messages::new_residency_descriptor);
  Id error = nullptr;
  const Owned set =
      objc_->send(device_.get(), messages::new_residency_set, descriptor.get(), &error);
  objc_->send(queue_.get(), messages::add_residency_set, set.get());
  const Id both[] = {x_.get(), y_.get()};
  objc_->send(set.get(), messages::add_allocations, both, 2);
  objc_->send(set.get(), messages::commit_residency);
  use(y_, kRead | kWrite);
  run_with(shifts(address(x_), address(y_)));
  EXPECT_EQ(fault(),
            "shift_each: shifts.each[0].x points to a buffer that is resident, and that nobody "
            "orders: useResource was not sent");
  objc_->send(set.get(), messages::remove_allocations, both, 2);
  objc_->send(set.get(), messages::commit_residency);
}

TEST_F(MetalPointers, BuffersThatAreUsedForReading) {
  use(x_, kRead);
  use(y_, kWrite);
  use(y_, kRead);  // what was said last counts
  run_with(shifts(address(x_), address(y_)));
  EXPECT_EQ(fault(), "shift_each: shifts.each[0].y points to a buffer that is used for reading");
}

TEST_F(MetalPointers, ReleasedBuffers) {
  use(x_, kRead);
  use(y_, kRead | kWrite);
  const Shifts all = shifts(address(x_), address(y_));
  dispatch_with(all);
  x_ = {};  // an encoder keeps nothing that it is only told of
  run();
  EXPECT_EQ(fault(), "shift_each: shifts.each[0].x points to a released buffer");
}

TEST_F(MetalPointers, BytesBeyondABuffer) {
  use(x_, kRead);
  use(y_, kRead | kWrite);
  run_with(shifts(address(x_) + 128, address(y_)));
  EXPECT_EQ(fault(), "shift_each: shifts.each[0].x points beyond its buffer; got byte 128 of 128");
  begin();
  use(x_, kRead);
  use(y_, kRead | kWrite);
  run_with(shifts(address(x_) + 64, address(y_)));
  EXPECT_EQ(objc_->send(buffer_.get(), messages::status), UInteger{5});
  const std::string text = objc_->error_text(objc_->send(buffer_.get(), messages::error));
  EXPECT_TRUE(contains(text, "offset 64 of parameter 'shifts.each[0].x' of 64 bytes")) << text;
}

TEST_F(MetalPointers, MemoryThatIsOnlyRead) {
  use(x_, kRead);
  use(y_, kRead | kWrite);
  Shifts all = shifts(address(x_), address(y_));
  all.count = 2;
  all.each[1] = all.each[0];
  all.each[1].y = 0;
  run_with(all);
  EXPECT_EQ(objc_->send(buffer_.get(), messages::status), UInteger{5});
}

TEST_F(MetalPointers, MissingBarriers) {
  for (const Owned* each : {&x_, &y_, &z_}) use(*each, kRead | kWrite);
  dispatch_with(shifts(address(x_), address(y_)));
  dispatch_with(shifts(address(y_), address(z_)));
  run();
  EXPECT_EQ(fault(), "no barrier: shift_each reads what shift_each writes before it");
  begin();
  for (const Owned* each : {&x_, &y_, &z_}) use(*each, kRead | kWrite);
  dispatch_with(shifts(address(x_), address(y_)));
  const Id resource = y_.get();
  objc_->send(encoder_.get(), messages::barrier_resources, &resource, 1);
  dispatch_with(shifts(address(y_), address(z_)));
  run();
  EXPECT_EQ(at(z_, 7), 2);
}

TEST_F(MetalPointers, StructsThatAreTooShort) {
  objc_->send(encoder_.get(), messages::set_pipeline, shift_.get());
  const Shifts all = {};
  objc_->send(encoder_.get(), messages::set_bytes, &all, sizeof all - 8, 0);
  dispatch();
  EXPECT_EQ(fault(), "shift_each: buffer 0 (shifts) is too short; got 64 of 72 bytes");
  const Owned few = new_buffer(80);
  objc_->send(encoder_.get(), messages::set_buffer, few.get(), 16, 0);
  dispatch();
  EXPECT_EQ(fault(), "shift_each: buffer 0 (shifts) is too short; got 64 of 72 bytes");
  end();
}

TEST_F(MetalPointers, StructsInBuffersAreReadWhenTheWorkRuns) {
  const Owned memory = new_buffer(256);
  auto* const bytes = static_cast<std::byte*>(objc_->send(memory.get(), messages::contents));
  use(x_, kRead);
  use(y_, kRead | kWrite);
  const Shifts all = shifts(address(x_), address(y_));
  objc_->send(encoder_.get(), messages::set_pipeline, shift_.get());
  objc_->send(encoder_.get(), messages::set_buffer, memory.get(), 64, 0);
  dispatch();
  std::memcpy(bytes + 64, &all, sizeof all);
  run();
  EXPECT_EQ(at(y_, 3), 1);
}

TEST_F(MetalPointers, DevicesAndSystemsWithoutAddresses) {
  end();
  double_->is_metal3 = false;
  address(x_);
  EXPECT_EQ(fault(), "gpuAddress of a buffer of a device without such addresses");
  double_->is_metal3 = true;
  double_->argument_buffers_tier = 0;
  address(x_);
  EXPECT_EQ(fault(), "gpuAddress of a buffer of a device without such addresses");
  double_->argument_buffers_tier = 1;
  double_->system = {12, 0, 0};
  address(x_);
  EXPECT_EQ(fault(), "gpuAddress is not there before macOS 13");
}

TEST_F(MetalPointers, UsesThatSayNothing) {
  const Id resource = x_.get();
  objc_->send(encoder_.get(), messages::use_resources, &resource, 0, kRead);
  EXPECT_EQ(fault(), "no resources are used");
  objc_->send(encoder_.get(), messages::use_resources, &resource, 1, 0);
  EXPECT_EQ(fault(), "resources are neither read nor written");
  end();
  use(x_, kRead);
  EXPECT_EQ(fault(), "resources are used after the end of encoding");
}

}  // namespace
}  // namespace hearth::metal

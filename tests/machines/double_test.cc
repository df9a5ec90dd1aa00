// What the Metal double finds wrong: each mistake is made once, as no driver should.
#include <cstdio>
#include <thread>

#include "machines/double_fixture.h"

namespace hearth::metal {
namespace {

constexpr char kShift[] = R"(
#include <metal_stdlib>
using namespace metal;
kernel void shift(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  constant uint& by [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  y[i] = x[i] + float(by);
}
kernel void share(device float* y [[buffer(0)]], threadgroup float* t [[threadgroup(0)]],
                  uint i [[thread_position_in_grid]]) {
  t[i] = 1.0f;
  y[i] = t[i];
}
)";

class MetalDoubleFinds : public MetalObjectsTest {
 protected:
  void SetUp() override {
    MetalObjectsTest::SetUp();
    for (Owned* each : {&x_, &y_}) *each = new_buffer(128);
    shift_ = pipeline(kShift, "shift");
    share_ = pipeline(kShift, "share");
    begin();
  }
  void TearDown() override {
    for (Owned* each : {&x_, &y_, &shift_, &share_}) *each = {};
    MetalObjectsTest::TearDown();
  }

  void bind(const Owned& x, const Owned& y) {
    const std::uint32_t one = 1;
    objc_->send(encoder_.get(), messages::set_pipeline, shift_.get());
    objc_->send(encoder_.get(), messages::set_buffer, x.get(), 0, 0);
    objc_->send(encoder_.get(), messages::set_buffer, y.get(), 0, 1);
    objc_->send(encoder_.get(), messages::set_bytes, &one, sizeof one, 2);
  }

  Owned x_, y_, shift_, share_;
};

TEST_F(MetalDoubleFinds, NothingWhereAllIsRight) {
  bind(x_, y_);
  dispatch();
  objc_->send(encoder_.get(), messages::barrier_scope, 1);
  bind(y_, x_);
  dispatch();
  EXPECT_EQ(objc_->send(buffer_.get(), messages::status), UInteger{0});
  run();
  EXPECT_EQ(objc_->send(buffer_.get(), messages::status), UInteger{4});
  EXPECT_EQ(objc_->send(buffer_.get(), messages::error), nullptr);
  EXPECT_GT(objc_->send(buffer_.get(), messages::gpu_end_time),
            objc_->send(buffer_.get(), messages::gpu_start_time));
  EXPECT_EQ(at(y_, 31), 1);
  EXPECT_EQ(at(x_, 31), 2);
}

TEST_F(MetalDoubleFinds, MessagesThatNobodyUnderstands) {
  end();
  EXPECT_EQ(objc_->send(x_.get(), messages::new_queue).get(), nullptr);
  EXPECT_EQ(fault(), "newCommandQueue is not understood by a MTLBuffer");
  EXPECT_EQ(objc_->send(nullptr, messages::length), UInteger{0});  // to nil: nothing happens
}

TEST_F(MetalDoubleFinds, MissingBarriers) {
  bind(x_, y_);
  dispatch();
  bind(y_, x_);
  dispatch();
  run();
  EXPECT_EQ(fault(), "no barrier: shift writes what shift reads before it");
  EXPECT_EQ(at(x_, 0), 1);  // the second ran first
  begin();
  bind(x_, y_);
  dispatch();
  objc_->send(encoder_.get(), messages::set_buffer, x_.get(), 0, 0);
  dispatch();
  run();
  EXPECT_EQ(fault(), "no barrier: shift writes what shift writes before it");
}

TEST_F(MetalDoubleFinds, BarriersForOtherBuffers) {
  const Owned other = objc_->send(device_.get(), messages::new_buffer, 128, 0);
  bind(x_, y_);
  dispatch();
  Id resources[] = {other.get(), x_.get()};
  objc_->send(encoder_.get(), messages::barrier_resources, resources, 1);
  bind(y_, other);
  dispatch();
  run();
  EXPECT_EQ(fault(), "no barrier: shift reads what shift writes before it");
  begin();
  bind(x_, y_);
  dispatch();
  resources[0] = y_.get();
  objc_->send(encoder_.get(), messages::barrier_resources, resources, 2);
  bind(y_, other);
  dispatch();
  run();
  EXPECT_EQ(at(other, 5), 2);
}

TEST_F(MetalDoubleFinds, ReadsSideBySideAndSerialEncodersAreFine) {
  bind(x_, y_);
  dispatch();
  const Owned other = objc_->send(device_.get(), messages::new_buffer, 128, 0);
  bind(x_, other);
  dispatch();
  run();
  begin(0);
  bind(x_, y_);
  dispatch();
  bind(y_, x_);
  dispatch();
  run();
  EXPECT_EQ(at(x_, 0), 2);
}

TEST_F(MetalDoubleFinds, WhatIsNotBound) {
  dispatch();
  EXPECT_EQ(fault(), "a dispatch without a pipeline");
  objc_->send(encoder_.get(), messages::set_pipeline, shift_.get());
  objc_->send(encoder_.get(), messages::set_buffer, x_.get(), 0, 0);
  dispatch();
  EXPECT_EQ(fault(), "shift: buffer 1 (y) is not bound");
  objc_->send(encoder_.get(), messages::set_buffer, y_.get(), 128, 1);
  EXPECT_EQ(fault(), "an offset beyond the buffer; got 128 of 128 bytes");
  objc_->send(encoder_.get(), messages::set_buffer, y_.get(), 0, 31);
  EXPECT_EQ(fault(), "no such index of a buffer; got 31");
  objc_->send(encoder_.get(), messages::set_buffer, shift_.get(), 0, 1);
  EXPECT_EQ(fault(), "a MTLComputePipelineState in place of a MTLBuffer");
  const std::vector<char> bytes(4097);
  objc_->send(encoder_.get(), messages::set_bytes, bytes.data(), 4097, 2);
  EXPECT_EQ(fault(), "bytes for a buffer of 1 to 4096; got 4097");
  end();
}

TEST_F(MetalDoubleFinds, ThreadgroupsOfTheWrongSize) {
  bind(x_, y_);
  dispatch(31);
  EXPECT_EQ(fault(), "shift: threads are no multiple of 32; got 31");
  dispatch(96);
  EXPECT_EQ(fault(), "shift: too many threads in a threadgroup; got 96 of 64");
  objc_->send(encoder_.get(), messages::dispatch_groups, {0, 1, 1}, {32, 1, 1});
  EXPECT_EQ(fault(), "shift: a grid of nothing");
  objc_->send(encoder_.get(), messages::set_pipeline, share_.get());
  objc_->send(encoder_.get(), messages::set_threadgroup_memory, 33 * 1024, 0);
  dispatch();
  EXPECT_EQ(fault(), "share: too much threadgroup memory; got 33792 bytes");
  double_->static_threadgroup_memory = 31 * 1024;
  const Owned declares = pipeline(kShift, "share");
  objc_->send(encoder_.get(), messages::set_pipeline, declares.get());
  objc_->send(encoder_.get(), messages::set_threadgroup_memory, 2048, 0);
  dispatch();
  EXPECT_EQ(fault(), "share: too much threadgroup memory; got 33792 bytes");
  objc_->send(encoder_.get(), messages::set_threadgroup_memory, 120, 0);
  EXPECT_EQ(fault(), "threadgroup memory is not in whole 16 bytes; got 120");
  end();
}

TEST_F(MetalDoubleFinds, ThreadgroupMemoryThatALaunchBrings) {
  objc_->send(encoder_.get(), messages::set_pipeline, share_.get());
  objc_->send(encoder_.get(), messages::set_buffer, y_.get(), 0, 0);
  objc_->send(encoder_.get(), messages::set_threadgroup_memory, 128, 0);
  dispatch();
  run();
  EXPECT_EQ(at(y_, 31), 1);
  begin();
  objc_->send(encoder_.get(), messages::set_pipeline, share_.get());
  objc_->send(encoder_.get(), messages::set_buffer, y_.get(), 0, 0);
  objc_->send(encoder_.get(), messages::set_threadgroup_memory, 64, 0);
  dispatch();
  run();
  EXPECT_EQ(objc_->send(buffer_.get(), messages::status), UInteger{5});
  const std::string text = objc_->error_text(objc_->send(buffer_.get(), messages::error));
  EXPECT_TRUE(contains(text, "threadgroup array 't' of 64 bytes")) << text;
}

TEST_F(MetalDoubleFinds, WorkBeyondABufferFails) {
  bind(x_, y_);
  objc_->send(encoder_.get(), messages::set_buffer, y_.get(), 64, 1);
  dispatch();
  run();
  EXPECT_EQ(objc_->send(buffer_.get(), messages::status), UInteger{5});
  const std::string text = objc_->error_text(objc_->send(buffer_.get(), messages::error));
  EXPECT_TRUE(contains(text, "writes 4 bytes at offset 64 of parameter 'y'")) << text;
}

TEST_F(MetalDoubleFinds, EncodersThatAreUsedWrongly) {
  end();
  dispatch();
  EXPECT_EQ(fault(), "a dispatch after the end of encoding");
  end();
  EXPECT_EQ(fault(), "the end of encoding after the end of encoding");
  objc_->send(buffer_.get(), messages::commit);
  objc_->send(buffer_.get(), messages::commit);
  EXPECT_EQ(fault(), "a command buffer is committed twice");
  objc_->send(buffer_.get(), messages::wait_until_completed);
  begin();
  objc_->send(buffer_.get(), messages::wait_until_completed);
  EXPECT_EQ(fault(), "somebody waits for a command buffer that is not committed");
  objc_->send(buffer_.get(), messages::compute_encoder, 1);
  EXPECT_EQ(fault(), "a second encoder while the first is open");
  const Owned second = objc_->keep(objc_->send(buffer_.get(), messages::compute_encoder, 1));
  objc_->send(second.get(), messages::end_encoding);
  end();
  const Lines rest = take_faults();
  EXPECT_EQ(rest, Lines{"a second encoder while the first is open"});
  pool_.reset();
  pool_ = std::make_unique<AutoreleasePool>(*objc_);
  EXPECT_EQ(fault(), "an encoder is released before the end of encoding");
}

TEST_F(MetalDoubleFinds, CommitBeforeTheEndOfEncoding) {
  objc_->send(buffer_.get(), messages::commit);
  EXPECT_EQ(fault(), "commit before the end of encoding");
  end();
  objc_->send(buffer_.get(), messages::wait_until_completed);
}

TEST_F(MetalDoubleFinds, ReleasedObjects) {
  end();
  const Id buffer = y_.get();
  y_ = {};
  objc_->send(buffer, messages::length);
  EXPECT_EQ(fault(), "length is sent to a released MTLBuffer");
  objc_->release(buffer);
  EXPECT_EQ(fault(), "release is sent to a released MTLBuffer");
}

TEST_F(MetalDoubleFinds, WhatIsNeverReleased) {
  end();
  const int before = double_->live().at("MTLBuffer");
  Owned kept = objc_->keep(x_.get());
  x_ = {};
  EXPECT_EQ(double_->live().at("MTLBuffer"), before);
  kept = {};
  EXPECT_EQ(double_->live().at("MTLBuffer"), before - 1);
}

TEST_F(MetalDoubleFinds, AutoreleaseWithoutAPool) {
  end();
  Id made = nullptr;
  std::thread([&] { made = objc_->send(device_.get(), messages::device_name); }).join();
  EXPECT_EQ(fault(), "NSString is autoreleased without a pool, and never released");
  objc_->release(made);
}

TEST_F(MetalDoubleFinds, ResidencySetsThatAreUsedWrongly) {
  end();
  const UInteger before = double_->resident;  // of devices that stay
  const Owned descriptor = objc_->send(objc_->type_named("MTLResidencySetDescriptor"),
                                       messages::new_residency_descriptor);
  Id error = nullptr;
  const Owned set =
      objc_->send(device_.get(), messages::new_residency_set, descriptor.get(), &error);
  objc_->send(queue_.get(), messages::add_residency_set, set.get());
  objc_->send(queue_.get(), messages::add_residency_set, set.get());
  EXPECT_EQ(fault(), "a queue gets a residency set that it has");
  objc_->send(set.get(), messages::commit_residency);
  EXPECT_EQ(fault(), "a residency set is committed that has not changed");
  const Id both[] = {x_.get(), y_.get()};
  objc_->send(set.get(), messages::remove_allocations, both, 1);
  EXPECT_EQ(fault(), "a buffer is removed from a residency set that does not have it");
  objc_->send(set.get(), messages::add_allocations, both, 2);
  objc_->send(set.get(), messages::add_allocations, both, 1);
  EXPECT_EQ(fault(), "a buffer is added to a residency set that has it");
  objc_->send(buffer_.get(), messages::commit);
  EXPECT_EQ(fault(), "a command buffer is committed before a residency set of its queue");
  objc_->send(set.get(), messages::commit_residency);
  EXPECT_EQ(double_->resident, before + 2);
  y_ = {};
  EXPECT_EQ(fault(), "a buffer is released while it is in a residency set");
  objc_->send(set.get(), messages::remove_allocations, both, 1);
  objc_->send(set.get(), messages::commit_residency);
  EXPECT_EQ(double_->resident, before + 1);
  objc_->send(buffer_.get(), messages::wait_until_completed);
}

TEST_F(MetalDoubleFinds, ArchivesThatAreUsedWrongly) {
  end();
  const auto url = [&](const std::string& path) {
    return objc_->send(objc_->type_named("NSURL"), messages::file_url, objc_->string(path));
  };
  url("kernel.metallib");
  EXPECT_EQ(fault(), "a URL of no whole path");
  const Owned descriptor = objc_->send(objc_->type_named("MTLBinaryArchiveDescriptor"),
                                       messages::new_archive_descriptor);
  Id error = nullptr;
  const Owned archive = objc_->send(device_.get(), messages::new_archive, descriptor.get(), &error);
  const std::string path = testing::TempDir() + "/hearth_double.metallib";
  objc_->send(archive.get(), messages::serialize, url(path), &error);
  EXPECT_EQ(fault(), "an archive of nothing is written");
  const Owned pipeline = objc_->send(objc_->type_named("MTLComputePipelineDescriptor"),
                                     messages::new_pipeline_descriptor);
  EXPECT_FALSE(objc_->send(archive.get(), messages::add_compute_functions, pipeline.get(), &error));
  EXPECT_EQ(fault(), "a pipeline without a function is added to an archive");
  objc_->send(descriptor.get(), messages::set_archive_url, objc_->string(path));
  EXPECT_EQ(fault(), "a NSString in place of a NSURL");
  objc_->send(descriptor.get(), messages::set_archive_url, url(path));
  const Owned read = objc_->send(device_.get(), messages::new_archive, descriptor.get(), &error);
  ASSERT_TRUE(read);
  std::remove(path.c_str());
  const Owned library =
      objc_->send(device_.get(), messages::new_library, objc_->string(kShift), nullptr, &error);
  const Owned function = objc_->send(library.get(), messages::new_function, objc_->string("shift"));
  objc_->send(pipeline.get(), messages::set_compute_function, function.get());
  objc_->send(pipeline.get(), messages::set_archives,
              objc_->send(objc_->type_named("NSArray"), messages::array_of, read.get()));
  objc_->send(device_.get(), messages::new_pipeline, pipeline.get(), 0, nullptr, &error);
  EXPECT_EQ(fault(), "a pipeline is made with an archive whose file is gone");
  EXPECT_FALSE(objc_->send(device_.get(), messages::new_archive, descriptor.get(), &error));
  EXPECT_TRUE(contains(objc_->error_text(error), "no archive of this system"));
}

TEST_F(MetalDoubleFinds, CapturesThatAreUsedWrongly) {
  const Id manager = objc_->send(objc_->type_named("MTLCaptureManager"), messages::capture_manager);
  objc_->send(manager, messages::stop_capture);
  EXPECT_EQ(fault(), "a capture stops that was not started");
  const Owned descriptor =
      objc_->send(objc_->type_named("MTLCaptureDescriptor"), messages::new_capture_descriptor);
  Id error = nullptr;
  EXPECT_FALSE(objc_->send(manager, messages::start_capture, descriptor.get(), &error));
  EXPECT_EQ(fault(), "a capture of nothing");
  EXPECT_EQ(objc_->error_text(error), "capturing is not supported");
  objc_->send(descriptor.get(), messages::set_capture_object, x_.get());
  EXPECT_EQ(fault(), "a MTLBuffer in place of a MTLDevice");
  double_->is_capturing = true;
  end();
  objc_->send(buffer_.get(), messages::commit);
  EXPECT_EQ(fault(), "a command buffer is begun or committed outside of its capture");
  objc_->send(manager, messages::stop_capture);
  objc_->send(buffer_.get(), messages::wait_until_completed);
}

TEST_F(MetalDoubleFinds, MessagesThatTheSystemIsTooOldFor) {
  end();
  double_->system = {14, 0, 0};
  EXPECT_FALSE(objc_->send(objc_->type_named("MTLResidencySetDescriptor"),
                           messages::new_residency_descriptor));
  EXPECT_EQ(fault(), "new is not there before macOS 15");
  EXPECT_FALSE(objc_->understands(device_.get(), messages::new_residency_set));
}

TEST_F(MetalDoubleFinds, BuffersThatNobodyMayMake) {
  end();
  EXPECT_FALSE(objc_->send(device_.get(), messages::new_buffer, 0, 0));
  EXPECT_EQ(fault(), "a buffer of no bytes");
  EXPECT_TRUE(objc_->send(device_.get(), messages::new_buffer, 16, 32));
  EXPECT_EQ(fault(), "a buffer that is not shared");
}

}  // namespace
}  // namespace hearth::metal

// Objects of the Metal double, used by hand.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "devices/metal/metal_fixture.h"

namespace hearth::metal {

class MetalObjectsTest : public MetalDoubleTest {
 protected:
  void SetUp() override {
    MetalDoubleTest::SetUp();
    std::vector<std::string> notes;
    objc_ = ObjectiveC::open(HEARTH_METAL_DOUBLE, notes);
    ASSERT_NE(objc_, nullptr) << joined(notes);
    pool_ = std::make_unique<AutoreleasePool>(*objc_);
    device_ = std::move(objc_->devices().at(0));
    queue_ = objc_->send(device_.get(), messages::new_queue);
  }
  void TearDown() override {
    buffer_ = {};
    encoder_ = {};
    for (Owned* each : {&queue_, &device_}) *each = {};
    pool_.reset();
    MetalDoubleTest::TearDown();
  }

  // Of zeros.
  Owned new_buffer(UInteger bytes) {
    Owned made = objc_->send(device_.get(), messages::new_buffer, bytes, 0);
    std::memset(objc_->send(made.get(), messages::contents), 0, bytes);
    return made;
  }
  Owned pipeline(const char* text, const std::string& name, UInteger max_threads = 64) {
    Id error = nullptr;
    const Owned library =
        objc_->send(device_.get(), messages::new_library, objc_->string(text), nullptr, &error);
    EXPECT_TRUE(library) << objc_->error_text(error);
    const Owned function = objc_->send(library.get(), messages::new_function, objc_->string(name));
    const Owned descriptor = objc_->send(objc_->type_named("MTLComputePipelineDescriptor"),
                                         messages::new_pipeline_descriptor);
    objc_->send(descriptor.get(), messages::set_compute_function, function.get());
    objc_->send(descriptor.get(), messages::set_whole_simdgroups, Bool{1});
    objc_->send(descriptor.get(), messages::set_max_threads, max_threads);
    return objc_->send(device_.get(), messages::new_pipeline, descriptor.get(), 0, nullptr, &error);
  }

  void begin(UInteger dispatch_type = 1) {
    buffer_ = objc_->keep(objc_->send(queue_.get(), messages::command_buffer));
    encoder_ = objc_->keep(objc_->send(buffer_.get(), messages::compute_encoder, dispatch_type));
  }
  void dispatch(UInteger threads = 32) {
    objc_->send(encoder_.get(), messages::dispatch_groups, {1, 1, 1}, {threads, 1, 1});
  }
  void end() { objc_->send(encoder_.get(), messages::end_encoding); }
  void run() {
    end();
    objc_->send(buffer_.get(), messages::commit);
    objc_->send(buffer_.get(), messages::wait_until_completed);
  }
  float at(const Owned& buffer, std::size_t i) {
    return static_cast<const float*>(objc_->send(buffer.get(), messages::contents))[i];
  }
  // The one fault that was found.
  std::string fault() {
    const Lines found = take_faults();
    EXPECT_EQ(found.size(), 1u) << joined(found);
    return found.empty() ? "" : found[0];
  }

  std::shared_ptr<const ObjectiveC> objc_;
  std::unique_ptr<AutoreleasePool> pool_;
  Owned device_, queue_, buffer_, encoder_;
};

}  // namespace hearth::metal

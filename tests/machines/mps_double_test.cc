// What the Metal double finds wrong with calls of MPSGraph: each mistake is made once, as no driver
// should.
#include "devices/metal/metal_fixture.h"
#include "devices/metal/mpsgraph/mps_graph.h"

namespace hearth::metal {
namespace {

constexpr unsigned kF32 = 0x10000020, kF16 = 0x10000010;

class MpsDoubleFinds : public MetalDoubleTest {
 protected:
  void SetUp() override {
    MetalDoubleTest::SetUp();
    double_->devices = 2;
    std::vector<std::string> notes;
    objc_ = ObjectiveC::open(HEARTH_METAL_DOUBLE, notes);
    ASSERT_NE(objc_, nullptr) << joined(notes);
    pool_ = std::make_unique<AutoreleasePool>(*objc_);
    std::vector<Owned> devices = objc_->devices();
    device_ = std::move(devices[0]);
    other_ = std::move(devices[1]);
    queue_ = objc_->send(device_.get(), messages::new_queue);
    memory_ = objc_->send(device_.get(), messages::new_buffer, 256, 0);
    auto* const numbers = static_cast<float*>(objc_->send(memory_.get(), messages::contents));
    for (int i = 0; i < 64; ++i) numbers[i] = static_cast<float>(i);
    graph_ = objc_->send(objc_->type_named("MPSGraph"), messages::new_graph);
    x_ = placeholder({4, 2});
    y_ = placeholder({2, 3});
    product_ = objc_->send(graph_.get(), messages::graph_matmul, x_, y_, nullptr);
    buffer_ = objc_->keep(objc_->send(queue_.get(), messages::command_buffer));
    wrapped_ = objc_->send(objc_->type_named("MPSCommandBuffer"), messages::wrap_command_buffer,
                           buffer_.get());
  }
  void TearDown() override {
    for (Owned* each : {&buffer_, &memory_, &graph_, &queue_, &device_, &other_}) *each = {};
    pool_.reset();
    MetalDoubleTest::TearDown();
  }

  Id placeholder(const MpsShape& shape) {
    return objc_->send(graph_.get(), messages::graph_placeholder, objc_->numbers(shape), kF32,
                       nullptr);
  }
  // Autoreleased.
  Id later(Owned object) {
    Id const kept = object.get();
    kept_.push_back(std::move(object));
    return kept;
  }
  Id type(const MpsShape& shape, unsigned dtype = kF32) {
    return later(objc_->make(objc_->type_named("MPSGraphShapedType"), messages::alloc_shaped_type,
                             messages::init_shaped_type, objc_->numbers(shape), dtype));
  }
  Id compile(const std::vector<Id>& keys, const std::vector<Id>& types, UInteger level = 0) {
    const Id feeds = objc_->send(objc_->type_named("NSDictionary"), messages::dictionary_with,
                                 types.data(), keys.data(), UInteger{keys.size()});
    const Owned descriptor = objc_->send(objc_->type_named("MPSGraphCompilationDescriptor"),
                                         messages::new_compilation_descriptor);
    objc_->send(descriptor.get(), messages::set_optimization_level, level);
    objc_->send(descriptor.get(), messages::set_compile_waits, Bool{1});
    const Id device = objc_->send(objc_->type_named("MPSGraphDevice"), messages::graph_device,
                                  on_other_ ? other_.get() : device_.get());
    const Id made = objc_->send(graph_.get(), messages::graph_compile, device, feeds,
                                objc_->array({&product_, 1}), nullptr, descriptor.get());
    if (made != nullptr) objc_->send(made, messages::set_graph_options, UInteger{0});
    return made;
  }
  Id compiled() { return compile({x_, y_}, {type({4, 2}), type({2, 3})}); }
  Owned array(const MpsShape& shape, UInteger offset, bool packed = true) {
    const Id descriptor = objc_->send(objc_->type_named("MPSNDArrayDescriptor"),
                                      messages::array_descriptor, kF32, objc_->numbers(shape));
    objc_->send(descriptor, messages::set_packed_rows, Bool(packed ? 1 : 0));
    return objc_->make(objc_->type_named("MPSNDArray"), messages::alloc_array, messages::init_array,
                       memory_.get(), offset, descriptor);
  }
  Id data(const MpsShape& shape, UInteger offset) {
    const Owned memory = array(shape, offset);
    return later(objc_->make(objc_->type_named("MPSGraphTensorData"), messages::alloc_tensor_data,
                             messages::init_tensor_data, memory.get()));
  }
  void encode(Id executable, const std::vector<Id>& inputs, Id result) {
    objc_->send(executable, messages::encode_executable, wrapped_, objc_->array(inputs),
                objc_->array({&result, 1}), nullptr);
  }
  // Of the Metal double's feeds, the last comes first.
  std::vector<Id> inputs() { return {data({2, 3}, 32), data({4, 2}, 0)}; }
  void run(Id buffer) {
    objc_->send(buffer, messages::commit);
    objc_->send(buffer, messages::wait_until_completed);
  }
  // The one fault that was found.
  std::string fault() {
    const Lines found = take_faults();
    EXPECT_EQ(found.size(), 1u) << joined(found);
    return found.empty() ? "" : found[0];
  }

  std::shared_ptr<const ObjectiveC> objc_;
  std::unique_ptr<AutoreleasePool> pool_;
  Owned device_, other_, queue_, memory_, graph_, buffer_;
  Id x_ = nullptr, y_ = nullptr, product_ = nullptr, wrapped_ = nullptr;
  bool on_other_ = false;
  std::vector<Owned> kept_;
};

TEST_F(MpsDoubleFinds, NothingWhereAllIsRight) {
  encode(compiled(), inputs(), data({4, 3}, 128));
  EXPECT_EQ(objc_->send(wrapped_, messages::root_command_buffer), buffer_.get());
  run(buffer_.get());
  const auto* const numbers =
      static_cast<const float*>(objc_->send(memory_.get(), messages::contents));
  EXPECT_EQ(numbers[32], 0 * 8 + 1 * 11);
  EXPECT_EQ(numbers[43], 6 * 10 + 7 * 13);
  kept_.clear();
}

TEST_F(MpsDoubleFinds, EncodersThatAreLeftOpen) {
  const Id encoder = objc_->send(buffer_.get(), messages::compute_encoder, UInteger{1});
  encode(compiled(), inputs(), data({4, 3}, 128));
  EXPECT_EQ(fault(), "a graph is encoded while an encoder is open");
  objc_->send(encoder, messages::end_encoding);
  kept_.clear();
}

TEST_F(MpsDoubleFinds, CommandBuffersThatWereCommittedMeanwhile) {
  double_->graph_commits = 1;
  encode(compiled(), inputs(), data({4, 3}, 128));
  EXPECT_NE(objc_->send(wrapped_, messages::root_command_buffer), buffer_.get());
  EXPECT_EQ(double_->continued, 1);
  objc_->send(buffer_.get(), messages::commit);
  EXPECT_EQ(fault(), "a command buffer is committed twice");
  run(objc_->send(wrapped_, messages::root_command_buffer));
  encode(compiled(), inputs(), data({4, 3}, 128));
  EXPECT_EQ(fault(), "a graph is encoded to a command buffer that was committed");
  kept_.clear();
}

TEST_F(MpsDoubleFinds, WrongOffsets) {
  array({4, 3}, 240);
  EXPECT_EQ(fault(), "an array beyond its buffer; got 288 of 256 bytes");
  array({4, 3}, 2);
  EXPECT_EQ(fault(), "an array begins within an element");
}

TEST_F(MpsDoubleFinds, RowsThatAreNotPacked) {
  array({4, 3}, 0, false);
  EXPECT_EQ(fault(), "an array over memory whose rows are not packed");
}

TEST_F(MpsDoubleFinds, WrongViews) {
  const Owned whole = array({40}, 0);
  const auto view = [&](const MpsShape& shape, const MpsShape& strides) {
    objc_->send(whole.get(), messages::array_view, objc_->numbers(shape), objc_->numbers(strides));
  };
  view({4, 10}, {10, 1});
  view({4, 11}, {10, 1});
  EXPECT_EQ(fault(), "a view beyond its array");
  view({10, 4}, {1, 10});
  EXPECT_EQ(take_faults().front(), "a view whose last stride is not 1");
  view({2, 3, 1}, {1, 2, 1});
  EXPECT_EQ(fault(), "a view whose strides rise");
}

TEST_F(MpsDoubleFinds, ObjectsThatWereReleased) {
  const Id executable = compiled();
  const Id result = data({4, 3}, 128);
  const std::vector<Id> given = inputs();
  kept_.pop_back();
  encode(executable, given, result);
  EXPECT_TRUE(contains(take_faults().at(0), "a released MPSGraphTensorData"));
  const std::vector<Id> again = inputs();
  objc_->send(executable, messages::encode_executable, wrapped_, objc_->array({again.data(), 1}),
              objc_->array({&result, 1}), nullptr);
  EXPECT_EQ(fault(), "a graph is encoded with too few arrays, or too many");
  kept_.clear();
  pool_.reset();
  EXPECT_EQ(fault(), "a released MPSGraphTensorData is released again");  // by its array
  pool_ = std::make_unique<AutoreleasePool>(*objc_);
}

TEST_F(MpsDoubleFinds, ArraysOfOtherShapes) {
  encode(compiled(), {data({4, 2}, 0), data({2, 3}, 32)}, data({4, 3}, 128));
  EXPECT_EQ(fault(), "an input of another type; got [4, 2], expected [2, 3]");
  encode(compiled(), inputs(), data({3, 4}, 128));
  EXPECT_EQ(fault(), "a result of another type; got [3, 4], expected [4, 3]");
  encode(compiled(), inputs(), data({4, 3}, 40));
  EXPECT_EQ(fault(), "a result over an input");
  kept_.clear();
}

TEST_F(MpsDoubleFinds, WrongFeeds) {
  compile({x_}, {type({4, 2})});
  EXPECT_EQ(fault(), "a placeholder that is not fed");
  compile({x_, y_}, {type({4, 2}), type({2, 3}, kF16)});
  EXPECT_EQ(fault(), "a feed of another type than its placeholder");
  compile({x_, y_, placeholder({1})}, {type({4, 2}), type({2, 3}), type({1})});
  EXPECT_TRUE(contains(take_faults().at(0), "does not depend on"));
  kept_.clear();
}

TEST_F(MpsDoubleFinds, TensorsThatDoNotFit) {
  objc_->send(graph_.get(), messages::graph_matmul, y_, y_, nullptr);
  EXPECT_EQ(fault(), "matrices that do not fit; got [2, 3] and [2, 3]");
  objc_->send(graph_.get(), messages::graph_add, x_, y_, nullptr);
  EXPECT_EQ(fault(), "tensors that do not fit; got [4, 2] and [2, 3]");
  const Id half = objc_->send(graph_.get(), messages::graph_cast, x_, kF16, nullptr);
  objc_->send(graph_.get(), messages::graph_add, x_, half, nullptr);
  EXPECT_EQ(fault(), "tensors of two dtypes");
  const Owned another = objc_->send(objc_->type_named("MPSGraph"), messages::new_graph);
  objc_->send(another.get(), messages::graph_relu, x_, nullptr);
  EXPECT_EQ(fault(), "a tensor of another graph");
}

TEST_F(MpsDoubleFinds, OtherDevicesAndOtherProcessors) {
  compile({x_, y_}, {type({4, 2}), type({2, 3})}, 1);
  EXPECT_EQ(fault(), "a graph that may run elsewhere than on the GPU");
  on_other_ = true;
  encode(compiled(), inputs(), data({4, 3}, 128));
  EXPECT_EQ(fault(), "an executable of another device");
  kept_.clear();
}

}  // namespace
}  // namespace hearth::metal

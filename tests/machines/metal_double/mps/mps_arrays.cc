#include "machines/metal_double/mps/mps_arrays.h"

#include "machines/metal_double/state.h"

namespace hearth::metal::fake {
namespace {

struct Number final : Object {
  static constexpr const char* kType = "NSNumber";
  explicit Number(UInteger of) : Object(class_named(kType)), value(of) {}
  static Id make(UInteger value) { return autorelease(new Number(value)); }
  UInteger value;
};

Id describe(unsigned dtype, Id shape) {
  if (!is_float_type(dtype)) fault("an array of another dtype; got " + std::to_string(dtype));
  GraphShape extents = shape_of(shape);
  if (count_of(extents) >= UInteger{1} << 31) fault("an array of 2^31 elements or more");
  return autorelease(new ArrayDescriptor(dtype, std::move(extents)));
}

Id wrap(Id buffer) {
  auto* const given = as<CommandBuffer>(buffer);
  return given == nullptr ? nullptr : autorelease(new MpsCommandBuffer(*given));
}

}  // namespace

GraphShape shape_of(Id given) {
  GraphShape shape;
  const auto* const array = as<Array>(given);
  if (array == nullptr) return shape;
  for (const Id object : array->objects) {
    const auto* const number = as<Number>(object);
    shape.push_back(number == nullptr ? 1 : number->value);
    if (shape.back() == 0) fault("an extent or a stride of 0");
  }
  if (shape.empty() || shape.size() > 16) fault("a shape of no axes, or of more than 16");
  return shape;
}

Id NdArray::init(Id memory, UInteger first, Id descriptor) {
  auto* const given = as<Buffer>(memory);
  const auto* const described = as<ArrayDescriptor>(descriptor);
  if (buffer != nullptr) fault("an array is initialised twice");
  if (given == nullptr || described == nullptr) return this;
  // Rows are padded otherwise, as MPS likes.
  if (!described->is_packed) fault("an array over memory whose rows are not packed");
  retain(given);
  buffer = given;
  offset = first;
  dtype = described->dtype;
  shape = described->shape;
  strides.assign(shape.size(), 1);
  for (std::size_t axis = shape.size() - 1; axis-- > 0;) {
    strides[axis] = strides[axis + 1] * shape[axis + 1];
  }
  if (offset % bytes_of(dtype) != 0) fault("an array begins within an element");
  if (offset + reach() > buffer->size) {
    fault("an array beyond its buffer; got " + std::to_string(offset + reach()) + " of " +
          std::to_string(buffer->size) + " bytes");
  }
  return this;
}

Id NdArray::view(Id extents, Id steps) {
  if (buffer == nullptr) return fault("a view of an array that is not initialised"), nullptr;
  auto* const made = new NdArray;
  autorelease(made);
  retain(buffer);
  made->buffer = buffer;
  made->offset = offset;
  made->dtype = dtype;
  made->shape = shape_of(extents);
  made->strides = shape_of(steps);
  if (made->shape.size() != made->strides.size()) fault("a view with too few strides, or too many");
  if (made->strides.back() != 1) fault("a view whose last stride is not 1");
  for (std::size_t i = 1; i < made->strides.size(); ++i) {
    if (made->strides[i] > made->strides[i - 1]) fault("a view whose strides rise");
  }
  if (made->reach() > reach()) fault("a view beyond its array");
  return made;
}

std::size_t NdArray::place(std::size_t element) const {
  std::size_t place = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place += element % shape[axis] * strides[axis];
    element /= shape[axis];
  }
  return place;
}

std::size_t NdArray::reach() const { return (place(count_of(shape) - 1) + 1) * bytes_of(dtype); }

Id TensorData::init(Id given) {
  auto* const ready = as<NdArray>(given);
  if (ready == nullptr) return this;
  if (ready->buffer == nullptr) fault("tensor data of an array that is not initialised");
  retain(ready);
  array = ready;
  return this;
}

void MpsCommandBuffer::commit_and_continue() {
  const std::lock_guard lock(state().mutex);
  ++state().continued;
  Queue* const queue = root->queue;
  root->commit();
  const Id next = queue->command_buffer();
  retain(next);
  release(root);
  root = static_cast<CommandBuffer*>(next);
}

void define_mps_arrays() {
  define<messages::number_with, &Number::make>();
  define<messages::wrap_command_buffer, &wrap>();
  define<messages::root_command_buffer, &MpsCommandBuffer::root_command_buffer>();
  define<messages::array_descriptor, &describe>();
  define<messages::set_packed_rows, &ArrayDescriptor::set_packed>();
  define<messages::alloc_array, &NdArray::alloc>();
  define<messages::init_array, &NdArray::init>();
  define<messages::array_view, &NdArray::view>();
  define<messages::alloc_tensor_data, &TensorData::alloc>();
  define<messages::init_tensor_data, &TensorData::init>();
}

}  // namespace hearth::metal::fake

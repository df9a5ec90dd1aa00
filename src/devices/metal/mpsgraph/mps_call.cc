#include "devices/metal/mpsgraph/mps_call.h"

#include <algorithm>

#include "devices/metal/mpsgraph/mps_library.h"
#include "hearth/error.h"

namespace hearth::metal {

MpsCall::MpsCall(MpsLibrary& library, const runtime::LibraryCall& call, MpsProgram program)
    : Function(call),
      library_(library),
      call_(call),
      program_(std::move(program)),
      shared_name_(std::make_shared<const std::string>(call.name)) {
  const AutoreleasePool pool(library.objc());
  for (const MpsOperand& input : program_.inputs) inputs_.push_back(array_of(input));
  result_ = array_of(program_.result);
  library_.executable(program_, call_);  // throws now what it would throw later
}

// An array with gaps is a view of one axis that reaches from its first element to its last.
MpsCall::Array MpsCall::array_of(const MpsOperand& operand) const {
  const ObjectiveC& objc = library_.objc();
  const bool has_gaps = !operand.strides.empty();
  const UInteger reach = operand.reach();
  const Id whole = has_gaps ? objc.numbers({&reach, 1}) : objc.numbers(operand.shape);
  Array array;
  array.descriptor =
      objc.keep(objc.send(objc.type_named("MPSNDArrayDescriptor"), messages::array_descriptor,
                          mps_type(program_.dtype), whole));
  objc.send(array.descriptor.get(), messages::set_packed_rows, Bool{1});
  if (!has_gaps) return array;
  array.shape = objc.keep(objc.numbers(operand.shape));
  array.strides = objc.keep(objc.numbers(operand.strides));
  return array;
}

Owned MpsCall::tensor_data(const MpsOperand& operand, const Array& array,
                           const BufferPlace& place) const {
  const ObjectiveC& objc = library_.objc();
  const Owned memory =
      objc.make(objc.type_named("MPSNDArray"), messages::alloc_array, messages::init_array,
                place.buffer, place.offset, array.descriptor.get());
  Id whole = memory.get();
  if (whole != nullptr && array.shape) {
    whole = objc.send(whole, messages::array_view, array.shape.get(), array.strides.get());
  }
  if (whole == nullptr) {
    throw Error(ErrorCode::device, "metal: " + name() + ": no array over the memory of " +
                                       parameters()[operand.parameter].name);
  }
  return objc.make(objc.type_named("MPSGraphTensorData"), messages::alloc_tensor_data,
                   messages::init_tensor_data, whole);
}

// A graph may write its result before it has read all inputs.
void MpsCall::check_apart(const BufferPlace* places) const {
  const auto bytes = [&](const MpsOperand& operand) {
    return operand.reach() * static_cast<UInteger>(size_of(program_.dtype));
  };
  const BufferPlace& result = places[program_.result.parameter];
  const UInteger end = result.offset + bytes(program_.result);
  for (const MpsOperand& input : program_.inputs) {
    const BufferPlace& place = places[input.parameter];
    if (place.buffer == result.buffer && place.offset < end &&
        result.offset < place.offset + bytes(input)) {
      throw Error(ErrorCode::internal, "metal: " + name() + ": the result lies over " +
                                           parameters()[input.parameter].name +
                                           "; expected memory of its own");
    }
  }
}

void MpsCall::encode(Id command_buffer, const BufferPlace* places) const {
  const ObjectiveC& objc = library_.objc();
  check_apart(places);
  const std::shared_ptr<const MpsExecutable> executable = library_.executable(program_, call_);
  std::vector<Owned> data;
  std::vector<Id> feeds;
  for (const std::size_t input : executable->feeds) {
    const MpsOperand& operand = program_.inputs[input];
    data.push_back(tensor_data(operand, inputs_[input], places[operand.parameter]));
    feeds.push_back(data.back().get());
  }
  const Owned result = tensor_data(program_.result, result_, places[program_.result.parameter]);
  const Id out = result.get();
  objc.send(executable->executable.get(), messages::encode_executable, command_buffer,
            objc.array(feeds), objc.array({&out, 1}), nullptr);
}

}  // namespace hearth::metal

// What an executable of the Metal double encodes.
#include <algorithm>

#include "machines/metal_double/mps/mps_arrays.h"
#include "machines/metal_double/mps/mps_graphs.h"
#include "machines/metal_double/state.h"

namespace hearth::metal::fake {
namespace {

struct GraphKernel final : GpuKernel {
  GraphKernel() { name = "MPSGraph"; }
};

// The array of tensor data that goes with a node; a fault and null for what does not.
NdArray* array_for(Id data, const GraphNode& node, const char* what) {
  const auto* const given = as<TensorData>(data);
  if (given == nullptr || given->array == nullptr) return nullptr;
  NdArray* const array = given->array;
  if (array->shape == node.shape && array->dtype == node.type) return array;
  fault(std::string(what) + " of another type; got " + shape_text(array->shape) + ", expected " +
        shape_text(node.shape));
  return nullptr;
}

// Where an encoded graph finds its numbers. The buffers are held by the command buffer.
struct Place {
  explicit Place(const NdArray& array)
      : first(array.buffer->memory + array.offset), reach(array.reach()), type(array.dtype) {
    const UInteger count = count_of(array.shape);
    for (UInteger i = 0; i < count; ++i) at.push_back(array.place(i) * bytes_of(type));
  }
  Touched touched(bool written) const { return {first, first + reach, written}; }

  std::byte* first;
  std::size_t reach;
  unsigned type;
  std::vector<std::size_t> at;  // bytes, of each element
};

}  // namespace

Executable::Executable(Id on, std::vector<GraphTensor*> given, NodePointer result)
    : Object(class_named(kType)), device(on), feeds(std::move(given)), target(std::move(result)) {
  for (GraphTensor* const each : feeds) retain(each);
}

void Executable::dispose() {
  for (GraphTensor* const each : feeds) release(each);
  feeds.clear();
}

Id Executable::feed_tensors() {
  if (!state().tells_feeds) return nullptr;
  return autorelease(new Array(std::vector<Id>(feeds.begin(), feeds.end())));
}

Id Executable::encode(Id commands, Id inputs, Id results, Id descriptor) {
  const std::lock_guard lock(state().mutex);
  auto* const buffer = as<MpsCommandBuffer>(commands);
  const auto* const in = as<Array>(inputs);
  const auto* const out = as<Array>(results);
  if (buffer == nullptr || in == nullptr || out == nullptr) return nullptr;
  if (descriptor != nullptr) fault("an execution descriptor that nobody made");
  if (options != 0) fault("results that are synchronized");
  if (buffer->root->queue->device != device) fault("an executable of another device");
  if (buffer->root->open != nullptr) fault("a graph is encoded while an encoder is open");
  if (buffer->root->progress != 0) {
    return fault("a graph is encoded to a command buffer that was committed"), nullptr;
  }
  if (in->objects.size() != feeds.size() || out->objects.size() != 1) {
    return fault("a graph is encoded with too few arrays, or too many"), nullptr;
  }
  Step step;
  step.launch.kernel = std::make_shared<GraphKernel>();
  std::vector<std::pair<NodePointer, Place>> places;
  std::vector<NdArray*> arrays;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    arrays.push_back(array_for(in->objects[i], *feeds[i]->node, "an input"));
    if (arrays.back() == nullptr) return nullptr;
    places.emplace_back(feeds[i]->node, Place(*arrays.back()));
  }
  arrays.push_back(array_for(out->objects[0], *target, "a result"));
  if (arrays.back() == nullptr) return nullptr;
  const Place result(*arrays.back());
  for (const auto& [node, place] : places) {
    if (place.first < result.first + result.reach && result.first < place.first + place.reach) {
      fault("a result over an input");
    }
  }
  for (int i = 0; i < state().graph_commits; ++i) buffer->commit_and_continue();
  for (const NdArray* const array : arrays) {
    buffer->root->hold(array->buffer);
    step.buffers.push_back(array->buffer);
  }
  step.graph = [target = target, places = std::move(places),
                result](std::vector<Touched>& touched) {
    std::map<const GraphNode*, Numbers> known;
    for (const auto& [node, place] : places) {
      Numbers& numbers = known[node.get()];
      for (const std::size_t at : place.at) {
        numbers.push_back(load_number(place.first + at, place.type));
      }
      touched.push_back(place.touched(false));
    }
    const Numbers made = evaluate(target, known);
    for (std::size_t i = 0; i < made.size(); ++i) {
      store_number(result.first + result.at[i], result.type, made[i]);
    }
    touched.push_back(result.touched(true));
  };
  std::vector<Step>& steps = buffer->root->steps;
  if (!steps.empty()) steps.push_back(Step::barrier());
  steps.push_back(std::move(step));
  return autorelease(new Array({out->objects[0]}));
}

}  // namespace hearth::metal::fake

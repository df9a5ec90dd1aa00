// Connected components, on the host: a forest of elements, joined row by row, whose roots are the
// first elements of their components.
#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "core/require_listed.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/vision.h"
#include "ops/definition/rules.h"
#include "ops/definition/sync.h"

namespace hearth {
namespace components {
namespace {

using Places = std::vector<std::int64_t>;

// Each element's parent comes before it, or is itself.
class Forest {
 public:
  explicit Forest(std::int64_t size) : parents_(host_vector<std::int64_t>("components", size)) {
    for (std::int64_t i = 0; i < size; ++i) parents_[static_cast<std::size_t>(i)] = i;
  }
  std::int64_t root(std::int64_t i) {
    while (parent(i) != i) {
      parent(i) = parent(parent(i));
      i = parent(i);
    }
    return i;
  }
  void join(std::int64_t a, std::int64_t b) {
    a = root(a);
    b = root(b);
    parent(std::max(a, b)) = std::min(a, b);
  }

 private:
  std::int64_t& parent(std::int64_t i) { return parents_[static_cast<std::size_t>(i)]; }

  Places parents_;
};

struct Image {
  const std::uint8_t* elements;
  std::int64_t height, width;

  bool at(std::int64_t i) const { return elements[i] != 0; }
};

// Writes the label of each element and gives the largest.
std::int64_t label(const Image& image, Connectivity connectivity, std::int64_t* labels) {
  const std::int64_t width = image.width, size = image.height * width;
  const bool corners = connectivity == Connectivity::eight;
  Forest forest(size);
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t i = y * width + x;
      if (!image.at(i)) continue;
      if (x > 0 && image.at(i - 1)) forest.join(i, i - 1);
      if (y == 0) continue;
      if (image.at(i - width)) forest.join(i, i - width);
      if (corners && x > 0 && image.at(i - width - 1)) forest.join(i, i - width - 1);
      if (corners && x + 1 < width && image.at(i - width + 1)) forest.join(i, i - width + 1);
    }
  }
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (!image.at(i)) {
      labels[i] = 0;
    } else {
      const std::int64_t root = forest.root(i);
      labels[i] = root == i ? ++count : labels[root];
    }
  }
  return count;
}

// All images of an array, in the host's memory.
struct Labelled {
  std::int64_t images, height, width;
  Places labels;  // of all elements
  Places counts;  // of components, of each image
};

Labelled labelled(const char* op, const Array& image, Connectivity connectivity, DType dtype) {
  require_defined(op, image);
  require_listed(op, "connectivity", connectivity, Connectivity::eight);
  if (!is_bool(image.dtype())) {
    throw Error(ErrorCode::dtype, std::string(op) + ": image is no bool array; got " +
                                      std::string(name(image.dtype())) + ", expected bool");
  }
  if (image.rank() < 2) {
    throw Error(ErrorCode::shape, std::string(op) + ": no image; got shape " +
                                      to_string(image.shape()) + ", expected [..., height, width]");
  }
  if (dtype != DType::i64 && dtype != DType::i32) {
    throw Error(ErrorCode::dtype, std::string(op) + ": labels of no such dtype; got " +
                                      std::string(name(dtype)) + ", expected i64 or i32");
  }
  Labelled all = {1, image.shape(-2), image.shape(-1), {}, {}};
  for (int i = 0; i + 2 < image.rank(); ++i) all.images *= image.shape()[i];
  const std::int64_t size = all.height * all.width;
  if (size > integer_limits(dtype).highest) {
    throw Error(ErrorCode::dtype, std::string(op) + ": labels do not fit; got i32 for images of " +
                                      std::to_string(size) + " elements, expected i64");
  }
  all.labels = host_vector<std::int64_t>(op, image.size());
  all.counts = host_vector<std::int64_t>(op, all.images);
  if (image.size() == 0) return all;
  std::vector<std::uint8_t> elements = host_vector<std::uint8_t>(op, image.size());
  count_sync();
  image.read(elements.data(), image.size(), DType::bool_);
  for (std::int64_t i = 0; i < all.images; ++i) {
    all.counts[static_cast<std::size_t>(i)] =
        label({elements.data() + i * size, all.height, all.width}, connectivity,
              all.labels.data() + i * size);
  }
  return all;
}

Array uploaded(const Places& values, const Shape& shape, DType dtype, Device device) {
  if (dtype == DType::i64) return Array::from_data(values, shape, device);
  std::vector<std::int32_t> small =
      host_vector<std::int32_t>("components", static_cast<std::int64_t>(values.size()));
  std::transform(values.begin(), values.end(), small.begin(),
                 [](std::int64_t value) { return static_cast<std::int32_t>(value); });
  return Array::from_data(small, shape, device);
}

// What is known of a label: kMeasures numbers.
struct Measures {
  std::int64_t area, top, left, bottom, right;
};
constexpr std::int64_t kMeasures = 5;
static_assert(sizeof(Measures) == kMeasures * sizeof(std::int64_t));

void add_element(Measures& of, std::int64_t y, std::int64_t x) {
  if (of.area++ == 0) of = {1, y, x, y, x};
  of.left = std::min(of.left, x);
  of.bottom = y;
  of.right = std::max(of.right, x);
}

}  // namespace
}  // namespace components

inline namespace v0 {

Array connected_components(const Array& image, Connectivity connectivity, DType dtype) try {
  const components::Labelled all =
      components::labelled("connected_components", image, connectivity, dtype);
  return components::uploaded(all.labels, image.shape(), dtype, image.device());
} catch (const Error& error) {
  throw_as("connected_components", error);
}

std::tuple<Array, Array, Array> connected_components_with_stats(const Array& image,
                                                                Connectivity connectivity,
                                                                DType dtype) try {
  constexpr const char* kName = "connected_components_with_stats";
  const components::Labelled all = components::labelled(kName, image, connectivity, dtype);
  std::int64_t labels = 1;
  for (const std::int64_t count : all.counts) labels = std::max(labels, count + 1);
  Shape each = image.shape();
  each.erase(each.rank() - 1);
  each.erase(each.rank() - 1);
  Shape by_label = each;
  by_label.push_back(labels);
  by_label.push_back(components::kMeasures);
  check_shape(kName, by_label);
  std::vector<components::Measures> measures =
      host_vector<components::Measures>(kName, all.images * labels);
  const std::int64_t* label = all.labels.data();
  for (std::int64_t i = 0; i < all.images && !all.labels.empty(); ++i) {
    for (std::int64_t y = 0; y < all.height; ++y) {
      for (std::int64_t x = 0; x < all.width; ++x) {
        components::add_element(measures[static_cast<std::size_t>(i * labels + *label++)], y, x);
      }
    }
  }
  components::Places flat_measures;
  for (const components::Measures& of : measures) {
    flat_measures.insert(flat_measures.end(), {of.area, of.top, of.left, of.bottom, of.right});
  }
  const auto upload = [&](const components::Places& values, const Shape& shape) {
    return components::uploaded(values, shape, dtype, image.device());
  };
  return {upload(all.labels, image.shape()), upload(flat_measures, by_label),
          upload(all.counts, each)};
} catch (const Error& error) {
  throw_as("connected_components_with_stats", error);
}

}  // namespace v0
}  // namespace hearth

// Elements that the host reads where they lie, and arrays made of memory that the host has.
#include "hearth/host_view.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>

#include "devices_under_test.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

std::vector<float> ramp(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

std::vector<float> copied(const HostView<const float>& view) { return {view.begin(), view.end()}; }

// Pages of the host's, read-only from then on, with values from the first byte on.
class Pages {
 public:
  explicit Pages(const std::vector<float>& values) {
    bytes_ = values.size() * sizeof(float);
    void* const raw =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory_ = static_cast<std::byte*>(raw);
    std::memcpy(memory_, values.data(), bytes_);
    ::mprotect(raw, bytes_, PROT_READ);
  }
  ~Pages() { ::munmap(memory_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  HostElements elements(std::int64_t first, std::int64_t count) const {
    return {{memory_ + first * 4, static_cast<std::size_t>(count) * 4}, DType::f32, {count}};
  }
  const std::byte* memory() const { return memory_; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }

 private:
  std::byte* memory_;
  std::size_t bytes_;
};

class HostViews : public ::testing::TestWithParam<Device> {};

TEST_P(HostViews, AreTheMemoryWhereTheHostSharesIt) {
  const Array x = Array::from_data(ramp(100), {10, 10}, GetParam());
  const Array y = x * 2.0;
  const HostView<const float> view = y.host_view<float>();
  EXPECT_EQ(copied(view), (x + x).to_vector<float>());
  EXPECT_EQ(view.size(), 100);
  EXPECT_EQ(view[99], 200);
  EXPECT_EQ(view.is_copy(), !GetParam().impl().shares_memory());
  if (!view.is_copy()) {
    EXPECT_EQ(y.host_view<float>().data(), view.data());
  }
}

TEST_P(HostViews, OfWhatIsNotDenseAreCopies) {
  const Array x = Array::from_data(ramp(12), {3, 4}, GetParam());
  const Array turned = transpose(x).eval();
  EXPECT_EQ(copied(turned.host_view<float>()), turned.to_vector<float>());
  const Array scalar(2.5f);
  EXPECT_EQ(cast(scalar, DType::f32).host_view<float>()[0], 2.5f);
  const Array none = Array::from_data(std::vector<float>(), {0, 3}, GetParam());
  EXPECT_TRUE(none.host_view<float>().empty());
}

// Neither what is computed in place, nor the end of the array, nor other work changes what is seen.
TEST_P(HostViews, KeepWhatTheySee) {
  Array x = Array::from_data(ramp(1000), {1000}, GetParam()) + 1.0;
  x.eval();
  const HostView<const float> view = x.host_view<float>();
  const std::vector<float> before = copied(view);
  for (int i = 0; i < 5; ++i) x = x * 3.0;
  x.eval();
  EXPECT_EQ(copied(view), before);
  x = Array();
  for (int i = 0; i < 5; ++i) Array::from_data(ramp(1000), {1000}, GetParam()).eval();
  std::thread([&] { EXPECT_EQ(copied(view), before); }).join();
}

TEST_P(HostViews, AskForTheirElements) {
  const Array x = Array::from_data(ramp(4), {4}, GetParam());
  EXPECT_THROW(x.host_view<double>(), Error);
  EXPECT_THROW(Array().host_view<float>(), Error);
  const Tensor<1> tensor(x);
  EXPECT_EQ(tensor.host_view<float>()[3], 4);
  const Array flags = equal(x, Array(2.0f));
  EXPECT_TRUE(flags.host_view<bool>()[1]);
  EXPECT_FALSE(flags.host_view<bool>()[2]);
}

TEST_P(HostViews, ArraysInPlaceAreTheHostsMemory) {
  const auto pages = std::make_shared<Pages>(ramp(4096));
  DeviceImpl& device = GetParam().impl();
  const bool in_place = device.adopt(pages->memory(), pages->bytes());
  if (in_place) device.disown(pages->memory(), nullptr);
  const std::vector<HostElements> elements = {pages->elements(1000, 50), pages->elements(0, 300),
                                              pages->elements(300, 0), pages->elements(16, 64)};
  const std::vector<Array> arrays = host_arrays(elements, pages, GetParam());
  ASSERT_EQ(arrays.size(), 4u);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto* const first = reinterpret_cast<const float*>(elements[i].bytes.data());
    const std::vector<float> wanted(first, first + arrays[i].size());
    EXPECT_EQ(arrays[i].to_vector<float>(), wanted);
    EXPECT_EQ((arrays[i] + 1.0).shape(), arrays[i].shape());
  }
  const auto* const seen = reinterpret_cast<const std::byte*>(arrays[3].host_view<float>().data());
  EXPECT_EQ(seen == pages->memory() + 64, in_place);
}

// A result takes over the memory of an input that nobody else has; this memory cannot be written.
TEST_P(HostViews, ArraysInPlaceAreNotOverwritten) {
  const auto pages = std::make_shared<Pages>(ramp(4096));
  Array x = host_arrays(std::vector{pages->elements(0, 512)}, pages, GetParam())[0];
  for (int i = 0; i < 4; ++i) x = x + 1.0;
  EXPECT_EQ(x.to_vector<float>()[511], 516);
  EXPECT_EQ(*reinterpret_cast<const float*>(pages->memory()), 1);
}

TEST_P(HostViews, ArraysInPlaceKeepTheMemoryAsLongAsTheyLive) {
  auto pages = std::make_shared<Pages>(ramp(4096));
  const std::weak_ptr<Pages> watched = pages;
  Array sum, x;
  {
    std::vector<Array> arrays = host_arrays(
        std::vector{pages->elements(0, 1024), pages->elements(1024, 1024)}, pages, GetParam());
    pages.reset();
    sum = arrays[0] + arrays[1];
    x = arrays[1];
  }
  submit();
  EXPECT_EQ(sum.to_vector<float>()[1], 2 + 1026);
  EXPECT_EQ(x.to_vector<float>()[0], 1025);
  x = Array();
  sum.eval();
  EXPECT_TRUE(watched.expired());
}

TEST_P(HostViews, ArraysInPlaceOfOtherPlaces) {
  const auto pages = std::make_shared<Pages>(ramp(1024));
  // No float begins there; and the last bytes of a page have nothing after them.
  HostElements odd = pages->elements(4, 8), last = pages->elements(1016, 8);
  odd.bytes = {odd.bytes.data() + 1, 32};
  const std::vector<Array> arrays = host_arrays(std::vector{odd, last}, pages, GetParam());
  std::vector<float> wanted(8);
  std::memcpy(wanted.data(), odd.bytes.data(), 32);
  EXPECT_EQ(arrays[0].to_vector<float>(), wanted);
  EXPECT_EQ(arrays[1].to_vector<float>()[7], 1024);
  odd.shape = {9};
  EXPECT_THROW(host_arrays(std::vector{odd}, pages, GetParam()), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, HostViews, ::testing::ValuesIn(testing::devices_under_test()),
                         [](const auto& device) {
                           std::string name = device.param.name();
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace hearth

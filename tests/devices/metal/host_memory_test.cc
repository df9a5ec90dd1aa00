// Memory that host and Metal share: nothing is copied.
#include <sys/mman.h>

#include "devices/gpu/gpu_device.h"
#include "devices/metal/metal_fixture.h"
#include "hearth/array.h"

namespace hearth::metal {
namespace {

constexpr char kInPlace[] = "newBufferWithBytesNoCopy:length:options:deallocator:";

constexpr std::int64_t kFloats = 1 << 14;  // whole pages everywhere

// Read-only pages of floats that count up.
class Pages {
 public:
  explicit Pages(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * 4) {
    void* const raw =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory_ = static_cast<float*>(raw);
    for (std::int64_t i = 0; i < count; ++i) memory_[i] = static_cast<float>(i);
    ::mprotect(raw, bytes_, PROT_READ);
  }
  ~Pages() { ::munmap(memory_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  const std::byte* memory() const { return reinterpret_cast<const std::byte*>(memory_); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }
  HostElements elements(std::int64_t first, std::int64_t count) const {
    return {{memory() + first * 4, static_cast<std::size_t>(count) * 4}, DType::f32, {count}};
  }

 private:
  float* memory_;
  std::size_t bytes_;
};

TEST_F(MetalDriverTest, KernelsReadAdoptedPagesWhereTheyAre) {
  const runtime::Function& axpy = kernel(axpy_source());
  auto pages = std::make_shared<Pages>(kFloats);
  const std::weak_ptr<Pages> watched = pages;
  const std::byte* const memory = pages->memory();
  ASSERT_TRUE(driver_->adopt(memory, pages->bytes()));
  EXPECT_FALSE(driver_->adopt(memory, pages->bytes())) << "twice";
  const Address y = upload(std::vector<float>(32, 0.0f));
  const AxpyParams p{2, 32};
  const auto address = const_cast<Address>(memory) + 4000;
  const runtime::Argument arguments[] = {{address, 128}, {y, 128}, {nullptr, sizeof p, &p}};
  runtime::CommandBatch batch;
  batch.add(axpy, {1}, {32}, arguments, driver_->properties());
  driver_->submit(batch.commands());
  driver_->disown(memory, std::move(pages));
  EXPECT_FALSE(watched.expired()) << "its work is queued";
  EXPECT_EQ(download<float>(y, 32)[31], 2 * 1031);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(double_->calls[kInPlace], 1);
  EXPECT_THROW(driver_->submit(batch.commands()), Error);
  driver_->free(y);
}

TEST_F(MetalDriverTest, WorkThatFailsLetsGoOfAdoptedPages) {
  auto source = axpy_source();
  const runtime::Function& axpy = kernel(source);
  auto pages = std::make_shared<Pages>(kFloats);
  const std::weak_ptr<Pages> watched = pages;
  const std::byte* const memory = pages->memory();
  ASSERT_TRUE(driver_->adopt(pages->memory(), pages->bytes()));
  const Address x = upload(std::vector<float>(32, 1.0f));
  const AxpyParams p{2, 32};  // writes what cannot be written
  const auto address = const_cast<Address>(memory);
  const runtime::Argument arguments[] = {{x, 128}, {address, 128}, {nullptr, sizeof p, &p}};
  runtime::CommandBatch batch;
  batch.add(axpy, {1}, {32}, arguments, driver_->properties());
  driver_->submit(batch.commands());
  driver_->disown(memory, std::move(pages));
  EXPECT_TRUE(contains(error_of(ErrorCode::device, [&] { driver_->wait(); }), "axpy"));
  EXPECT_TRUE(watched.expired());
  driver_->free(x);
}

TEST_F(MetalDriverTest, PagesThatMetalDoesNotTakeAreNotAdopted) {
  const auto pages = std::make_shared<Pages>(kFloats);
  double_->gives_buffers_in_place = false;
  EXPECT_FALSE(driver_->adopt(pages->memory(), pages->bytes()));
  EXPECT_EQ(double_->calls[kInPlace], 1);
  driver_->disown(pages->memory(), pages);  // is nothing
  EXPECT_EQ(pages.use_count(), 1);
  // What is disowned when nobody waits any more goes with the driver.
  double_->gives_buffers_in_place = true;
  ASSERT_TRUE(driver_->adopt(pages->memory(), pages->bytes()));
  driver_->disown(pages->memory(), pages);
  EXPECT_EQ(pages.use_count(), 2);
  driver_.reset();
  EXPECT_EQ(pages.use_count(), 1);
}

class MetalHostMemory : public MetalDoubleTest {
 protected:
  // Nothing is computed on it, so that no plan remembers it.
  void open() {
    gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE);
    ASSERT_EQ(found.drivers.size(), 1u) << joined(found.notes);
    gpu_ = std::make_unique<gpu::GpuDevice>("metal", 2, std::move(found.drivers[0]));
    double_->calls.clear();
  }
  void TearDown() override {
    gpu_.reset();
    MetalDoubleTest::TearDown();
  }
  std::unique_ptr<gpu::GpuDevice> gpu_;
};

TEST_F(MetalHostMemory, ArraysAreSeenWithoutACopy) {
  open();
  const Statistics before = statistics();
  const Array x = Array::from_data(std::vector<float>(5000, 3.0f), {5000}, Device(gpu_.get()));
  const HostView<const float> view = x.host_view<float>();
  EXPECT_FALSE(view.is_copy());
  EXPECT_EQ(view[4999], 3);
  EXPECT_EQ(statistics().bytes_to_host, before.bytes_to_host);
  EXPECT_EQ(statistics().bytes_on_device, before.bytes_on_device);
}

TEST_F(MetalHostMemory, AFileOfArraysIsOneBuffer) {
  open();
  const auto pages = std::make_shared<Pages>(1 << 16);
  const Statistics before = statistics();
  {
    const std::vector<Array> arrays =
        host_arrays(std::vector{pages->elements(60000, 100), pages->elements(5, 1000)}, pages,
                    Device(gpu_.get()));
    EXPECT_EQ(double_->calls[kInPlace], 1);
    EXPECT_EQ(double_->calls["newBufferWithLength:options:"], 0);
    EXPECT_EQ(arrays[0].host_view<float>()[99], 60099);
    EXPECT_EQ(arrays[1].host_view<float>()[0], 5);
    EXPECT_EQ(gpu_->memory().in_use, 0);
  }
  EXPECT_EQ(statistics().bytes_to_device, before.bytes_to_device);
  EXPECT_EQ(statistics().bytes_to_host, before.bytes_to_host);
  gpu_->synchronize();
  EXPECT_EQ(pages.use_count(), 1);
}

TEST_F(MetalHostMemory, MoreThanABufferMayHoldIsSeveral) {
  constexpr std::int64_t kMany = 1 << 20;
  double_->longest_buffer = UInteger{3} << 20;
  open();
  const auto pages = std::make_shared<Pages>(2 * kMany);
  std::vector<HostElements> elements;
  for (std::int64_t i = 0; i < 4; ++i) elements.push_back(pages->elements(i * kMany / 2, 1000));
  const std::vector<Array> arrays = host_arrays(elements, pages, Device(gpu_.get()));
  EXPECT_EQ(double_->calls[kInPlace], 2);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(arrays[static_cast<std::size_t>(i)].host_view<float>()[999],
              static_cast<float>(i * kMany / 2 + 999));
  }
}

}  // namespace
}  // namespace hearth::metal

// The driver on the Metal double: copies, kernels, barriers, faults.
#include "devices/metal/driver/metal_driver.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>

#include "devices/metal/metal_fixture.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::metal {
namespace {

using runtime::Argument;

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

class MetalDriverRuns : public MetalDriverTest {
 protected:
  // y += x * factor.
  void add(const runtime::Function& axpy, Address x, Address y, float factor = 1) {
    const AxpyParams p{factor, 32};
    const Argument arguments[] = {{x, 128}, {y, 128}, {nullptr, sizeof p, &p}};
    batch_.add(axpy, {1}, {32}, arguments, driver_->properties());
  }
  void submit() {
    driver_->submit(batch_.commands());
    batch_.clear();
  }
  int calls(const char* selector) { return double_->calls[selector]; }

  runtime::CommandBatch batch_;
};

TEST_F(MetalDriverRuns, KernelsOfItsUser) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  add(axpy, x, y, 2);
  submit();
  const std::vector<float> got = download<float>(y, 32);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], 3 * static_cast<float>(i + 1));
  driver_->free(x);
  driver_->free(y);
}

TEST_F(MetalDriverRuns, CompilesWithoutFastMath) {
  kernel(axpy_source());
  ASSERT_EQ(double_->compiled.size(), 1u);  // loaded as it was compiled
  EXPECT_FALSE(double_->compiled[0].fast_math);
  EXPECT_EQ(double_->compiled[0].language_version, UInteger{0x30002});
  kernels_.clear();
  driver_.reset();
  double_->system = {13, 0, 0};
  open();
  kernel(axpy_source());
  EXPECT_FALSE(double_->compiled[1].fast_math);
  EXPECT_EQ(double_->compiled[1].language_version, UInteger{0x30000});
}

TEST_F(MetalDriverRuns, ImagesAreKeptAndChecked) {
  const runtime::KernelSource source = axpy_source();
  std::vector<std::byte> image = driver_->compile(source);
  kernels_.push_back(driver_->load(source, image));
  kernels_.push_back(driver_->load(source, image));
  image.back() ^= std::byte{1};
  EXPECT_TRUE(contains(error_of(ErrorCode::corrupt_file, [&] { driver_->load(source, image); }),
                       "kernel axpy"));
  EXPECT_THROW(driver_->load(source, {}), Error);
}

TEST_F(MetalDriverRuns, ImagesHaveMachineCode) {
  const runtime::KernelSource source = axpy_source();
  const std::vector<std::byte> image = driver_->compile(source);
  const runtime::Function& axpy = *kernels_.emplace_back(driver_->load(source, image));
  EXPECT_EQ(double_->pipelines_from_archives, 1);
  EXPECT_EQ(double_->pipelines_compiled, 0);
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  add(axpy, x, y);
  submit();
  EXPECT_EQ(download<float>(y, 32)[31], 64);
  driver_->free(x);
  driver_->free(y);
  // Of a kernel that was built otherwise: it is not used.
  runtime::KernelSource other = source;
  other.max_threads = 64;
  kernels_.push_back(driver_->load(other, image));
  EXPECT_EQ(double_->pipelines_from_archives, 1);
  EXPECT_EQ(double_->pipelines_compiled, 1);
}

TEST_F(MetalDriverRuns, MachineCodeOfAnotherSystemIsLeftAlone) {
  const runtime::KernelSource source = axpy_source();
  const std::vector<std::byte> image = driver_->compile(source);
  driver_.reset();
  double_->build = "24B83";
  open();
  kernels_.push_back(driver_->load(source, image));
  EXPECT_EQ(double_->pipelines_from_archives, 0);
  EXPECT_EQ(double_->pipelines_compiled, 1);
}

TEST_F(MetalDriverRuns, AnUpdateOfTheSystemWritesMachineCodeAnew) {
  const std::string folder = testing::TempDir() + "/hearth_metal_images";
  std::filesystem::remove_all(folder);
  const auto load_through_cache = [&] {
    runtime::KernelRegistry registry(*driver_, runtime::KernelCache(folder));
    registry.get(axpy_source());
    return registry.statistics().from_disk;
  };
  EXPECT_EQ(load_through_cache(), 0);
  EXPECT_EQ(load_through_cache(), 1);
  driver_.reset();
  double_->build = "24B83";
  open();
  EXPECT_EQ(load_through_cache(), 0);
  const int compiled = double_->pipelines_compiled;
  EXPECT_EQ(load_through_cache(), 1);
  EXPECT_EQ(double_->pipelines_compiled, compiled);
  std::filesystem::remove_all(folder);
}

TEST_F(MetalDriverRuns, NoArchivesAreMadeForImagesThatNobodyKeeps) {
  runtime::KernelRegistry registry(*driver_, runtime::KernelCache(""));
  registry.get(axpy_source());
  EXPECT_EQ(calls("serializeToURL:error:"), 0);
  EXPECT_EQ(calls("addComputePipelineFunctionsWithDescriptor:error:"), 0);
  EXPECT_EQ(double_->pipelines_compiled, 1);
}

TEST_F(MetalDriverRuns, WorksWithoutMachineCode) {
  double_->archives_fail = true;
  const runtime::KernelSource source = axpy_source();
  const std::vector<std::byte> text_alone = driver_->compile(source);
  kernels_.push_back(driver_->load(source, text_alone));
  EXPECT_EQ(double_->pipelines_compiled, 1);
  double_->archives_fail = false;
  EXPECT_GT(driver_->compile(source).size(), text_alone.size());
  kernels_.clear();
  driver_.reset();
  double_->missing["serializeToURL:error:"] = true;
  open();
  EXPECT_EQ(driver_->compile(source).size(), text_alone.size());
}

TEST_F(MetalDriverRuns, EveryByteOfAnImageCounts) {
  const runtime::KernelSource source = axpy_source();
  const std::vector<std::byte> image = driver_->compile(source);
  for (std::size_t at = 0; at < image.size(); at += at < 32 ? 1 : 37) {
    std::vector<std::byte> damaged = image;
    damaged[at] ^= std::byte{0x40};
    error_of(ErrorCode::corrupt_file, [&] { driver_->load(source, damaged); });
    damaged.resize(at);
    error_of(ErrorCode::corrupt_file, [&] { driver_->load(source, damaged); });
  }
}

TEST_F(MetalDriverRuns, CopiesAtOnceWhereNothingIsPending) {
  const Address x = upload(ramp(32));
  driver_->fill(x, 0, 64);
  EXPECT_EQ(calls("computeCommandEncoderWithDispatchType:"), 0);
  EXPECT_EQ(download<float>(x, 32)[15], 0);
  EXPECT_EQ(download<float>(x, 32)[16], 17);
  driver_->free(x);
}

TEST_F(MetalDriverRuns, CopiesInOrderBehindWork) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  add(axpy, x, y);  // y = 2 x
  submit();
  const std::vector<float> zeros(32, 0.0f);
  driver_->copy_to_device(x, zeros.data(), 128);  // after that
  driver_->fill(x, 0xff, 13);
  add(axpy, x, y);
  submit();
  const std::vector<float> sum = download<float>(y, 32);
  EXPECT_TRUE(std::isnan(sum[0]));
  EXPECT_EQ(sum[31], 64);
  EXPECT_EQ(download<std::uint8_t>(x, 16)[12], 0xff);
  EXPECT_EQ(download<std::uint8_t>(x, 16)[13], 0);
  driver_->free(x);
  driver_->free(y);
}

TEST_F(MetalDriverRuns, CopiesOnTheDeviceAtAnyByte) {
  std::vector<std::uint8_t> values(300);
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  const Address x = upload(values), y = upload(std::vector<std::uint8_t>(300, 0));
  driver_->copy_on_device(y, x, 256 + 7);
  driver_->copy_on_device(y + 280, x + 3, 9);
  driver_->copy_on_device(y + 290, x, 0);
  const auto got = download<std::uint8_t>(y, 300);
  EXPECT_EQ(got[262], 6);
  EXPECT_EQ(got[263], 0);
  EXPECT_EQ(got[280], 3);
  EXPECT_EQ(got[288], 11);
  EXPECT_EQ(got[289], 0);
  driver_->free(x);
  driver_->free(y);
}

// The Metal double runs commands in the latest order that barriers allow, and tells of those that
// lack one.
TEST_F(MetalDriverRuns, BarriersKeepWhatDependsInOrder) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address a = upload(ramp(32)), b = upload(ramp(32)), c = upload(ramp(32));
  for (int i = 0; i < 5; ++i) {
    add(axpy, a, b);
    add(axpy, b, c);
    add(axpy, c, a);
  }
  submit();
  float x = 1, y = 1, z = 1;
  for (int i = 0; i < 5; ++i) {
    y += x;
    z += y;
    x += z;
  }
  EXPECT_EQ(download<float>(a, 32)[0], x);
  EXPECT_EQ(download<float>(c, 32)[1], 2 * z);
  EXPECT_EQ(calls("memoryBarrierWithResources:count:"), 14);
  for (const Address address : {a, b, c}) driver_->free(address);
}

TEST_F(MetalDriverRuns, WhatDoesNotDependRunsWithoutBarriers) {
  const runtime::Function& axpy = kernel(axpy_source());
  std::vector<Address> all;
  for (int i = 0; i < 8; ++i) all.push_back(upload(ramp(32)));
  for (int i = 0; i < 4; ++i) {
    add(axpy, all[0], all[static_cast<std::size_t>(i) + 4]);
    submit();  // batches of their own: the encoder stays open
  }
  driver_->wait();
  EXPECT_EQ(calls("memoryBarrierWithResources:count:") + calls("memoryBarrierWithScope:"), 0);
  EXPECT_EQ(calls("computeCommandEncoderWithDispatchType:"), 1);
  // Six buffers that were written: one barrier for all memory.
  for (std::size_t i = 0; i < 6; ++i) add(axpy, all[6], all[i]);
  submit();
  for (std::size_t i = 0; i < 6; ++i) add(axpy, all[7], all[i]);
  submit();
  EXPECT_EQ(calls("memoryBarrierWithScope:"), 1);
  driver_->wait();
  for (const Address address : all) driver_->free(address);
}

TEST_F(MetalDriverRuns, CommitsByCommandsAndBytes) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  for (int i = 0; i < 120; ++i) add(axpy, x, y);
  submit();
  EXPECT_EQ(calls("commit"), 3);  // of 50, so that work starts, of the rest, and what is resident
  for (int i = 0; i < 99; ++i) add(axpy, x, y);
  submit();
  EXPECT_EQ(calls("commit"), 4);  // what is left after 50 is not worth one of its own
  for (int i = 0; i < 49; ++i) add(axpy, x, y);
  submit();
  EXPECT_EQ(calls("commit"), 4);
  EXPECT_EQ(download<float>(y, 32)[0], 1 + 120 + 99 + 49);
  EXPECT_EQ(calls("commit"), 5);
  driver_->free(x);
  driver_->free(y);
}

TEST_F(MetalDriverRuns, CommitsByWork) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  const auto add_long = [&](double work) {
    const AxpyParams p{1, 32};
    const Argument arguments[] = {{x, 128}, {y, 128}, {nullptr, sizeof p, &p}};
    batch_.add(axpy, {1}, {32}, arguments, driver_->properties(), work);
  };
  const double most = chip_named("Apple M2 Max").work();
  for (int i = 0; i < 6; ++i) add_long(0.4 * most);
  submit();
  EXPECT_EQ(calls("commit"), 1 + 2);  // every third ends a command buffer; and what is resident
  for (int i = 0; i < 3; ++i) add_long(10 * most);
  submit();
  EXPECT_EQ(calls("commit"), 3 + 3);
  // The same from an executable.
  add_long(10 * most);
  add_long(10 * most);
  const auto executable = driver_->instantiate(batch_.commands());
  batch_.clear();
  driver_->launch(*executable);
  EXPECT_EQ(calls("commit"), 6 + 2);
  EXPECT_EQ(download<float>(y, 32)[0], 12);
  driver_->free(x);
  driver_->free(y);
}

TEST_F(MetalDriverRuns, ExceptionsOfTheSystemAreErrors) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  add(axpy, x, y);
  double_->raises["computeCommandEncoderWithDispatchType:"] = true;
  EXPECT_TRUE(contains(error_of(ErrorCode::device, [&] { driver_->submit(batch_.commands()); }),
                       "got one from [MTLCommandBuffer computeCommandEncoderWithDispatchType:]"));
  double_->raises.clear();
  submit();
  EXPECT_EQ(download<float>(y, 32)[0], 2);
  // Where nothing can be thrown the process goes on.
  double_->raises = {{"addAllocations:count:", true}, {"removeAllocations:count:", true}};
  const Address z = upload(ramp(32));
  add(axpy, x, z);
  submit();
  EXPECT_EQ(download<float>(z, 32)[0], 2);
  driver_->free(z);
  driver_->wait();
  double_->raises.clear();
  add(axpy, x, y);
  submit();
  EXPECT_EQ(download<float>(y, 32)[0], 3);
  driver_->free(x);
  driver_->free(y);
}

TEST_F(MetalDriverRuns, TextsThatAreNoUtf8AreRefused) {
  runtime::KernelSource source = axpy_source();
  source.text = "// caf\xe9\n" + source.text;
  EXPECT_TRUE(contains(error_of(ErrorCode::invalid_argument, [&] { driver_->compile(source); }),
                       "bytes that are no UTF-8"));
  EXPECT_TRUE(double_->compiled.empty());
  source.text = "// caf\xc3\xa9\n" + axpy_source().text;
  kernel(source);
}

TEST_F(MetalDriverRuns, LargeGroupsAndWhatFollowsThem) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), z = upload(ramp(32));
  std::vector<Address> all;
  for (int i = 0; i < 60; ++i) {
    all.push_back(upload(ramp(32)));
    add(axpy, x, all.back());  // more in one group than a command buffer has otherwise
  }
  add(axpy, all.front(), z);
  add(axpy, all.back(), z);
  add(axpy, z, x);
  submit();
  EXPECT_EQ(download<float>(x, 32)[0], 6);
  for (const Address address : all) driver_->free(address);
  driver_->free(x);
  driver_->free(z);
}

TEST_F(MetalDriverRuns, MemoryIsFreedWhileWorkNamesIt) {
  const int before = double_->live()["MTLBuffer"];
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  add(axpy, x, y);
  submit();
  driver_->free(x);
  EXPECT_EQ(double_->live()["MTLBuffer"], before + 2);
  EXPECT_EQ(download<float>(y, 32)[3], 8);
  EXPECT_EQ(double_->live()["MTLBuffer"], before + 1);
  driver_->free(y);
}

TEST_F(MetalDriverRuns, LargeConstantsAndEmptyArguments) {
  runtime::KernelSource source;
  source.name = "large";
  source.text = R"(
struct Large { uint words[2000]; };
void first_and_last(device const uint* nothing, device uint* y, constant Large& p, Ctx ctx) {
  if (ctx.gid.x == 0u) {
    y[0] = p.words[0];
    y[1] = p.words[1999];
  }
}
)";
  source.function = "first_and_last";
  source.parameters = {
      {Kind::read, "uint", "nothing"}, {Kind::write, "uint", "y"}, {Kind::constant, "Large", "p"}};
  const runtime::Function& large = kernel(source);
  std::vector<std::uint32_t> words(2000, 0);
  words[0] = 7;
  words[1999] = 9;
  const Address y = upload(std::vector<std::uint32_t>{0, 0});
  const Argument arguments[] = {{nullptr, 0}, {y, 8}, {nullptr, 8000, words.data()}};
  batch_.add(large, {1}, {32}, arguments, driver_->properties());
  submit();
  EXPECT_EQ(download<std::uint32_t>(y, 2), (std::vector<std::uint32_t>{7, 9}));
  driver_->free(y);
}

TEST_F(MetalDriverRuns, BrokenTextsAreErrorsWithTheCompilersWords) {
  runtime::KernelSource source = axpy_source("broken");
  source.text += "int x = nothing_known;\n";
  const std::string text = error_of(ErrorCode::device, [&] { driver_->compile(source); });
  EXPECT_TRUE(contains(text, "kernel broken")) << text;
  EXPECT_TRUE(contains(text, "nothing_known")) << text;
}

TEST_F(MetalDriverRuns, FaultsNameTheKernel) {
  runtime::KernelSource source;
  source.name = "beyond";
  source.text = "void far_write(device float* y, Ctx ctx) { y[ctx.gid.x + 40u] = 1.0f; }";
  source.function = "far_write";
  source.parameters = {{Kind::write, "float", "y"}};
  const runtime::Function& beyond = kernel(source);
  const Address y = upload(ramp(32));
  const Argument arguments[] = {{y, 128}};
  batch_.add(beyond, {1}, {32}, arguments, driver_->properties());
  submit();
  const std::string text = error_of(ErrorCode::device, [&] { driver_->wait(); });
  EXPECT_TRUE(contains(text, "kernel beyond failed")) << text;
  EXPECT_TRUE(contains(text, "writes 4 bytes")) << text;
  driver_->wait();  // told once; the device lives
  EXPECT_EQ(download<float>(y, 32)[0], 1);
  driver_->free(y);
}

TEST_F(MetalDriverRuns, MistakesOfAddressesAreErrors) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(16));
  add(axpy, x, y);
  EXPECT_TRUE(contains(error_of(ErrorCode::device, [&] { submit(); }), "not within one block"));
  batch_.clear();
  driver_->free(x);
  add(axpy, x, y);
  error_of(ErrorCode::device, [&] { submit(); });
  batch_.clear();
  driver_->free(y);
  driver_->free(nullptr);
}

TEST_F(MetalDriverRuns, OutOfMemory) {
  double_->longest_buffer = 1 << 20;
  kernels_.clear();
  driver_.reset();
  open();
  EXPECT_TRUE(contains(
      error_of(ErrorCode::out_of_memory, [&] { driver_->allocate(std::int64_t{2} << 20); }),
      "Apple M2 Max has no such memory; got a request of 2097152 bytes"));
  error_of(ErrorCode::invalid_argument, [&] { driver_->allocate(-1); });
}

TEST_F(MetalDriverRuns, SmallPipelinesAreTold) {
  double_->most_threads = 64;
  runtime::KernelSource source = axpy_source();
  const runtime::Function& axpy = kernel(source);
  const Address x = upload(ramp(128));
  const AxpyParams p{1, 128};
  const Argument arguments[] = {{x, 512}, {x, 512}, {nullptr, sizeof p, &p}};
  batch_.add(axpy, {1}, {128}, arguments, driver_->properties());
  EXPECT_TRUE(contains(error_of(ErrorCode::unsupported, [&] { submit(); }),
                       "got 128 threads, expected at most 64"));
  batch_.clear();
  double_->simdgroup_width = 64;
  EXPECT_TRUE(contains(error_of(ErrorCode::unsupported, [&] { kernel(source); }),
                       "simdgroups of another width; got 64, expected 32"));
  double_->simdgroup_width = 32;
  double_->static_threadgroup_memory = 32 * 1024 + 16;
  EXPECT_TRUE(contains(error_of(ErrorCode::unsupported, [&] { kernel(source); }),
                       "too much threadgroup memory; got 32784, expected at most 32768"));
  driver_->free(x);
}

TEST_F(MetalDriverRuns, ExecutablesKeepWhatTheyRun) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  add(axpy, x, y, 2);
  add(axpy, y, x, 1);
  const auto twice = driver_->instantiate(batch_.commands());
  batch_.clear();
  EXPECT_FALSE(driver_->update(*twice, {}));
  driver_->launch(*twice);  // y = 3, x = 4
  driver_->launch(*twice);  // y = 11, x = 15
  EXPECT_EQ(download<float>(y, 32)[1], 22);
  EXPECT_EQ(download<float>(x, 32)[1], 30);
  driver_->free(x);
  driver_->free(y);
}

TEST_F(MetalDriverRuns, CommandsAreTimed) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  add(axpy, x, y);
  add(axpy, x, y);
  const std::vector<double> seconds = driver_->time(batch_.commands());
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_GT(seconds[0], 0);
  EXPECT_GT(seconds[1], 0);
  EXPECT_EQ(download<float>(y, 32)[0], 3);
  driver_->free(x);
  driver_->free(y);
}

TEST_F(MetalDriverRuns, WorkThatIsDoneAtOnceIsSeen) {
  double_->runs_at_once = true;
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  for (int i = 0; i < 50; ++i) add(axpy, x, y);  // a whole command buffer
  submit();
  double_->calls.clear();
  const std::vector<float> zeros(32, 0.0f);
  driver_->copy_to_device(y, zeros.data(), 128);
  EXPECT_EQ(calls("computeCommandEncoderWithDispatchType:"), 0);
  EXPECT_EQ(download<float>(y, 32)[0], 0);
  driver_->free(x);
  driver_->free(y);
}

TEST_F(MetalDriverRuns, MemoryIsResidentWithTheWorkThatFollows) {
  const UInteger before = double_->resident;  // of devices that stay
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(32)), z = upload(ramp(32));
  driver_->free(z);  // before anybody was told
  EXPECT_EQ(double_->resident, before);
  add(axpy, x, y);
  submit();
  driver_->wait();
  EXPECT_EQ(double_->resident, before + 2);
  EXPECT_EQ(calls("addAllocations:count:"), 1);
  add(axpy, x, y);
  submit();
  driver_->free(x);  // that the command names
  EXPECT_EQ(download<float>(y, 32)[0], 3);
  EXPECT_EQ(double_->resident, before + 1);
  EXPECT_EQ(calls("addAllocations:count:"), 1);
  EXPECT_EQ(calls("removeAllocations:count:"), 1);
  EXPECT_EQ(calls("commit"), 2 + 2);
  driver_->free(y);
  driver_->wait();
  EXPECT_EQ(calls("commit"), 4);  // nothing runs
}

TEST_F(MetalDriverRuns, MuchThatIsFreedIsNotKept) {
  const UInteger before = double_->resident;  // of devices that stay
  const runtime::Function& axpy = kernel(axpy_source());
  std::vector<Address> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(upload(ramp(32)));
  add(axpy, blocks[0], blocks[1]);
  submit();
  driver_->wait();
  for (const Address block : blocks) driver_->free(block);
  Live earlier = before_;
  EXPECT_EQ(double_->live().at("MTLBuffer"), earlier["MTLBuffer"] + 100 - 64);
  EXPECT_EQ(double_->resident, before + 100 - 64);
}

TEST_F(MetalDriverRuns, WorksWithoutResidencySets) {
  const auto runs = [&] {
    kernels_.clear();
    driver_.reset();
    open();
    const runtime::Function& axpy = kernel(axpy_source());
    const Address x = upload(ramp(32)), y = upload(ramp(32));
    add(axpy, x, y);
    submit();
    EXPECT_EQ(download<float>(y, 32)[1], 4);
    EXPECT_EQ(calls("addAllocations:count:"), 0);
    EXPECT_EQ(calls("commit"), 1);
    driver_->free(x);
    driver_->free(y);
  };
  double_->gives_residency_sets = false;
  runs();
  double_->gives_residency_sets = true;
  double_->system = {14, 0, 0};
  runs();
  double_->system = {15, 0, 0};
  double_->missing["removeAllocations:count:"] = true;
  runs();
}

TEST_F(MetalDriverRuns, TheFirstPlanIsCapturedOnRequest) {
  const std::string file = testing::TempDir() + "/hearth_first.gputrace";
  std::remove(file.c_str());
  double_->may_capture = true;
  driver_.reset();
  open(file);
  const runtime::Function& axpy = kernel(axpy_source());
  const runtime::Function& later = kernel(axpy_source("later"));
  const Address x = upload(ramp(32)), y = upload(ramp(32));
  driver_->copy_on_device(y, x, 128);  // a kernel of the driver's own
  add(axpy, x, y);
  add(axpy, x, y);
  EXPECT_FALSE(double_->is_capturing);
  submit();
  EXPECT_FALSE(double_->is_capturing);
  add(later, x, y);
  submit();
  EXPECT_EQ(download<float>(y, 32)[31], 4 * 32);
  const std::string& entry = double_->ran[1];
  EXPECT_EQ(double_->captured, (Lines{entry, entry}));
  EXPECT_NE(double_->ran[0], entry);
  EXPECT_EQ(calls("stopCapture"), 1);
  driver_->free(x);
  driver_->free(y);
  std::remove(file.c_str());
}

TEST_F(MetalDriverRuns, CapturesThatFailEnd) {
  const std::string file = testing::TempDir() + "/hearth_failed.gputrace";
  std::remove(file.c_str());
  double_->may_capture = true;
  driver_.reset();
  open(file);
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(ramp(32)), y = upload(ramp(16));
  add(axpy, x, y);
  error_of(ErrorCode::device, [&] { submit(); });
  EXPECT_FALSE(double_->is_capturing);
  kernels_.clear();
  driver_->free(x);
  driver_->free(y);
  driver_.reset();
  batch_.clear();
  open(file);  // which is there now
  const runtime::Function& again = kernel(axpy_source());
  const Address z = upload(ramp(32));
  add(again, z, z);
  const std::string said = error_of(ErrorCode::device, [&] { submit(); });
  EXPECT_TRUE(contains(said, "HEARTH_METAL_CAPTURE: no capture to " + file)) << said;
  EXPECT_TRUE(contains(said, "is there already")) << said;
  submit();  // goes on without
  driver_->free(z);
  driver_->wait();
  std::remove(file.c_str());
}

TEST_F(MetalDriverRuns, F64IsAnError) {
  runtime::KernelSource source;
  source.name = "wide";
  source.text = "void wide_add(device double* y, Ctx ctx) { y[ctx.gid.x] += 1.0; }";
  source.function = "wide_add";
  source.parameters = {{Kind::read_write, "double", "y"}};
  EXPECT_TRUE(contains(error_of(ErrorCode::unsupported, [&] { driver_->compile(source); }),
                       "Metal has no f64"));
}

}  // namespace
}  // namespace hearth::metal

// Which machines have devices, and what those without are told.
#include "devices/metal/register.h"

#include "devices/metal/metal_fixture.h"

namespace hearth::metal {
namespace {

class MetalRegister : public MetalDoubleTest {
 protected:
  std::vector<std::string> notes_without_device() {
    const gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE);
    EXPECT_TRUE(found.drivers.empty());
    return found.notes;
  }
};

TEST_F(MetalRegister, NoMetal) {
  const gpu::FoundDevices found = find_devices("/nowhere/libobjc.dylib");
  EXPECT_TRUE(found.drivers.empty());
  EXPECT_TRUE(contains(found.notes.front(), "/nowhere/libobjc.dylib")) << found.notes.front();
  EXPECT_TRUE(contains(found.notes.back(), "no Metal")) << found.notes.back();
}

TEST_F(MetalRegister, ALibraryThatIsNone) {
  const gpu::FoundDevices found = find_devices("libm.so.6");
  EXPECT_TRUE(contains(found.notes.back(), "lack objc_msgSend")) << found.notes.back();
}

TEST_F(MetalRegister, NoDevice) {
  double_->devices = 0;
  EXPECT_EQ(notes_without_device().back(), "Metal sees no device");
}

TEST_F(MetalRegister, OneDriverForEachDevice) {
  double_->devices = 2;
  const gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE);
  ASSERT_EQ(found.drivers.size(), 2u) << joined(found.notes);
  const runtime::Properties& properties = found.drivers[1]->properties();
  EXPECT_EQ(properties.name, "Apple M2 Max 1");
  EXPECT_EQ(properties.architecture, "applegpu_double");
  EXPECT_EQ(properties.memory, std::int64_t{8} << 30);
  EXPECT_EQ(properties.processors, 32);
  EXPECT_EQ(properties.max_threads, 1024);
  EXPECT_EQ(properties.thread_registers, 128);
  EXPECT_EQ(properties.per_clock.threadgroup_bytes, 64);
  EXPECT_EQ(properties.threadgroup_memory, 32 * 1024);
  EXPECT_TRUE(properties.unified);
  EXPECT_FALSE(properties.has_f64);
  EXPECT_FALSE(properties.has_tile_products);
  EXPECT_TRUE(properties.has_simdgroup_matrix);
  EXPECT_EQ(found.notes.back(), "device 1: Apple M2 Max 1, applegpu_double");
}

TEST_F(MetalRegister, OldSystem) {
  double_->system = {12, 6, 0};
  EXPECT_TRUE(contains(notes_without_device().back(), "too old; got one before macOS 13"));
}

TEST_F(MetalRegister, SystemsHaveTheirOwnMessages) {
  double_->system = {13, 0, 0};
  // What macOS 14 and 15 brought is not asked for.
  double_->missing = {{"architecture", true}, {"setMathMode:", true}};
  const gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE);
  ASSERT_EQ(found.drivers.size(), 1u) << joined(found.notes);
  EXPECT_EQ(found.drivers[0]->properties().architecture, "metal");
  EXPECT_TRUE(contains(found.drivers[0]->compiler_version(), "metal 3.0"));
  EXPECT_TRUE(contains(found.notes.back(), "bf16 is computed by kernels")) << found.notes.back();
}

TEST_F(MetalRegister, VersionsAreThoseOfTheProduct) {
  // As it is told to programs that were linked with an SDK before it.
  double_->system = {26, 1, 0};
  double_->told_system = SystemVersion{16, 0, 0};
  EXPECT_TRUE(
      contains(find_devices(HEARTH_METAL_DOUBLE).drivers.at(0)->compiler_version(), "metal 4.0"));
  EXPECT_EQ(system_name(), "macOS 26.1");
  double_->told_system.reset();
  double_->system = {15, 6, 1};
  EXPECT_TRUE(
      contains(find_devices(HEARTH_METAL_DOUBLE).drivers.at(0)->compiler_version(), "metal 3.2"));
  EXPECT_EQ(system_name(), "macOS 15.6.1");
  // Where it is not told, the newest that NSProcessInfo knows.
  double_->tells_product_version = false;
  EXPECT_EQ(find_devices(HEARTH_METAL_DOUBLE).drivers.size(), 1u);
  EXPECT_EQ(system_name(), "macOS 15.0");
}

TEST_F(MetalRegister, KernelsAreCompiledSideBySide) {
  double_->system = {13, 2, 0};
  EXPECT_EQ(find_devices(HEARTH_METAL_DOUBLE).drivers.size(), 1u);
  EXPECT_FALSE(double_->compiles_concurrently);
  double_->system = {13, 3, 0};
  EXPECT_EQ(find_devices(HEARTH_METAL_DOUBLE).drivers.size(), 1u);
  EXPECT_TRUE(double_->compiles_concurrently);
}

// As the runners of hosted CI are.
TEST_F(MetalRegister, VirtualMachinesAreToldApart) {
  double_->device_name = "Apple Paravirtual device";
  double_->family = 1005;
  double_->is_metal3 = false;
  EXPECT_TRUE(contains(notes_without_device().back(),
                       "Apple Paravirtual device, applegpu_double: the GPU of a virtual machine"));
  EXPECT_TRUE(contains(notes_without_device().back(), "HEARTH_METAL_ANY=1"));
  const gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE, "", MpsUse::off, true);
  ASSERT_EQ(found.drivers.size(), 1u) << joined(found.notes);
  EXPECT_FALSE(found.drivers[0]->properties().has_simdgroup_matrix);
  EXPECT_EQ(found.drivers[0]->argument_bytes(), 0);
  double_->family = 1004;
  EXPECT_TRUE(find_devices(HEARTH_METAL_DOUBLE, "", MpsUse::off, true).drivers.empty());
}

TEST_F(MetalRegister, MissingMessagesAreTold) {
  double_->missing["memoryBarrierWithScope:"] = true;
  const auto notes = notes_without_device();
  EXPECT_TRUE(
      contains(joined(notes), "-[MTLComputeCommandEncoder memoryBarrierWithScope:] is missing"))
      << joined(notes);
  // The encoder that was asked is not left open.
  EXPECT_EQ(double_->faults, Lines());
}

TEST_F(MetalRegister, OtherTypesAreTold) {
  double_->other_types["dispatchThreadgroups:threadsPerThreadgroup:"] = "v24@0:8^v16^v24";
  EXPECT_TRUE(contains(joined(notes_without_device()),
                       "has other types; got v@:^v^v, expected v@:{?=QQQ}{?=QQQ}"));
}

TEST_F(MetalRegister, OtherNamesForTheSameTypesDoNotMatter) {
  double_->other_types["dispatchThreadgroups:threadsPerThreadgroup:"] =
      "v64@0:8{MTLSize=QQQ}16{MTLSize=QQQ}40";
  double_->other_types["status"] = "q16@0:8";
  const gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE);
  EXPECT_EQ(found.drivers.size(), 1u);
  EXPECT_TRUE(contains(joined(found.notes), "status] has other types; got q@:, expected Q@:"));
}

TEST_F(MetalRegister, CapturesThatAreNotAllowedAreTold) {
  gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE, "plan.gputrace");
  EXPECT_EQ(found.drivers.size(), 1u);
  EXPECT_TRUE(contains(joined(found.notes), "MTL_CAPTURE_ENABLED=1")) << joined(found.notes);
  double_->may_capture = true;
  found = find_devices(HEARTH_METAL_DOUBLE, "plan.gputrace");
  EXPECT_FALSE(contains(joined(found.notes), "CAPTURE")) << joined(found.notes);
  double_->missing["stopCapture"] = true;
  found = find_devices(HEARTH_METAL_DOUBLE, "plan.gputrace");
  EXPECT_EQ(found.drivers.size(), 1u);
  EXPECT_TRUE(contains(joined(found.notes), "HEARTH_METAL_CAPTURE: this system has no capture"));
}

TEST_F(MetalRegister, OtherMakersGpus) {
  double_->unified = false;
  EXPECT_TRUE(contains(notes_without_device().back(), "no GPU of Apple's from the M1 on"));
  double_->unified = true;
  double_->family = 1006;
  EXPECT_TRUE(contains(notes_without_device().back(), "no GPU of Apple's from the M1 on"));
}

}  // namespace
}  // namespace hearth::metal

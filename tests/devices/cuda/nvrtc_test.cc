// The real compiler, without a card.
#include "devices/cuda/driver/compile/nvrtc.h"

#include <gtest/gtest.h>

#include <array>

#include "codegen/kernel_text.h"
#include "devices/cuda/affine_kernel.h"
#include "devices/cuda/fake_card.h"

namespace hearth::cuda {
namespace {

// a * b + c, and a struct of the dialect's kind passed by value.
constexpr const char* kText = R"(
struct P { float a; };
template <class T> T twice(T x) { return x + x; }
extern "C" __attribute__((global)) void madd(const float* __restrict__ x, float* __restrict__ y,
                                             const __grid_constant__ P p) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * p.a + twice(x[i]);
}
)";

std::string text_of(const std::vector<std::byte>& image) {
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

std::shared_ptr<const Nvrtc> opened(Places places, int driver_version,
                                    std::vector<std::string>& notes) {
  places.virtual_env = test_environment();
  return Nvrtc::open(places, driver_version, notes);
}

// Opens the compiler beside what `Base` sets up.
template <class Base>
class WithCompiler : public Base {
 protected:
  void SetUp() override {
    Base::SetUp();
    compiler_ = opened(only(""), 13000, notes_);
    if (compiler_ == nullptr) {
      GTEST_SKIP() << "no NVRTC: pip install -r requirements-test.txt";
    }
  }

  std::vector<std::string> notes_;
  std::shared_ptr<const Nvrtc> compiler_;
};

class CudaCompiler : public WithCompiler<testing::Test> {};

TEST_F(CudaCompiler, TellsItsVersion) {
  EXPECT_EQ(compiler_->version().rfind("nvrtc 1", 0), 0u) << compiler_->version();
  EXPECT_TRUE(contains(compiler_->version(), "--fmad=false"));
  EXPECT_TRUE(any_contains(notes_, "libnvrtc.so.13: opened"));
}

TEST_F(CudaCompiler, MachineCodeForCardsThatItKnows) {
  for (const int capability : {75, 80, 90, 120}) {
    const auto image = compiler_->compile(kText, "madd", capability);
    EXPECT_EQ(text_of(image).substr(1, 3), "ELF") << capability;
  }
}

TEST_F(CudaCompiler, TextForNewerCards) {
  const auto image = compiler_->compile(kText, "madd", 999);
  const std::string text = text_of(image);
  EXPECT_EQ(text.find('\0'), text.size() - 1);
  EXPECT_TRUE(contains(text, ".entry madd"));
  EXPECT_TRUE(contains(text, "mul.rn.f32")) << text;
  EXPECT_FALSE(contains(text, "fma.")) << "a * b + c is contracted";
  EXPECT_TRUE(contains(text, "ld.global.nc")) << "restricted pointers are not read-only";
}

TEST_F(CudaCompiler, ErrorHasTheCompilersWords) {
  const std::string message = error_of(ErrorCode::device, [&] {
    compiler_->compile("void f() { undefined_name(); }", "broken", 90);
  });
  EXPECT_TRUE(contains(message, "cuda: kernel broken does not compile for sm_90")) << message;
  EXPECT_TRUE(contains(message, "undefined_name")) << message;
  EXPECT_TRUE(contains(message, "broken.cu(1)")) << message;
}

TEST_F(CudaCompiler, RefusesCardsOlderThanItKnows) {
  EXPECT_TRUE(contains(
      error_of(ErrorCode::unsupported, [&] { compiler_->compile(kText, "madd", 20); }), "got"));
}

TEST_F(CudaCompiler, OldDriversGetTheNewerCompilerOnlyAtLast) {
  std::vector<std::string> notes;
  ASSERT_NE(opened(only("/nowhere"), 12080, notes), nullptr);
  EXPECT_EQ(notes.front(), "/nowhere/libnvrtc.so.12: no such file");
}

// From the dialect to machine code and into a driver, all but the card.
class CudaDialectOnFakeCard : public WithCompiler<FakeCard> {};

TEST_F(CudaDialectOnFakeCard, CompilesAndLoads) {
  CudaDriver driver(api_, 0, compiler_);
  EXPECT_EQ(driver.compiler_version(),
            compiler_->version() + " " + std::to_string(gpu::embedded_revision()));
  const auto image = driver.compile(affine());
  EXPECT_EQ(text_of(image).substr(1, 3), "ELF");
  EXPECT_EQ(driver.load(affine(), image)->name(), "affine_f32");
  runtime::KernelSource wrong = affine();
  wrong.function = "affine<nonsense>";
  EXPECT_TRUE(contains(error_of(ErrorCode::device, [&] { driver.compile(wrong); }), "nonsense"));
}

TEST_F(CudaDialectOnFakeCard, KernelsOfAProgramAreLoadedOnce) {
  CudaDriver driver(api_, 0, compiler_);
  const runtime::KernelSource one = affine();
  runtime::KernelSource other = affine();
  other.name = "other_f32";
  const std::vector<const runtime::KernelSource*> sources{&one, &other};
  EXPECT_EQ(driver.divide_among_programs(sources, 16),
            std::vector<std::vector<const runtime::KernelSource*>>{sources});
  const auto image = driver.compile_together(sources);
  const auto count = [&](const char* call) { return fake_->calls[call]; };
  auto first = driver.load(one, image);
  auto second = driver.load(other, image);
  EXPECT_EQ(second->name(), "other_f32");
  EXPECT_EQ(count("cuModuleLoadDataEx"), 1);
  first.reset();
  EXPECT_EQ(count("cuModuleUnload"), 0);
  second.reset();
  EXPECT_EQ(count("cuModuleUnload"), 1);
  first = driver.load(one, image);
  EXPECT_EQ(count("cuModuleLoadDataEx"), 2);
}

// An image from a damaged cache must not reach the driver, which reads as far as it says itself.
class CudaCutImages : public WithCompiler<FakeCard> {};

TEST_F(CudaCutImages, AreRefused) {
  runtime::KernelSource source;
  source.name = "madd";
  for (const int capability : {90, 999}) {
    const auto image = compiler_->compile(kText, "madd", capability);
    if (capability == 90) {
      EXPECT_NE(driver_->load(source, image), nullptr);
    }
    for (std::size_t part = 0; part < 64; ++part) {
      const std::size_t bytes = image.size() * part / 64;
      EXPECT_TRUE(contains(error_of(ErrorCode::corrupt_file,
                                    [&] { driver_->load(source, std::span(image).first(bytes)); }),
                           "not whole"))
          << capability << ": " << bytes << " of " << image.size();
    }
  }
}

}  // namespace
}  // namespace hearth::cuda

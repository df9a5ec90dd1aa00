// Calls from threads with the smallest stack that hearth/c_api.h promises.
#include <pthread.h>

#include <functional>

#include "c_api/c_arrays.h"
#include "sanitizers.h"

namespace hearth::c_api::testing {
namespace {

// What no release is takes more.
#if HEARTH_LARGE_FRAMES
constexpr std::size_t kSmallest = std::size_t{1} << 20;
#else
constexpr std::size_t kSmallest = std::size_t{64} << 10;
#endif

void run_on_small_stack(std::function<void()> body) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kSmallest), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* given) -> void* {
                  (*static_cast<std::function<void()>*>(given))();
                  return nullptr;
                },
                &body),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(SmallStacks, ArraysOfSomeSize) {
  const OnCpu on_cpu;
  run_on_small_stack([] {
    const std::int64_t shape[] = {200, 300};
    const hearth_parameter parameters[] = {{"shape", hearth_of_ints(shape, 2)}};
    hearth_array drawn = {0};
    EXPECT_EQ(hearth_apply(hearth_function_named("random_normal"), nullptr, 0, parameters, 1,
                           &drawn, nullptr, 1, nullptr),
              HEARTH_OK);
    const Held x(drawn);
    for (const std::int64_t dtype : {HEARTH_F32, HEARTH_F64, HEARTH_BF16, HEARTH_U8}) {
      const Held y = apply("cast", {hearth_of_array(x.handle)}, {{"dtype", hearth_of_int(dtype)}});
      const Held turned = apply("transpose", {hearth_of_array(y.handle)});
      const Held sum = apply("add", {hearth_of_array(turned.handle), hearth_of_int(1)});
      for (const std::int64_t axis : {0, 1}) {
        const Held sums =
            apply("sum", {hearth_of_array(sum.handle)}, {{"axes", hearth_of_ints(&axis, 1)}});
        hearth_eval(&sums.handle, 1);
      }
      EXPECT_EQ(hearth_eval(&turned.handle, 1), HEARTH_OK) << hearth_error_message();
    }
    const Held square =
        apply("matmul", {hearth_of_array(x.handle),
                         hearth_of_array(apply("transpose", {hearth_of_array(x.handle)}).handle)});
    EXPECT_EQ(values_of(square).size(), 40000u);
  });
}

TEST(SmallStacks, LongChains) {
  const OnCpu on_cpu;
  run_on_small_stack([] {
    const Held x = floats({1, 2, 3, 4}, {4});
    hearth_array leaf = {0};
    ASSERT_EQ(hearth_array_require_grad(x.handle, &leaf), HEARTH_OK);
    const Held held(leaf);
    Held y = apply("mul", {hearth_of_array(leaf), hearth_of_int(1)});
    for (int i = 0; i < 10000; ++i) {
      y = apply("tanh", {hearth_of_array(y.handle)});
    }
    const Held sum = apply("sum", {hearth_of_array(y.handle)});
    for (const std::uint32_t flags : {HEARTH_RETAIN | HEARTH_CREATE_GRAPH, 0}) {
      hearth_gradients gradients = {0};
      ASSERT_EQ(hearth_backward(sum.handle, static_cast<std::uint32_t>(flags), &gradients),
                HEARTH_OK)
          << hearth_error_message();
      hearth_array gradient = {0};
      EXPECT_EQ(hearth_gradients_get(gradients, leaf, &gradient), HEARTH_OK);
      EXPECT_EQ(values_of(Held(gradient)).size(), 4u);
      EXPECT_EQ(hearth_gradients_release(gradients), HEARTH_OK);
    }
  });
}

}  // namespace
}  // namespace hearth::c_api::testing

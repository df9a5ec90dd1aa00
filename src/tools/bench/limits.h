// What the machine can do: memory limits, loops fused by hand, and the vector math of the C
// library.
//
// Everything is written for the widest registers that the processor has, or in plain C++ where
// there are none that are known. Counts are multiples of 16. Work is shared by as many threads as
// the worker pool may use.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hearth/array.h"
#include "tools/bench/bench.h"

namespace hearth::tools {

// Floats in pages of their own (huge ones where the system gives them), filled uniformly in
// [low, high) so that every page is there.
class Floats {
 public:
  Floats(std::int64_t count, double low, double high);
  ~Floats();
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  float* data() noexcept { return data_; }
  const float* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }
  std::int64_t bytes() const noexcept { return size_ * 4; }

 private:
  float* data_;
  std::int64_t size_;
};

// The same values as an array on the CPU.
Array to_array(const Floats& values, const Shape& shape);

// "AVX-512", "AVX2" or "plain C++".
std::string loops_name();

enum class Store : std::uint8_t { ordinary, streaming };

enum class Reading : std::uint8_t { forward, four_streams };

void read_memory(const Floats& a, Reading reading);
// Which of them is faster depends on the machine.
std::vector<Contestant> both_readings(const Floats& a);
void copy_memory(Floats& out, const Floats& a, Store store);
// out = a + b
void add_memory(Floats& out, const Floats& a, const Floats& b, Store store);
// out = (a*b+c)*d-a+0.5*c
void polynomial_loop(Floats& out, const Floats& a, const Floats& b, const Floats& c,
                     const Floats& d, Store store);
// out = tanh(a*b+1.5)*sigmoid(a-b)+exp(-a*a)*0.5, by libmvec where there is one.
void transcendental_loop(Floats& out, const Floats& a, const Floats& b, Store store);

// A function of libmvec ("expf", "tanhf", ...) over arrays; nothing where there is none.
bool has_vector_math(const std::string& function);
void vector_math(const std::string& function, Floats& out, const Floats& a);

// The same loop with ordinary and with streaming stores: which is faster depends on the size.
std::vector<Contestant> both_stores(const std::string& name, std::function<void(Store)> loop);

}  // namespace hearth::tools

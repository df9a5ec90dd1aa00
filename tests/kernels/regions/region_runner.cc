#include "kernels/regions/region_runner.h"

#include <algorithm>
#include <limits>

namespace hearth::gpu_test {
namespace {

using region_test::Scalar;
using region_test::wrapped;

// The integer that stands where a float does when all floats of a dtype are counted upwards.
std::int64_t rank_of(const std::byte* p, DType dtype) {
  std::uint64_t word = 0;
  const auto size = static_cast<std::size_t>(size_of(dtype));
  std::memcpy(&word, p, size);
  const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
  const auto magnitude = static_cast<std::int64_t>(word & (sign - 1));
  return (word & sign) != 0 ? -magnitude : magnitude;
}

}  // namespace

bool same_element(const std::byte* a, const std::byte* b, DType dtype, int ulps) {
  if (std::memcmp(a, b, static_cast<std::size_t>(size_of(dtype))) == 0) return true;
  if (!is_float(dtype)) return false;
  if (std::isnan(region_test::load(a, dtype).f)) return std::isnan(region_test::load(b, dtype).f);
  if (std::isnan(region_test::load(b, dtype).f)) return false;
  return std::abs(rank_of(a, dtype) - rank_of(b, dtype)) <= ulps;
}

std::string describe(const Region& region) {
  std::string text = "shape " + to_string(region.shape) + (region.exact ? " exact\n" : "\n");
  for (const RegionInput& input : region.inputs) {
    text += "input " + std::string(name(input.dtype)) + " " + to_string(input.strides) + "\n";
  }
  for (const RegionInstruction& instruction : region.instructions) {
    text += std::string(instruction.op->name.text) + " ";
  }
  if (region.reduction.op != nullptr) {
    text += std::string(region.reduction.op->name.text) + " of " +
            std::string(name(region.reduction.dtype)) + " over " +
            std::to_string(region.reduction.axes);
  }
  return text;
}

Scalar RegionRunner::element(DType dtype, Values values) {
  if (dtype == DType::bool_) return {0, pick(2)};
  const int kind = pick(16);
  if (values == Values::counts) {
    const int x = info(dtype).is_signed ? pick(17) - 8 : pick(9);
    return is_float(dtype) ? Scalar{static_cast<double>(x), 0} : Scalar{0, x};
  }
  if (is_float(dtype)) {
    if (values == Values::powers) {
      const double x = kind == 0 ? 2 : kind == 1 ? 0.5 : 1;
      return {pick(2) == 0 ? x : -x, 0};
    }
    if (kind == 0) return {pick(2) == 0 ? 0.0 : -0.0, 0};
    if (kind == 1 && values == Values::any) return {std::nan(""), 0};
    if (kind == 2 && values == Values::any) return {pick(2) == 0 ? INFINITY : -INFINITY, 0};
    const double unit = static_cast<double>(random_()) / 4294967296.0 - 0.5;
    const int exponent = values == Values::any && kind < 6 ? pick(60) - 45 : pick(6) - 2;
    std::byte buffer[8];
    double x = std::ldexp(unit, exponent);
    if (kind > 13) x = std::nearbyint(x);
    region_test::store(buffer, dtype, {x, 0});
    return region_test::load(buffer, dtype);
  }
  if (kind == 0) return wrapped(0, dtype);
  if (kind < 3) return wrapped(std::numeric_limits<std::int64_t>::min() >> pick(60), dtype);
  if (kind < 6) {
    return wrapped(static_cast<std::int64_t>((std::uint64_t{random_()} << 32) | random_()), dtype);
  }
  return wrapped(pick(41) - 20, dtype);
}

Operand RegionRunner::operand(const Shape& shape, const Strides& strides, DType dtype,
                              Values values, std::int64_t shift) {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t reach = strides[i] * std::max<std::int64_t>(shape[i] - 1, 0);
    (reach < 0 ? lowest : highest) += reach;
  }
  const std::int64_t size = size_of(dtype);
  const std::int64_t count = element_count(shape) == 0 ? 1 : shift + highest - lowest + 1;
  Operand made{Guarded(count * size), count * size, (shift - lowest) * size};
  for (std::int64_t i = 0; i < count; ++i) {
    region_test::store(made.memory.data() + i * size, dtype, element(dtype, values));
  }
  return made;
}

void RegionRunner::launch(const Region& region, const std::vector<Address>& operands,
                          const std::vector<std::uint64_t>& dynamics) {
  const RegionImplementation& kernel = gpu::kRegions;
  const Prepared prepared = kernel.prepare(lower(region));
  const auto words = static_cast<std::int64_t>(dynamics.size() * sizeof(std::uint64_t));
  const Address block = driver_.allocate(std::max<std::int64_t>(words, 8));
  if (words > 0) driver_.copy_to_device(block, dynamics.data(), words);
  const Address workspace =
      prepared.workspace_bytes > 0 ? driver_.allocate(prepared.workspace_bytes) : nullptr;
  runtime::CommandBatch batch;
  runtime::Encoder encoder(registry_, batch, driver_.properties(), block, words);
  Launch launch{};
  launch.state = prepared.state.get();
  launch.operands = operands.data();
  launch.operand_count = static_cast<int>(operands.size());
  launch.workspace = workspace;
  launch.dynamics = dynamics.data();
  launch.dynamic_count = static_cast<int>(dynamics.size());
  launch.encoder = &encoder;
  kernel.launch(launch);
  driver_.submit(batch.commands());
  driver_.wait();
  driver_.free(block);
  if (workspace != nullptr) driver_.free(workspace);
}

void RegionRunner::check(const Region& region, const Options& options) {
  std::vector<Operand> inputs;
  for (std::size_t i = 0; i < region.inputs.size(); ++i) {
    const std::int64_t shift = i < options.shifts.size() ? options.shifts[i] : 0;
    inputs.push_back(operand(region.shape, region.inputs[i].strides, region.inputs[i].dtype,
                             options.values, shift));
  }
  std::vector<std::uint64_t> dynamics;
  for (const RegionScalar& scalar : region.scalars) {
    const Scalar x = element(scalar.dtype, options.values);
    dynamics.resize(std::max(dynamics.size(), static_cast<std::size_t>(scalar.dynamic) + 1));
    dynamics[static_cast<std::size_t>(scalar.dynamic)] = is_float(scalar.dtype)
                                                             ? std::bit_cast<std::uint64_t>(x.f)
                                                             : static_cast<std::uint64_t>(x.i);
  }

  struct Result {
    DType dtype;
    std::int64_t count;
    int taken;
  };
  std::vector<Result> results;
  for (std::size_t o = 0; o < region.outputs.size(); ++o) {
    results.push_back({region.outputs[o].dtype, element_count(region.shape),
                       o < options.taken.size() ? options.taken[o] : -1});
  }
  if (region.reduction.op != nullptr) {
    std::int64_t count = 1;
    for (int i = 0; i < region.shape.rank(); ++i) {
      if ((region.reduction.axes >> i & 1u) == 0) count *= region.shape[i];
    }
    results.push_back({region.reduction.dtype, count, -1});
  }

  // The device first: the CPU may write over the inputs on the host.
  std::vector<Address> blocks;
  std::vector<Address> addresses;
  for (Operand& input : inputs) {
    blocks.push_back(driver_.allocate(input.bytes));
    driver_.copy_to_device(blocks.back(), input.memory.data(), input.bytes);
    addresses.push_back(blocks.back() + input.first);
  }
  for (const Result& result : results) {
    if (result.taken >= 0) {
      addresses.push_back(addresses[static_cast<std::size_t>(result.taken)]);
      continue;
    }
    const std::int64_t bytes = std::max<std::int64_t>(result.count * size_of(result.dtype), 1);
    blocks.push_back(driver_.allocate(bytes));
    driver_.fill(blocks.back(), 0xa5, bytes);
    addresses.push_back(blocks.back());
  }
  ASSERT_NO_THROW(launch(region, addresses, dynamics)) << describe(region);

  std::vector<Guarded> wanted;
  std::vector<std::byte*> host;
  for (Operand& input : inputs) host.push_back(input.at());
  for (const Result& result : results) {
    wanted.emplace_back(result.count * size_of(result.dtype));
    host.push_back(result.taken >= 0 ? inputs[static_cast<std::size_t>(result.taken)].at()
                                     : wanted.back().data());
  }
  region_test::run_region(region, host, dynamics);

  for (std::size_t r = 0; r < results.size(); ++r) {
    const Result& result = results[r];
    const std::int64_t size = size_of(result.dtype);
    std::vector<std::byte> got(static_cast<std::size_t>(result.count * size));
    if (got.empty()) continue;
    driver_.copy_to_host(got.data(), addresses[inputs.size() + r],
                         static_cast<std::int64_t>(got.size()));
    const std::byte* want = host[inputs.size() + r];
    int shown = 0;
    for (std::int64_t i = 0; i < result.count && shown < 3; ++i) {
      const std::byte* mine = got.data() + i * size;
      if (same_element(mine, want + i * size, result.dtype, options.ulps)) continue;
      ++shown;
      const Scalar a = region_test::load(mine, result.dtype);
      const Scalar b = region_test::load(want + i * size, result.dtype);
      ADD_FAILURE() << describe(region) << "\nresult " << r << " (" << name(result.dtype)
                    << ") element " << i << ": got " << (is_float(result.dtype) ? a.f : double(a.i))
                    << ", expected " << (is_float(result.dtype) ? b.f : double(b.i));
    }
  }
  for (const Address block : blocks) driver_.free(block);
}

}  // namespace hearth::gpu_test

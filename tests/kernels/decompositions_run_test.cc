// Factorizations by a vendor's library, on a simulator by plain loops in its place, against what
// they multiply to and what the CPU says: with matrices in any layout, that have no factors, or
// elements that are not finite.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "devices/gpu/gpu_device.h"
#include "error_text.h"
#include "hearth/device.h"
#include "hearth/ops.h"
#include "hearth/ops/decompositions.h"
#include "machines/sim/sim_library.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

enum class Way : std::uint8_t { simulator, cards };

std::vector<Device> factor_devices(Way way) {
  if (way == Way::cards) {
    std::vector<Device> found;
    for (const Device& device : Device::all()) {
      if (device.name().starts_with("cuda")) found.push_back(device);
    }
    return found;
  }
  // Devices live as long as the process.
  static const Device library(new gpu::GpuDevice("sim", 8, std::make_unique<sim::LibraryDriver>()));
  return {library};
}

// Relative to the largest element of matrices of up to 150 rows.
double factor_share(DType dtype) { return dtype == DType::f64 ? 2e-13 : 1e-4; }

void expect_product(const Array& got, const Array& want, const std::string& what) {
  expect_within(got.to_doubles(), want.to_doubles(), factor_share(want.dtype()), what, 1e-30);
}
void expect_orthonormal(const Array& columns, const std::string& what) {
  const Array products = matmul(transpose(columns), columns);
  const Array one = eye(columns.shape(-1), columns.dtype(), columns.device());
  expect_product(products, expand(one, products.shape()), what);
}
bool all_nan(const Array& x) {
  for (const double value : x.to_doubles()) {
    if (!std::isnan(value)) return false;
  }
  return true;
}
bool none_nan(const Array& x) {
  for (const double value : x.to_doubles()) {
    if (std::isnan(value)) return false;
  }
  return true;
}

class DecompositionsRun : public ::testing::TestWithParam<std::tuple<Way, DType>> {
 protected:
  // Of a factorization, whose kernels are to run: on cards these have the names of the library's.
  template <class Work>
  void expect_library(std::string_view kernel, Work work) {
    const std::string name =
        "library_" + std::string(kernel) + "_" + std::string(hearth::name(dtype()));
    const std::string_view all[] = {name};
    hearth::testing::expect_ran(all, work);
  }
  static Way way() { return std::get<0>(GetParam()); }
  static DType dtype() { return std::get<1>(GetParam()); }

  // Of extents that a library gets, alone and in batches, dense and turned.
  static std::vector<Array> matrices(const Device& device, const std::vector<Shape>& shapes) {
    std::vector<Array> all;
    for (const Shape& shape : shapes) {
      const Array x = to_device(random_array(shape, dtype(), -1, 1, 3), device);
      const Array turned = transpose(contiguous(transpose(x)));
      // The simulator is slow: half of them will do.
      if (way() == Way::cards || all.size() % 2 == 0) all.push_back(x);
      if (way() == Way::cards || all.size() % 2 == 1) all.push_back(turned);
    }
    return all;
  }
  // Whether results are asked for alone, too: on the simulator of one matrix.
  static bool has_parts(const Array& x) {
    return way() == Way::cards || x.shape() == Shape({64, 64});
  }
  // The simulator's loops shift a matrix by more than its eigenvalues, which costs digits.
  static double eigen_share() { return factor_share(dtype()) * (way() == Way::simulator ? 10 : 1); }
  static void expect_eigen(const Array& got, const Array& want, const std::string& what) {
    expect_within(got.to_doubles(), want.to_doubles(), eigen_share(), what, 1e-30);
  }
  static Array definite(const Array& x) {
    const Array one = eye(x.shape(-1), x.dtype(), x.device());
    return add(matmul(x, transpose(x)), one);
  }
};

const std::vector<Shape> kSquares = {{64, 64}, {65, 65}, {2, 128, 128}};
const std::vector<Shape> kAny = {{64, 64}, {90, 70}, {65, 80}, {2, 130, 128}, {2, 128, 150}};
// The simulator is slow: less of all, just above the thresholds, and of what takes it longest no
// batches, which are in a test below.
const std::vector<Shape> kFewSquares = {{64, 64}, {2, 128, 128}};
const std::vector<Shape> kFew = {{64, 64}, {70, 64}, {64, 80}, {2, 130, 128}};
const std::vector<Shape> kSmallSquares = {{64, 64}, {65, 65}};
const std::vector<Shape> kSmall = {{64, 64}, {70, 64}, {64, 80}};

TEST_P(DecompositionsRun, Cholesky) {
  for (const Device& device : factor_devices(way())) {
    for (const Array& each : matrices(device, way() == Way::cards ? kSquares : kFewSquares)) {
      const Array x = definite(each);
      // Above the diagonal anything may be.
      const Array half = add(tril(x), triu(full_like(x, 1e30), 1));
      const std::string what = device.name() + " " + to_string(x.shape());
      Array l;
      expect_library("cholesky", [&] { l = cholesky(half), l.eval(); });
      expect_product(matmul(l, transpose(l)), x, what);
      EXPECT_EQ(triu(l, 1).to_doubles(), zeros_like(l).to_doubles()) << what;
      EXPECT_TRUE(all_nan(cholesky(neg(x)))) << what;
    }
  }
}

TEST_P(DecompositionsRun, Lu) {
  for (const Device& device : factor_devices(way())) {
    for (const Array& x : matrices(device, way() == Way::cards ? kAny : kFew)) {
      const std::string what = device.name() + " " + to_string(x.shape());
      std::array<Array, 3> parts;
      expect_library("lu", [&] { parts = lu(x), parts[0].eval(); });
      const auto& [p, l, u] = parts;
      expect_product(matmul(p, matmul(l, u)), x, what);
      for (const double value : l.to_doubles()) EXPECT_LE(std::abs(value), 1) << what;
      if (x.shape(-1) != x.shape(-2)) continue;
      const Array host = to_device(x, Device::cpu());
      EXPECT_EQ(slogdet(x).first.to_doubles(), slogdet(host).first.to_doubles()) << what;
      expect_within(slogdet(x).second, slogdet(host).second, factor_share(dtype()), what);
      const Array b = to_device(random_array({x.shape(-1), 5}, dtype(), -1, 1, 6), device);
      const Array y = solve(definite(x), b);
      expect_product(matmul(definite(x), y), expand(b, y.shape()), what);
    }
    // A row that another repeats: the last pivot is 0, or all but that.
    const Array x = to_device(random_array({70, 70}, dtype(), -1, 1, 8), device);
    const Array none = mul(x, 0.0);
    EXPECT_EQ(det(none).item(), 0);
    EXPECT_EQ(slogdet(none).first.item(), 0);
    EXPECT_EQ(slogdet(none).second.item(), -kInf);
    EXPECT_EQ(lu_decomposition(none).first.to_doubles(), none.to_doubles());
    const Array column = cat({narrow(x, 1, 0, 20), narrow(none, 1, 0, 1), narrow(x, 1, 21, 49)}, 1);
    EXPECT_EQ(det(column).item(), 0);
    const auto [p, l, u] = lu(column);
    expect_product(matmul(p, matmul(l, u)), column, "a column of 0");
    bool finite = true;
    for (const double value : inverse(column).to_doubles()) finite = finite && std::isfinite(value);
    EXPECT_FALSE(finite);
  }
}

TEST_P(DecompositionsRun, Triangles) {
  for (const Device& device : factor_devices(way())) {
    for (const Array& each : matrices(device, way() == Way::cards ? kSquares : kFewSquares)) {
      const std::int64_t n = each.shape(-1);
      const Array one = eye(n, dtype(), device);
      const Array x = add(div(each, static_cast<double>(n)), mul(one, 2.0));
      Shape sides = each.shape();
      sides[sides.rank() - 1] = 3;
      const Array b = to_device(random_array(sides, dtype(), -1, 1, 5), device);
      for (const bool upper : {false, true}) {
        for (const bool unit : {false, true}) {
          const std::string what = device.name() + " " + to_string(x.shape());
          Array read = upper ? triu(x, unit ? 1 : 0) : tril(x, unit ? -1 : 0);
          // What is not read is no NaN.
          const Array other =
              sub(full_like(x, 1.0), upper ? triu(full_like(x, 1.0), unit ? 1 : 0)
                                           : tril(full_like(x, 1.0), unit ? -1 : 0));
          const Array given = where(greater(other, 0.5), kNan, x);
          Array y;
          expect_library("triangular_solve", [&] {
            y = triangular_solve(given, b, upper, unit);
            y.eval();
          });
          if (unit) read = add(read, one);
          expect_product(matmul(read, y), b, what);
        }
      }
      // A column of b alone has what is not finite in it.
      const Array marked = cat({narrow(b, -1, 0, 2), mul(narrow(b, -1, 2, 1), kNan)}, -1);
      const Array y = triangular_solve(tril(x), marked);
      EXPECT_TRUE(none_nan(narrow(y, -1, 0, 2)));
      EXPECT_TRUE(all_nan(narrow(y, -1, 2, 1)));
    }
  }
}

TEST_P(DecompositionsRun, Qr) {
  for (const Device& device : factor_devices(way())) {
    for (const Array& x : matrices(device, way() == Way::cards ? kAny : kSmall)) {
      const std::string what = device.name() + " " + to_string(x.shape());
      for (const bool reduced : {true, false}) {
        std::pair<Array, Array> parts;
        expect_library("qr_columns", [&] { parts = qr(x, reduced), parts.first.eval(); });
        const auto& [q, r] = parts;
        expect_product(matmul(q, r), x, what);
        expect_orthonormal(q, what);
        EXPECT_EQ(tril(r, -1).to_doubles(), zeros_like(r).to_doubles()) << what;
        if (has_parts(x)) expect_product(qr(x, reduced).second, r, what);
      }
    }
  }
}

// Of largest magnitude is one that is not negative.
void expect_signs(const Array& columns, const std::string& what) {
  const Array host = to_device(columns, Device::cpu());
  EXPECT_EQ(max(host, {-2}).to_doubles(), max(abs(host), {-2}).to_doubles()) << what;
}

TEST_P(DecompositionsRun, Eigh) {
  for (const Device& device : factor_devices(way())) {
    for (const Array& each : matrices(device, way() == Way::cards ? kSquares : kSmallSquares)) {
      const Array x = add(each, transpose(each));
      const Array half = add(tril(x), triu(full_like(x, 1e30), 1));
      const std::string what = device.name() + " " + to_string(x.shape());
      std::pair<Array, Array> parts;
      expect_library("eigh", [&] { parts = eigh(half), parts.second.eval(); });
      const auto& [w, v] = parts;
      expect_eigen(matmul(mul(v, unsqueeze(w, {-2})), transpose(v)), x, what);
      expect_orthonormal(v, what);
      expect_signs(v, what);
      if (has_parts(x)) expect_eigen(eigvalsh(half), w, what);
      expect_eigen(w, eigvalsh(to_device(x, Device::cpu())), what);
    }
  }
}

TEST_P(DecompositionsRun, Svd) {
  for (const Device& device : factor_devices(way())) {
    for (const Array& x : matrices(device, way() == Way::cards ? kAny : kSmall)) {
      const std::string what = device.name() + " " + to_string(x.shape());
      std::array<Array, 3> parts;
      expect_library("svd", [&] { parts = svd(x), parts[0].eval(); });
      const auto& [u, s, vh] = parts;
      expect_product(matmul(mul(u, unsqueeze(s, {-2})), vh), x, what);
      expect_orthonormal(u, what);
      expect_orthonormal(transpose(vh), what);
      expect_signs(x.shape(-2) < x.shape(-1) ? u : transpose(vh), what);
      if (has_parts(x)) expect_product(svdvals(x), s, what);
      expect_product(s, svdvals(to_device(x, Device::cpu())), what);
      if (has_parts(x)) expect_product(svd(x)[2], vh, what);
    }
  }
}

// The other matrices of a batch have their factors.
TEST_P(DecompositionsRun, WhatIsNotFiniteSpoilsItsMatrix) {
  constexpr std::int64_t kN = 128;
  for (const Device& device : factor_devices(way())) {
    for (const double bad : {kNan, kInf, -kInf}) {
      if (way() == Way::simulator && bad != kInf) continue;  // seconds each
      // On the simulator almost diagonal, of which its loops have the factors soon.
      const double share = way() == Way::simulator ? 1e-3 : 1;
      const Array noise = mul(random_array({2, kN, kN}, DType::f64, -1, 1, 7), share);
      Values values = add(noise, diag(arange(1, kN + 1, 1, DType::f64))).to_doubles();
      values[kN * kN - 1] = bad;
      const Array x = to_device(array(values, {2, kN, kN}, dtype()), device);
      const auto poisoned = [&](const Array& y, const char* what) {
        EXPECT_TRUE(all_nan(narrow(y, 0, 0, 1))) << what;
        EXPECT_TRUE(none_nan(narrow(y, 0, 1, 1))) << what;
      };
      const auto [q, r] = qr(x);
      poisoned(q, "q");
      poisoned(r, "r");
      const auto [u, s, vh] = svd(x);
      poisoned(u, "u");
      poisoned(s, "s");
      poisoned(vh, "vh");
      const auto [w, v] = eigh(x);
      poisoned(w, "w");
      poisoned(v, "v");
      poisoned(slogdet(x).second, "slogdet");
      const Array b = to_device(ones({kN, 2}, dtype()), device);
      poisoned(solve(x, b), "solve");
      poisoned(triangular_solve(x, b), "triangular_solve");
      const auto [packed, rows] = lu_decomposition(x);
      poisoned(packed, "lu_decomposition");
      EXPECT_EQ(narrow(rows, 0, 0, 1).to_doubles(), arange(0, kN).to_doubles());
      const Array definite = expand(mul(eye(kN, dtype(), device), 2.0), {1, kN, kN});
      poisoned(cholesky(cat({narrow(x, 0, 0, 1), definite}, 0)), "cholesky");
    }
  }
}

// As large and as small as the dtype has them.
TEST_P(DecompositionsRun, BadlyScaledMatrices) {
  for (const Device& device : factor_devices(way())) {
    if (way() == Way::simulator) continue;  // its loops are not made for them
    const Array base = to_device(random_array({64, 64}, dtype(), -1, 1, 9), device);
    for (const double scale : dtype() == DType::f64 ? std::vector<double>{1e200, 1e-250}
                                                    : std::vector<double>{1e25, 1e-30}) {
      const std::string what = device.name() + " " + std::to_string(scale);
      const Array x = mul(base, scale);
      const auto [q, r] = qr(x);
      expect_product(matmul(q, r), x, what + " qr");
      const auto [u, s, vh] = svd(x);
      expect_product(matmul(mul(u, unsqueeze(s, {-2})), vh), x, what + " svd");
      const Array sym = add(x, transpose(x));
      const auto [w, v] = eigh(sym);
      expect_product(matmul(mul(v, unsqueeze(w, {-2})), transpose(v)), sym, what + " eigh");
      const auto [p, l, upper] = lu(x);
      expect_product(matmul(p, matmul(l, upper)), x, what + " lu");
    }
  }
}

// Of a rank below its extents: the other vectors are of length 1 as well.
TEST_P(DecompositionsRun, MatricesOfLowRank) {
  for (const Device& device : factor_devices(way())) {
    if (way() == Way::simulator) continue;  // its loops are not made for them
    const Array column = to_device(random_array({90, 1}, dtype(), -1, 1, 9), device);
    const Array row = to_device(random_array({1, 70}, dtype(), -1, 1, 10), device);
    const Array one = matmul(column, row);
    for (const Array& x : {one, mul(one, 0.0), full_like(one, 1.0), transpose(one)}) {
      const std::string what = device.name() + " " + to_string(x.shape());
      const auto [q, r] = qr(x);
      expect_product(matmul(q, r), x, what + " qr");
      expect_orthonormal(q, what + " q");
      const auto [u, s, vh] = svd(x);
      expect_product(matmul(mul(u, unsqueeze(s, {-2})), vh), x, what + " svd");
      expect_orthonormal(u, what + " u");
      expect_orthonormal(transpose(vh), what + " vh");
      const Array square = matmul(x, transpose(x));
      const auto [w, v] = eigh(square);
      expect_product(matmul(mul(v, unsqueeze(w, {-2})), transpose(v)), square, what + " eigh");
      expect_orthonormal(v, what + " v");
    }
  }
}

// A plan that runs again does not wait for a graph.
TEST_P(DecompositionsRun, AgainAndAgain) {
  for (const Device& device : factor_devices(way())) {
    const Array x = definite(to_device(random_array({64, 64}, dtype(), -1, 1, 9), device));
    const Values first = cholesky(x).to_doubles();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(cholesky(x).to_doubles(), first);
  }
}

// A simulator whose library asks for much workspace.
class RoomyLibrary final : public sim::LibraryDriver {
 public:
  static constexpr std::int64_t kWorkspace = std::int64_t{32} << 20;
  runtime::LibraryTraits libraries() const override {
    runtime::LibraryTraits traits = sim::LibraryDriver::libraries();
    traits.factorizations.workspace = [](const runtime::LibraryCall&) { return kWorkspace; };
    return traits;
  }
};

// The workspace is part of the plan: without memory what needs it fails alone.
TEST(DecompositionsWorkspace, WithoutMemoryItFailsAlone) {
  auto owned = std::make_unique<RoomyLibrary>();
  RoomyLibrary& driver = *owned;
  static const Device device(new gpu::GpuDevice("sim", 9, std::move(owned)));
  const Array base = to_device(random_array({64, 64}, DType::f64, -1, 1, 3), device);
  const Array x = add(matmul(base, transpose(base)), eye(64, DType::f64, device)).eval();
  const double trace = sum(diag(to_device(x, Device::cpu()))).item();
  const Array lost = cholesky(x), kept = sum(diag(x));
  driver.set_memory_limit(driver.memory_in_use() + RoomyLibrary::kWorkspace / 2);
  check::error_of(ErrorCode::out_of_memory, [&] { lost.eval(); });
  EXPECT_NEAR(kept.item(), trace, 1e-9 * trace);
  driver.set_memory_limit(std::int64_t{1} << 30);
  const Array l = cholesky(x);
  expect_product(matmul(l, transpose(l)), x, "there is memory again");
}

// A plan that no executable holds, on addresses that change: it is queued each time, with nothing
// merged on the way. The sums around it would be.
TEST(DecompositionsReplay, PlansWithALibraryAreQueued) {
  auto* const gpu = new gpu::GpuDevice("sim", 10, std::make_unique<sim::LibraryDriver>());
  const Device device(gpu);
  const Array x = to_device(eye(64, DType::f64), device).eval();
  std::vector<Array> ends;
  for (int i = 0; i < 6; ++i) ends.push_back(to_device(full({5}, i, DType::f64), device).eval());
  std::vector<Array> held;  // each result lies somewhere else
  const auto run = [&] {
    Array y = sum(cholesky(x));
    for (const Array& end : ends) y = add(y, sum(end));
    held.push_back(y.eval());
  };
  run();
  const gpu::ReplayStatistics before = gpu->replays();
  const std::int64_t compiled = gpu->registry()->statistics().compiled;
  for (int i = 0; i < 3; ++i) run();
  const gpu::ReplayStatistics after = gpu->replays();
  EXPECT_EQ(after.encoded - before.encoded, 3);
  EXPECT_EQ(after.instantiated + after.updated + after.merged, 0);
  EXPECT_EQ(gpu->registry()->statistics().compiled, compiled);
  for (const Array& each : held) EXPECT_EQ(each.item(), 64 + 5 * 15);
}

INSTANTIATE_TEST_SUITE_P(Floats, DecompositionsRun,
                         ::testing::Combine(::testing::Values(Way::simulator, Way::cards),
                                            ::testing::Values(DType::f32, DType::f64)));

}  // namespace
}  // namespace hearth

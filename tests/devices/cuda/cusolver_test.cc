// Factorizations by cuSOLVER: what the library is asked for, when it is opened, and what becomes of
// its failures. The library is a fake that computes what it is asked, on a fake card.
#include "devices/cuda/cusolver/cusolver.h"

#include <cmath>
#include <random>

#include "devices/cuda/fake_card.h"
#include "kernels/decompositions/problem.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::cuda {
namespace {

using gpu::FactorProblem;
using runtime::Argument;
using runtime::Command;

using Numbers = std::vector<double>;

class CudaCusolver : public FakeCard {
 protected:
  void SetUp() override {
    FakeCard::SetUp();
    opener_ = std::make_shared<CusolverOpener>(only(kFakeFolder), 13000);
    const LibraryMaker make = [this](Context& context) {
      return std::make_unique<Cusolver>(opener_, context);
    };
    driver_ = std::make_unique<CudaDriver>(api_, 0, nullptr, std::span(&make, 1));
    registry_ = std::make_unique<runtime::KernelRegistry>(*driver_, runtime::KernelCache(""));
  }
  void TearDown() override {
    for (const Address address : blocks_) driver_->free(address);
    registry_.reset();
    FakeCard::TearDown();
  }

  template <class T>
  Address upload(const std::vector<T>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
    blocks_.push_back(driver_->allocate(bytes));
    driver_->copy_to_device(blocks_.back(), values.data(), bytes);
    return blocks_.back();
  }
  Address room(std::size_t numbers) { return upload(Numbers(numbers, 99.0)); }
  template <class T = double>
  std::vector<T> at(Address address, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    driver_->copy_to_host(values.data(), address, count * static_cast<std::int64_t>(sizeof(T)));
    return values;
  }

  static FactorProblem problem(FactorProblem::Kind kind, std::int64_t rows, std::int64_t cols) {
    FactorProblem p;
    p.kind = kind;
    p.dtype = static_cast<std::int64_t>(DType::f64);
    p.batch = 2;
    p.rows = rows;
    p.cols = cols;
    p.rank = std::min(rows, cols);
    p.batch_stride = rows * cols;
    p.vectors = 1;
    return p;
  }
  const runtime::Function& function(const FactorProblem& p) {
    return registry_->get(gpu::factor_call(p));
  }
  void run(const FactorProblem& p, const std::vector<Address>& memory) {
    std::vector<Argument> arguments;
    for (const Address address : memory) arguments.push_back({address, 8, nullptr});
    if (p.kind != FactorProblem::triangular_solve) arguments.push_back(workspace(p));
    const Command command{&function(p), {1, 1, 1}, {32, 1, 1}, arguments, 0, {}};
    driver_->submit({&command, 1});
  }

  // As much as the library says.
  Argument workspace(const FactorProblem& p) {
    const std::int64_t bytes = driver_->libraries().factorizations.workspace(gpu::factor_call(p));
    EXPECT_GT(bytes, 0);
    blocks_.push_back(driver_->allocate(bytes));
    return {blocks_.back(), bytes, nullptr};
  }

  static Numbers random(std::int64_t count) {
    std::mt19937 engine(5);
    std::uniform_real_distribution<double> draw(-1, 1);
    Numbers values(static_cast<std::size_t>(count));
    for (double& value : values) value = draw(engine);
    return values;
  }

  std::shared_ptr<CusolverOpener> opener_;
  std::unique_ptr<runtime::KernelRegistry> registry_;
  std::vector<Address> blocks_;
};

// x [m, n] of row-major numbers from `first` on.
struct Rows {
  const Numbers& x;
  std::int64_t n;
  std::int64_t first = 0;
  double operator()(std::int64_t row, std::int64_t col) const {
    return x[static_cast<std::size_t>(first + row * n + col)];
  }
};

TEST_F(CudaCusolver, IsOpenedWhenItIsFirstAskedFor) {
  const runtime::LibraryTraits traits = driver_->libraries();
  EXPECT_EQ(fake_->calls["cusolverGetVersion"], 0);
  EXPECT_TRUE(traits.factorizations.opens());
  EXPECT_TRUE(traits.factorizations.opens());
  EXPECT_EQ(fake_->calls["cusolverGetVersion"], 1);
  EXPECT_EQ(fake_->calls["cusolverDnCreate"], 0);
  EXPECT_TRUE(any_contains(opener_->notes(), "cuSOLVER 12000"));
}

TEST_F(CudaCusolver, NoneAndOneForANewerDriver) {
  CusolverOpener nowhere(only("/nowhere"), 13000);
  EXPECT_EQ(nowhere.api(), nullptr);
  EXPECT_TRUE(any_contains(nowhere.notes(), "factorizations of matrices are computed on the host"));
  CusolverOpener old(only(kFakeFolder), 12040);
  EXPECT_EQ(old.api(), nullptr);
}

TEST_F(CudaCusolver, CholeskyOfLowerTriangles) {
  constexpr std::int64_t kN = 4;
  Numbers a = random(2 * kN * kN);
  for (std::int64_t i = 0; i < 2 * kN; ++i) a[static_cast<std::size_t>(i * kN + i % kN)] = 5;
  const Address matrices = upload(a), info = room(1);
  run(problem(FactorProblem::cholesky, kN, kN), {matrices, info});
  const Numbers got = at(matrices, 2 * kN * kN);
  for (const std::int64_t first : {std::int64_t{0}, kN * kN}) {
    const Rows l{got, kN, first}, x{a, kN, first};
    for (std::int64_t i = 0; i < kN; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k <= j; ++k) sum += l(i, k) * l(j, k);
        EXPECT_NEAR(sum, x(i, j), 1e-12);
      }
    }
  }
  EXPECT_EQ(at<int>(info, 2), (std::vector<int>{0, 0}));
}

TEST_F(CudaCusolver, TheSecondOfABatchFails) {
  const Address matrices = upload(Numbers{1, 0, 0, 1, 1, 0, 0, -1}), info = room(1);
  run(problem(FactorProblem::cholesky, 2, 2), {matrices, info});
  EXPECT_EQ(at<int>(info, 2), (std::vector<int>{0, 2}));
}

TEST_F(CudaCusolver, TrianglesOfRows) {
  constexpr std::int64_t kN = 3, kSides = 2;
  Numbers a = random(2 * kN * kN);
  for (std::int64_t i = 0; i < 2 * kN; ++i) a[static_cast<std::size_t>(i * kN + i % kN)] = 3;
  const Numbers b = random(2 * kN * kSides);
  for (const bool upper : {false, true}) {
    for (const bool unit : {false, true}) {
      FactorProblem p = problem(FactorProblem::triangular_solve, kN, kSides);
      p.batch_stride = kN * kN;
      p.upper = upper;
      p.unit_diagonal = unit;
      const Address x = upload(b);
      run(p, {upload(a), x});
      const Numbers got = at(x, 2 * kN * kSides);
      for (std::int64_t i = 0; i < 2 * kN * kSides; ++i) {
        const std::int64_t matrix = i / (kN * kSides), row = i / kSides % kN, col = i % kSides;
        const Rows t{a, kN, matrix * kN * kN}, y{got, kSides, matrix * kN * kSides};
        double sum = unit ? y(row, col) : t(row, row) * y(row, col);
        for (std::int64_t k = upper ? row + 1 : 0; k < (upper ? kN : row); ++k) {
          sum += t(row, k) * y(k, col);
        }
        EXPECT_NEAR(sum, b[static_cast<std::size_t>(i)], 1e-12) << upper << unit;
      }
    }
  }
}

TEST_F(CudaCusolver, LuOfColumnsOfBothShapes) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{4, 3}, {3, 4}}) {
    const Numbers a = random(2 * m * n);
    const Address matrices = upload(a), pivots = room(6), info = room(1);
    run(problem(FactorProblem::lu, m, n), {matrices, pivots, info});
    const Numbers got = at(matrices, 2 * m * n);
    const std::vector<std::int64_t> exchanges = at<std::int64_t>(pivots, 6);
    for (std::int64_t matrix = 0; matrix < 2; ++matrix) {
      // Columns are rows to this.
      const Rows f{got, m, matrix * m * n}, x{a, m, matrix * m * n};
      std::vector<std::int64_t> from(static_cast<std::size_t>(m));
      for (std::int64_t i = 0; i < m; ++i) from[static_cast<std::size_t>(i)] = i;
      for (std::int64_t i = 0; i < 3; ++i) {
        std::swap(from[static_cast<std::size_t>(i)],
                  from[static_cast<std::size_t>(
                      exchanges[static_cast<std::size_t>(matrix * 3 + i)] - 1)]);
      }
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = i <= j ? f(j, i) : 0;
          for (std::int64_t k = 0; k < std::min(i, j + 1); ++k) sum += f(k, i) * f(j, k);
          EXPECT_NEAR(sum, x(j, from[static_cast<std::size_t>(i)]), 1e-12) << m;
        }
      }
    }
  }
}

// Of x [m, n] column by column: q [m, columns] times r.
TEST_F(CudaCusolver, QrOfColumnsAndAllColumns) {
  constexpr std::int64_t kM = 5, kN = 3;
  const Numbers a = random(2 * kM * kM);
  const Address matrices = upload(a), tau = room(6), info = room(1);
  FactorProblem p = problem(FactorProblem::qr, kM, kN);
  p.batch_stride = kM * kM;
  run(p, {matrices, tau, info});
  const Numbers r = at(matrices, 2 * kM * kM);
  p.kind = FactorProblem::qr_columns;
  p.cols = kM;
  run(p, {matrices, tau, info});
  const Numbers q = at(matrices, 2 * kM * kM);
  for (const std::int64_t first : {std::int64_t{0}, kM * kM}) {
    const Rows qs{q, kM, first}, rs{r, kM, first}, x{a, kM, first};
    for (std::int64_t j = 0; j < kN; ++j) {
      for (std::int64_t i = 0; i < kM; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k <= j; ++k) sum += qs(k, i) * rs(j, k);
        EXPECT_NEAR(sum, x(j, i), 1e-12);
      }
    }
    for (std::int64_t i = 0; i < kM; ++i) {
      for (std::int64_t j = 0; j < kM; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < kM; ++k) sum += qs(i, k) * qs(j, k);
        EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-12);
      }
    }
  }
}

TEST_F(CudaCusolver, EigenvectorsAreRows) {
  constexpr std::int64_t kN = 3;
  const Numbers a = random(2 * kN * kN);
  const Address matrices = upload(a), w = room(6), info = room(1);
  run(problem(FactorProblem::eigh, kN, kN), {matrices, w, info});
  const Numbers v = at(matrices, 2 * kN * kN), values = at(w, 2 * kN);
  for (std::int64_t matrix = 0; matrix < 2; ++matrix) {
    const Rows x{a, kN, matrix * kN * kN}, vs{v, kN, matrix * kN * kN};
    for (std::int64_t e = 0; e < kN; ++e) {
      for (std::int64_t i = 0; i < kN; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < kN; ++k) sum += x(std::max(i, k), std::min(i, k)) * vs(e, k);
        EXPECT_NEAR(sum, values[static_cast<std::size_t>(matrix * kN + e)] * vs(e, i), 1e-6);
      }
    }
  }
}

TEST_F(CudaCusolver, SingularVectorsAreRows) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{5, 3}, {3, 5}}) {
    const Numbers a = random(2 * m * n);
    const Address matrices = upload(a), s = room(6), vs = room(30), us = room(30);
    run(problem(FactorProblem::svd, m, n), {matrices, s, vs, us, room(1)});
    const Numbers values = at(s, 6), right = at(vs, 6 * n), left = at(us, 6 * m);
    for (std::int64_t matrix = 0; matrix < 2; ++matrix) {
      const Rows x{a, n, matrix * m * n}, u{left, m, matrix * 3 * m}, v{right, n, matrix * 3 * n};
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < 3; ++k) {
            sum += u(k, i) * values[static_cast<std::size_t>(matrix * 3 + k)] * v(k, j);
          }
          EXPECT_NEAR(sum, x(i, j), 1e-9) << m;
        }
      }
    }
  }
}

TEST_F(CudaCusolver, SinglePrecision) {
  FactorProblem p = problem(FactorProblem::cholesky, 1, 1);
  p.dtype = static_cast<std::int64_t>(DType::f32);
  const Address matrices = upload(std::vector<float>{4, 9});
  run(p, {matrices, room(1)});
  EXPECT_EQ(at<float>(matrices, 2), (std::vector<float>{2, 3}));
}

// Some calls wait on the way: no graph can hold them.
TEST_F(CudaCusolver, IsInNoGraph) {
  const Address matrices = upload(Numbers{4, 9}), info = room(1);
  const FactorProblem p = problem(FactorProblem::cholesky, 1, 1);
  const std::vector<Argument> arguments = {
      {matrices, 8, nullptr}, {info, 8, nullptr}, workspace(p)};
  const Command command{&function(p), {1, 1, 1}, {32, 1, 1}, arguments, 0, {}};
  EXPECT_FALSE(command.function->is_recordable());
  EXPECT_EQ(driver_->instantiate({&command, 1}), nullptr);
  EXPECT_EQ(fake_->calls["cuStreamBeginCapture_v2"], 0);
  EXPECT_EQ(fake_->calls["cuGraphCreate"], 0);
  EXPECT_EQ(driver_->time({&command, 1}).size(), 1u);
}

// A card without memory refuses a plan before anything of it is queued, not in its midst.
TEST_F(CudaCusolver, QueuingTakesNoMemory) {
  for (const auto kind :
       {FactorProblem::cholesky, FactorProblem::lu, FactorProblem::qr, FactorProblem::eigh,
        FactorProblem::svd, FactorProblem::triangular_solve}) {
    FactorProblem p = problem(kind, 1, 1);
    std::vector<Argument> arguments;
    for (int i = 0; i < 5; ++i) arguments.push_back({upload(Numbers{4, 9}), 16, nullptr});
    const runtime::LibraryCall call = gpu::factor_call(p);
    arguments.resize(call.parameters.size());
    if (kind != FactorProblem::triangular_solve) arguments.back() = workspace(p);
    const Command command{&function(p), {1, 1, 1}, {32, 1, 1}, arguments, 0, {}};
    for (const char* each : {"cuMemAlloc_v2", "cusolverDnCreate", "cublasCreate_v2"}) {
      fake_->fail[each] = Result::out_of_memory;
    }
    const int waits = fake_->calls["cuStreamSynchronize"];
    EXPECT_NO_THROW(driver_->submit({&command, 1})) << call.name;
    EXPECT_EQ(fake_->calls["cuStreamSynchronize"], waits) << call.name;
    fake_->fail.clear();
    driver_->wait();
  }
  EXPECT_EQ(fake_->calls["cusolverDnCreate"], 1);
}

// What the library needs itself is made when a call is planned, then or when there is memory again.
TEST_F(CudaCusolver, IsMadeWhenACallIsPlanned) {
  const FactorProblem p = problem(FactorProblem::triangular_solve, 1, 1);
  const auto ask = [&] {
    return driver_->libraries().factorizations.workspace(gpu::factor_call(p));
  };
  for (const char* each : {"cusolverDnCreate", "cublasCreate_v2"}) {
    fake_->fail[each] = Result::out_of_memory;
    error_of(ErrorCode::device, [&] { ask(); });
  }
  EXPECT_EQ(ask(), 0);
  const int made = fake_->calls["cusolverDnCreate"] + fake_->calls["cublasCreate_v2"];
  const Address x = upload(Numbers{8, 27});
  run(p, {upload(Numbers{4, 9}), x});
  EXPECT_EQ(at(x, 2), (Numbers{2, 3}));
  EXPECT_EQ(fake_->calls["cusolverDnCreate"] + fake_->calls["cublasCreate_v2"], made);
}

TEST_F(CudaCusolver, FailuresAreErrors) {
  const Address matrices = upload(Numbers{4, 9}), info = room(1);
  const FactorProblem p = problem(FactorProblem::cholesky, 1, 1);
  for (const char* each : {"cusolverDnCreate", "cublasCreate_v2", "cusolverDnSetStream",
                           "cusolverDnXpotrf_bufferSize", "cusolverDnXpotrf"}) {
    fake_->fail[each] = Result::invalid_value;
    const std::string message = error_of(ErrorCode::device, [&] { run(p, {matrices, info}); });
    EXPECT_FALSE(message.empty()) << each;
  }
  run(p, {matrices, info});
  EXPECT_EQ(at(matrices, 2), (Numbers{2, 3}));
}

}  // namespace
}  // namespace hearth::cuda

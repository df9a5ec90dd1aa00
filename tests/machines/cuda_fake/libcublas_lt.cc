// A cuBLASLt for the fake card: it computes, in f64, what the descriptions say, on the fake's
// memory. It does not know f16. It is part of the fake driver library, which is found under this
// name as well.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <type_traits>

#include "devices/cuda/cublas/cublas_lt_api.h"
#include "hearth/dtype.h"
#include "machines/cuda_fake/calls.h"

using namespace hearth::cuda::fake;  // NOLINT(google-build-using-namespace)

namespace {

using Api = CublasLtApi;
using Status = Api::Status;

struct FakeHandle {};
struct FakeDescription {
  Api::ComputeType compute = Api::ComputeType::f32;
  Api::DataType scale = Api::DataType::f32;
  bool transposed[2] = {false, false};
  std::uint32_t epilogue = Api::kNoEpilogue;
  const void* bias = nullptr;
};
struct FakeLayout {
  Api::DataType type = Api::DataType::f32;
  std::int64_t rows = 0, columns = 0, stride = 0;
  std::int32_t batches = 1;
  std::int64_t batch_stride = 0;

  std::int64_t at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return batch * batch_stride + column * stride + row;
  }
};
struct FakePreference {
  std::size_t workspace_bytes = 0;
  std::uint32_t reductions = 0;
  std::uint32_t alignment[4] = {256, 256, 256, 256};  // as the real one has it unless told
};

// What an algorithm of the fake is: its number, and what it asks of its operands.
enum : std::size_t {
  kNumber,
  kWorkspace,
  kAlignmentA,
  kAlignmentB,
  kAlignmentC,
  kAlignmentD,
  kSplit,  // parts of k in the lower half, how their sums are added in the upper
  kMagic
};
constexpr std::uint64_t kGenuine = 0xfa4e;
constexpr std::uint64_t kUnsplittable = 1;  // the number of an algorithm

std::uint64_t split_into(int parts) {
  const std::uint64_t reduction = parts > 1 ? Api::kReductionComputeType : 0;
  return reduction << 32 | static_cast<std::uint32_t>(parts);
}
std::uint64_t parts_of(const Api::Algorithm& algorithm) {
  return algorithm.data[kSplit] & 0xffffffffU;
}
std::uint64_t reduction_of(const Api::Algorithm& algorithm) { return algorithm.data[kSplit] >> 32; }

template <class Body>
Status library_call(const char* name, Body body, bool needs_context = false) {
  return call(
             name, [&] { return expect(body(), Result::invalid_value); }, needs_context) ==
                 Result::success
             ? Status::success
             : Status::invalid_value;
}

std::int64_t item_of(Api::DataType type) {
  return type == Api::DataType::f64 ? 8 : type == Api::DataType::f32 ? 4 : 2;
}

double load(const std::byte* at, Api::DataType type) {
  switch (type) {
    case Api::DataType::f64:
      return *reinterpret_cast<const double*>(at);
    case Api::DataType::f32:
      return *reinterpret_cast<const float*>(at);
    case Api::DataType::bf16:
      return static_cast<float>(*reinterpret_cast<const hearth::bfloat16*>(at));
    case Api::DataType::f16:
      break;
  }
  return 0;
}

void store(std::byte* at, Api::DataType type, double value) {
  switch (type) {
    case Api::DataType::f64:
      *reinterpret_cast<double*>(at) = value;
      break;
    case Api::DataType::f32:
      *reinterpret_cast<float*>(at) = static_cast<float>(value);
      break;
    case Api::DataType::bf16:
      *reinterpret_cast<hearth::bfloat16*>(at) = hearth::bfloat16(static_cast<float>(value));
      break;
    case Api::DataType::f16:
      break;
  }
}

std::byte* memory(const void* pointer, std::int64_t elements, Api::DataType type) {
  const auto bytes = static_cast<std::size_t>(elements * item_of(type));
  return machine().at(reinterpret_cast<DevicePointer>(pointer), bytes);
}

std::byte* memory(const void* pointer, const FakeLayout& layout) {
  return memory(pointer, layout.at(layout.batches - 1, layout.rows - 1, layout.columns - 1) + 1,
                layout.type);
}

struct Product {
  FakeDescription description;
  FakeLayout a, b, c;
  const void* a_at;
  const void* b_at;
  const void* residual_at;
  void* c_at;
  double alpha, beta;

  std::int64_t depth() const { return description.transposed[0] ? a.rows : a.columns; }
  bool fits() const {
    const std::int64_t rows = description.transposed[0] ? a.columns : a.rows;
    const std::int64_t columns = description.transposed[1] ? b.rows : b.columns;
    const std::int64_t other = description.transposed[1] ? b.columns : b.rows;
    const auto is_sound = [](const FakeLayout& each) {
      return each.rows > 0 && each.columns > 0 && each.stride >= each.rows;
    };
    return is_sound(a) && is_sound(b) && is_sound(c) && rows == c.rows && columns == c.columns &&
           depth() == other && a.type == c.type && b.type == c.type && a.batches == c.batches &&
           b.batches == c.batches && c.type != Api::DataType::f16 &&
           (c.type == Api::DataType::f64) == (description.compute == Api::ComputeType::f64);
  }
  Result run() const {
    const std::byte* const left = memory(a_at, a);
    const std::byte* const right = memory(b_at, b);
    std::byte* const result = memory(c_at, c);
    const bool has_bias = (description.epilogue & Api::kBias) != 0;
    const std::byte* const bias = has_bias ? memory(description.bias, c.rows, c.type) : result;
    const std::byte* const residual = memory(residual_at, c);
    if (left == nullptr || right == nullptr || result == nullptr || bias == nullptr ||
        residual == nullptr) {
      return Result::illegal_address;
    }
    const std::int64_t item = item_of(c.type);
    for (std::int64_t batch = 0; batch < c.batches; ++batch) {
      for (std::int64_t row = 0; row < c.rows; ++row) {
        for (std::int64_t column = 0; column < c.columns; ++column) {
          double sum = 0;
          for (std::int64_t i = 0; i < depth(); ++i) {
            const std::int64_t at =
                description.transposed[0] ? a.at(batch, i, row) : a.at(batch, row, i);
            const std::int64_t other =
                description.transposed[1] ? b.at(batch, column, i) : b.at(batch, i, column);
            sum += load(left + at * item, a.type) * load(right + other * item, b.type);
          }
          const std::int64_t to = c.at(batch, row, column) * item;
          sum *= alpha;
          if (beta != 0) sum += beta * load(residual + to, c.type);
          if (has_bias) sum += load(bias + row * item, c.type);
          if ((description.epilogue & Api::kRelu) != 0) sum = std::max(sum, 0.0);
          store(result + to, c.type, sum);
        }
      }
    }
    return Result::success;
  }
};

// Parts have their sums in the workspace, one has none.
bool is_split_soundly(const Api::Algorithm& algorithm) {
  const bool is_split = parts_of(algorithm) > 1;
  return reduction_of(algorithm) == (is_split ? Api::kReductionComputeType : 0) &&
         (!is_split || algorithm.data[kNumber] != kUnsplittable);
}

bool is_aligned(const void* pointer, std::uint64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

}  // namespace

EXPORT std::size_t cublasLtGetVersion() { return 130000; }
EXPORT const char* cublasLtGetStatusString(Status status) {
  return status == Status::not_supported ? "not supported" : "an invalid value";
}
EXPORT Status cublasLtCreate(Api::Handle* made) {
  return library_call(
      "cublasLtCreate",
      [&] {
        *made = handle<Api::Handle>(machine().make<FakeHandle>());
        return true;
      },
      true);
}
EXPORT Status cublasLtDestroy(Api::Handle which) {
  return library_call("cublasLtDestroy", [&] { return machine().destroy(which); }, true);
}
EXPORT Status cublasLtMatmulDescCreate(Api::Description* made, Api::ComputeType compute,
                                       Api::DataType scale) {
  return library_call("cublasLtMatmulDescCreate", [&] {
    auto* description = machine().make<FakeDescription>();
    description->compute = compute;
    description->scale = scale;
    *made = handle<Api::Description>(description);
    return (scale == Api::DataType::f64) == (compute == Api::ComputeType::f64);
  });
}
EXPORT Status cublasLtMatmulDescDestroy(Api::Description which) {
  return library_call("cublasLtMatmulDescDestroy", [&] { return machine().destroy(which); });
}
EXPORT Status cublasLtMatmulDescSetAttribute(Api::Description which,
                                             Api::DescriptionAttribute attribute, const void* value,
                                             std::size_t bytes) {
  return library_call("cublasLtMatmulDescSetAttribute", [&] {
    if (!machine().is_live(which)) return false;
    auto* description = behind<FakeDescription>(which);
    if (attribute == Api::DescriptionAttribute::bias) {
      if (bytes != sizeof(void*)) return false;
      std::memcpy(&description->bias, value, bytes);
      return true;
    }
    if (bytes != sizeof(std::int32_t)) return false;
    if (attribute == Api::DescriptionAttribute::epilogue) {
      std::memcpy(&description->epilogue, value, bytes);
      return (description->epilogue & Api::kGeluTanh) == 0;  // the fake does not know it
    }
    const bool transposed = *static_cast<const std::int32_t*>(value) == Api::kTransposed;
    const int operand = attribute == Api::DescriptionAttribute::transpose_a ? 0 : 1;
    description->transposed[operand] = transposed;
    return true;
  });
}
EXPORT Status cublasLtMatrixLayoutCreate(Api::Layout* made, Api::DataType type, std::uint64_t rows,
                                         std::uint64_t columns, std::int64_t stride) {
  return library_call("cublasLtMatrixLayoutCreate", [&] {
    auto* layout = machine().make<FakeLayout>();
    *layout = {type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), stride};
    *made = handle<Api::Layout>(layout);
    return true;
  });
}
EXPORT Status cublasLtMatrixLayoutDestroy(Api::Layout which) {
  return library_call("cublasLtMatrixLayoutDestroy", [&] { return machine().destroy(which); });
}
EXPORT Status cublasLtMatrixLayoutSetAttribute(Api::Layout which, Api::LayoutAttribute attribute,
                                               const void* value, std::size_t bytes) {
  return library_call("cublasLtMatrixLayoutSetAttribute", [&] {
    if (!machine().is_live(which)) return false;
    auto* layout = behind<FakeLayout>(which);
    if (attribute == Api::LayoutAttribute::batch_count && bytes == sizeof layout->batches) {
      std::memcpy(&layout->batches, value, bytes);
      return layout->batches > 0;
    }
    if (attribute != Api::LayoutAttribute::batch_stride || bytes != sizeof layout->batch_stride) {
      return false;
    }
    std::memcpy(&layout->batch_stride, value, bytes);
    return layout->batch_stride >= 0;
  });
}
EXPORT Status cublasLtMatmulPreferenceCreate(Api::Preference* made) {
  return library_call("cublasLtMatmulPreferenceCreate", [&] {
    *made = handle<Api::Preference>(machine().make<FakePreference>());
    return true;
  });
}
EXPORT Status cublasLtMatmulPreferenceDestroy(Api::Preference which) {
  return library_call("cublasLtMatmulPreferenceDestroy", [&] { return machine().destroy(which); });
}
EXPORT Status cublasLtMatmulPreferenceSetAttribute(Api::Preference which,
                                                   Api::PreferenceAttribute attribute,
                                                   const void* value, std::size_t bytes) {
  return library_call("cublasLtMatmulPreferenceSetAttribute", [&] {
    if (!machine().is_live(which)) return false;
    auto* preference = behind<FakePreference>(which);
    void* target = nullptr;
    if (attribute == Api::PreferenceAttribute::most_workspace_bytes) {
      target = &preference->workspace_bytes;
    } else if (attribute == Api::PreferenceAttribute::reductions) {
      target = &preference->reductions;
    } else {
      target = &preference->alignment[static_cast<unsigned>(attribute) -
                                      static_cast<unsigned>(Api::PreferenceAttribute::alignment_a)];
    }
    const bool is_size = target == &preference->workspace_bytes;
    if (bytes != (is_size ? sizeof(std::size_t) : sizeof(std::uint32_t))) return false;
    std::memcpy(target, value, bytes);
    return true;
  });
}
EXPORT Status cublasLtMatmulAlgoGetHeuristic(Api::Handle library, Api::Description description,
                                             Api::Layout a, Api::Layout b, Api::Layout c,
                                             Api::Layout d, Api::Preference preference, int wanted,
                                             Api::Candidate* candidates, int* count) {
  return library_call(
      "cublasLtMatmulAlgoGetHeuristic",
      [&] {
        for (const void* each :
             {static_cast<const void*>(library), static_cast<const void*>(description),
              static_cast<const void*>(a), static_cast<const void*>(b), static_cast<const void*>(c),
              static_cast<const void*>(d), static_cast<const void*>(preference)}) {
          if (!machine().is_live(each)) return false;
        }
        const auto* asked = behind<FakePreference>(preference);
        const bool is_narrow = behind<FakeLayout>(d)->type == Api::DataType::bf16;
        if (asked->reductions != (is_narrow ? Api::kReductionComputeType : Api::kReductionAny)) {
          return false;
        }
        *count = std::min(wanted, machine().algorithms);
        for (int i = 0; i < *count; ++i) {
          candidates[i] = {};
          auto& data = candidates[i].algorithm.data;
          data[kNumber] = static_cast<std::uint64_t>(i);
          data[kWorkspace] = asked->workspace_bytes;
          for (std::size_t k = 0; k < 4; ++k) data[kAlignmentA + k] = asked->alignment[k];
          data[kSplit] = i == 0 ? split_into(machine().offered_parts) : 1;
          data[kMagic] = kGenuine;
          candidates[i].workspace_bytes = asked->workspace_bytes;
          candidates[i].waves = machine().waves;
        }
        return true;
      },
      true);
}
EXPORT Status cublasLtMatmulAlgoConfigGetAttribute(const Api::Algorithm* algorithm,
                                                   Api::AlgorithmAttribute attribute, void* value,
                                                   std::size_t bytes, std::size_t* written) {
  return library_call("cublasLtMatmulAlgoConfigGetAttribute", [&] {
    const auto got = static_cast<std::uint32_t>(attribute == Api::AlgorithmAttribute::splits
                                                    ? parts_of(*algorithm)
                                                    : reduction_of(*algorithm));
    if (bytes != sizeof got) return false;
    std::memcpy(value, &got, sizeof got);
    *written = sizeof got;
    return true;
  });
}
EXPORT Status cublasLtMatmulAlgoConfigSetAttribute(Api::Algorithm* algorithm,
                                                   Api::AlgorithmAttribute attribute,
                                                   const void* value, std::size_t bytes) {
  return library_call("cublasLtMatmulAlgoConfigSetAttribute", [&] {
    std::uint32_t set = 0;
    if (bytes != sizeof set) return false;
    std::memcpy(&set, value, sizeof set);
    const bool is_split = attribute == Api::AlgorithmAttribute::splits;
    algorithm->data[kSplit] = is_split ? reduction_of(*algorithm) << 32 | set
                                       : std::uint64_t{set} << 32 | parts_of(*algorithm);
    return true;
  });
}
EXPORT Status cublasLtMatmulAlgoCapGetAttribute(const Api::Algorithm* algorithm,
                                                Api::Capability attribute, void* value,
                                                std::size_t bytes, std::size_t* written) {
  return library_call("cublasLtMatmulAlgoCapGetAttribute", [&] {
    const bool splits = algorithm->data[kNumber] != kUnsplittable;
    const std::uint32_t got =
        attribute == Api::Capability::splits ? splits : Api::kReductionComputeType;
    if (bytes != sizeof got) return false;
    std::memcpy(value, &got, sizeof got);
    *written = sizeof got;
    return true;
  });
}
EXPORT Status cublasLtMatmulAlgoCheck(Api::Handle library, Api::Description, Api::Layout,
                                      Api::Layout, Api::Layout, Api::Layout,
                                      const Api::Algorithm* algorithm, Api::Candidate* result) {
  return library_call("cublasLtMatmulAlgoCheck", [&] {
    result->workspace_bytes = static_cast<std::size_t>(algorithm->data[kWorkspace]);
    return machine().is_live(library) && algorithm->data[kMagic] == kGenuine &&
           is_split_soundly(*algorithm);
  });
}
EXPORT Status cublasLtMatmul(Api::Handle library, Api::Description description, const void* alpha,
                             const void* a, Api::Layout a_layout, const void* b,
                             Api::Layout b_layout, const void* beta, const void* c,
                             Api::Layout c_layout, void* d, Api::Layout d_layout,
                             const Api::Algorithm* algorithm, void* workspace,
                             std::size_t workspace_bytes, Stream stream) {
  return library_call(
      "cublasLtMatmul",
      [&] {
        if (!machine().is_live(library) || !machine().is_live(description) ||
            c_layout != d_layout || algorithm->data[kMagic] != kGenuine ||
            !is_split_soundly(*algorithm) || algorithm->data[kWorkspace] > workspace_bytes) {
          return false;
        }
        if (!is_aligned(a, algorithm->data[kAlignmentA]) ||
            !is_aligned(b, algorithm->data[kAlignmentB]) ||
            !is_aligned(c, algorithm->data[kAlignmentC]) ||
            !is_aligned(d, algorithm->data[kAlignmentD]) || !is_aligned(workspace, 256)) {
          machine().misuse.emplace_back("a product of operands that are less aligned than said");
          return false;
        }
        Product product{*behind<FakeDescription>(description),
                        *behind<FakeLayout>(a_layout),
                        *behind<FakeLayout>(b_layout),
                        *behind<FakeLayout>(d_layout),
                        a,
                        b,
                        c,
                        d,
                        0,
                        0};
        const bool is_f64 = product.description.scale == Api::DataType::f64;
        product.alpha =
            is_f64 ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
        product.beta =
            is_f64 ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
        if (!product.fits()) return false;
        machine().algorithms_run.push_back(static_cast<int>(algorithm->data[kNumber]));
        machine().parts_run.push_back(static_cast<int>(parts_of(*algorithm)));
        FakeNode work;
        work.operation = [product, workspace, workspace_bytes] {
          std::byte* const scratch =
              machine().at(reinterpret_cast<DevicePointer>(workspace), workspace_bytes);
          if (scratch == nullptr) return Result::illegal_address;
          std::memset(scratch, 0xee, workspace_bytes);
          return product.run();
        };
        work.more_milliseconds = std::abs(2 - static_cast<int>(algorithm->data[kNumber])) +
                                 std::abs(std::countr_zero(parts_of(*algorithm)) -
                                          std::countr_zero(machine().fastest_parts));
        return machine().add_work(stream, std::move(work));
      },
      true);
}

// In a struct, where the types of a row have the names that the API gives them.
#define HEARTH_FUNCTION(result, name, parameters) \
  static_assert(std::is_same_v<decltype(&::name), result(*) parameters>, #name);
struct Functions : Api {
#include "devices/cuda/cublas_lt_functions.def"
};
#undef HEARTH_FUNCTION

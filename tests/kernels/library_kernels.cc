#include "kernels/sample_kernels.h"

namespace hearth::gpu_test {
namespace {

using runtime::KernelParameter;
using runtime::KernelSource;
using Kind = KernelParameter::Kind;

KernelSource instance(const std::string& file, const std::string& name,
                      const std::string& arguments, std::vector<KernelParameter> parameters) {
  return {.name = "an_" + name,
          .text = "#include \"kernels/" + file + "\"\n",
          .function = arguments.empty() ? name : name + "<" + arguments + ">",
          .parameters = std::move(parameters),
          .max_threads = 256};
}

KernelParameter read(const std::string& type, const std::string& name) {
  return {Kind::read, type, name};
}
KernelParameter write(const std::string& type, const std::string& name) {
  return {Kind::write, type, name};
}
KernelParameter constant(const std::string& type) { return {Kind::constant, type, "p"}; }

std::vector<KernelSource> make_kernels() {
  const KernelParameter dynamics = read("ulong", "dynamics");
  std::vector<KernelSource> kernels = {
      instance("matmul/tiles.metal", "matmul", "bfloat, float, 2, true, true, 2",
               {read("bfloat", "a"),
                read("bfloat", "b"),
                read("bfloat", "bias"),
                read("bfloat", "residual"),
                write("bfloat", "c"),
                constant("MatmulParams<2>"),
                {Kind::threadgroup, "float", "a_tile", 1024},
                {Kind::threadgroup, "float", "b_tile", 1024}}),
      instance("indexing/indexing.metal", "slice_assign", "uint4, uint, 1, 2",
               {read("uint4", "x"), write("uint4", "y"), dynamics, constant("AssignParams<1, 2>")}),
      instance("indexing/indexing.metal", "gather", "ulong, int, uint, 3",
               {read("ulong", "x"), read("int", "indices"), write("ulong", "y"),
                constant("GatherParams<3>")}),
      instance("indexing/indexing.metal", "select", "uchar, long, ulong, 3",
               {read("uchar", "x"), read("long", "indices"), write("uchar", "y"),
                constant("SelectParams<3>")}),
      instance("indexing/indexing.metal", "select_rows", "uint4, long, 2, 4",
               {read("uint4", "x"), read("long", "indices"), write("uint4", "y"),
                constant("RowParams<2>")}),
      instance("indexing/scatter_serial.metal", "scatter_add", "half, float, long, uint, 2",
               {read("long", "indices"),
                read("half", "values"),
                {Kind::read_write, "float", "output"},
                constant("ScatterParams<2>")}),
      instance("indexing/scatter_atomics.metal", "scatter_atomics",
               "atomic_float, float, long, uint, 2",
               {read("long", "indices"),
                read("float", "values"),
                {Kind::read_write, "atomic_float", "output"},
                constant("AtomicParams<2>")}),
      instance("indexing/scatter_privatized.metal", "scatter_privatized",
               "F16, float, long, 4, 1, false",
               {read("long", "indices"),
                read("half", "values"),
                {Kind::read_write, "half", "output"},
                constant("ShareParams<1>"),
                {Kind::threadgroup, "float", "sums", 6144},
                {Kind::threadgroup, "ushort", "staged", 2080},
                {Kind::threadgroup, "uint", "waiting", 512}}),
      instance("indexing/scatter_bucketed.metal", "bin_count", "long, 4, 1",
               {read("long", "indices"),
                write("uint", "counts"),
                write("ushort", "within"),
                constant("BinParams<1>"),
                {Kind::threadgroup, "atomic_uint", "histogram", 4096}}),
      instance("indexing/scatter_bucketed.metal", "bin_places", "",
               {{Kind::read_write, "uint", "counts"},
                write("uint", "totals"),
                constant("BinPlaceParams")}),
      instance("indexing/scatter_bucketed.metal", "bin_entries", "BF16, long, 4, 1",
               {read("long", "indices"),
                read("bfloat", "values"),
                read("uint", "counts"),
                read("ushort", "within"),
                read("uint", "totals"),
                write("uint2", "entries"),
                constant("BinParams<1>"),
                {Kind::threadgroup, "uint", "next", 4096},
                {Kind::threadgroup, "uint", "sums", 8}}),
      instance("indexing/scatter_bucketed.metal", "bin_sums", "I64, ulong, 1, 2, false",
               {read("uint4", "entries"),
                read("uint", "totals"),
                {Kind::read_write, "long", "output"},
                constant("BinParams<2>"),
                {Kind::threadgroup, "ulong", "sums", 3072}}),
      instance("indexing/scatter_bucketed.metal", "bin_sums", "F32, float, 4, 1, false",
               {read("uint2", "entries"),
                read("uint", "totals"),
                {Kind::read_write, "float", "output"},
                constant("BinParams<1>"),
                {Kind::threadgroup, "float", "sums", 6144}}),
      instance("indexing/segmented_sum.metal", "selection_keys", "int",
               {read("int", "indices"), write("uint", "keys"), write("uint", "rows"),
                constant("SelectionParams")}),
      instance("indexing/segmented_sum.metal", "element_keys", "long, 3",
               {read("long", "indices"), write("uint", "keys"), write("uint", "rows"),
                constant("ElementParams<3>")}),
      instance("indexing/segmented_sum.metal", "segmented_sum", "BF16, float, 8, false",
               {read("uint", "keys"),
                read("uint", "rows"),
                read("bfloat", "values"),
                {Kind::read_write, "bfloat", "output"},
                write("float", "pieces"),
                constant("SumParams")}),
      instance("indexing/segmented_sum.metal", "scatter_pieces", "F32, float, 4, false",
               {read("uint", "keys"), read("float", "pieces"), write("float", "output"),
                constant("SumParams")}),
  };
  const auto by_simdgroups = [&](const std::string& type, const std::string& stored,
                                 const std::string& arguments, std::int64_t shared) {
    kernels.push_back(instance("matmul/simdgroup.metal", "matmul_simdgroup", arguments,
                               {read(type, "a"),
                                read(type, "b"),
                                read(type, "bias"),
                                read(type, "residual"),
                                write(stored, "c"),
                                constant("SimdgroupMatmulParams<1>"),
                                {Kind::threadgroup, "float4", "shared", shared}}));
    kernels.back().name += "_" + std::to_string(kernels.size());
    kernels.back().max_threads = 128;
  };
  by_simdgroups("bfloat", "bfloat", "BF16, float, BF16, 1, 64, 64, 16, false, true, true, true, 2",
                640);
  by_simdgroups("half", "half", "F16, half, F16, 1, 64, 64, 32, true, false, true, false, 1", 608);
  by_simdgroups("float", "float", "F32, float, F32, 1, 64, 32, 32, false, false, false, true, 0",
                864);
  by_simdgroups("half", "float", "F16, half, F32, 1, 32, 32, 16, true, true, false, false, 0", 160);
  kernels.push_back(
      instance("matmul/simdgroup.metal", "matmul_simdgroup_join", "BF16, true, true, 2",
               {read("float", "parts"), read("bfloat", "bias"), read("bfloat", "residual"),
                write("bfloat", "c"), constant("MatmulJoinParams")}));
  const KernelParameter keys = read("uint", "keys"), sums{Kind::threadgroup, "uint", "sums", 8};
  const auto sort = [&](const char* name, std::vector<KernelParameter> parameters) {
    kernels.push_back(
        {name, "#include \"kernels/sort/radix_sort.metal\"\n", name, std::move(parameters), 256});
  };
  sort("sort_count", {keys,
                      write("uint", "counts"),
                      constant("SortParams"),
                      {Kind::threadgroup, "atomic_uint", "histogram", 256}});
  sort("sort_scan", {{Kind::read_write, "uint", "counts"},
                     write("uint", "totals"),
                     constant("SortParams"),
                     sums});
  sort("sort_place", {keys,
                      read("uint", "values"),
                      read("uint", "counts"),
                      read("uint", "totals"),
                      write("uint", "keys_out"),
                      write("uint", "values_out"),
                      constant("SortParams"),
                      {Kind::threadgroup, "uint", "places", 2048},
                      sums});
  const auto shared = [](const char* name, std::int64_t count) {
    return KernelParameter{Kind::threadgroup, "float", name, count};
  };
  for (const char* dtype : {"BF16", "F32"}) {
    const std::string type = dtype[0] == 'B' ? "bfloat" : "float";
    kernels.push_back(instance("matmul/matvec.metal", "matvec", std::string(dtype) + ", 4",
                               {read(type, "w"), read(type, "x"), write(type, "y"),
                                constant("MatvecParams"), shared("shared", 8)}));
    kernels.back().name += "_" + type;
  }
  for (const char* packed : {"true", "false"}) {
    kernels.push_back(instance("matmul/skinny.metal", "matmul_skinny",
                               std::string(packed) + ", 8, 4, 2, 256",
                               {read("float", "w"),
                                read("float", "x"),
                                write("float", "y"),
                                write("float", "parts"),
                                constant("MatmulSkinnyParams"),
                                {Kind::threadgroup, "float4", "stage", 512}}));
    kernels.back().name += std::string("_") + packed;
  }
  kernels.push_back(
      instance("matmul/skinny.metal", "matmul_skinny_join", "float",
               {read("float", "parts"), write("float", "y"), constant("MatmulSkinnyParams")}));
  for (const char* name : {"softmax_rows", "softmax_long_rows"}) {
    kernels.push_back(instance("softmax/softmax.metal", name, "BF16, false, 4, 1",
                               {read("bfloat", "x"), write("bfloat", "y"),
                                constant("SoftmaxParams<1>"), shared("shared", 64)}));
  }
  kernels.push_back(instance(
      "softmax/softmax.metal", "logsumexp_rows", "F16, 4, 2",
      {read("half", "x"), write("half", "y"), constant("SoftmaxParams<2>"), shared("shared", 64)}));
  for (const char* dtype : {"F32", "BF16"}) {
    const std::string type = dtype[0] == 'F' ? "float" : "bfloat";
    kernels.push_back(instance("softmax/causal_softmax.metal", "causal_softmax",
                               std::string(dtype) + ", 4, 2",
                               {read(type, "x"), write(type, "y"),
                                constant("CausalSoftmaxParams<2>"), shared("shared", 64)}));
    kernels.back().name += "_" + type;
  }
  for (const char* whole : {"true", "false"}) {
    kernels.push_back(instance("softmax/softmax.metal", "softmax_backward_rows",
                               std::string("BF16, true, ") + whole + ", 4, 1",
                               {read("bfloat", "g"), read("bfloat", "y"), write("bfloat", "dx"),
                                constant("SoftmaxBackwardParams<1>"), shared("shared", 32)}));
    kernels.back().name += std::string("_") + whole;
  }
  kernels.push_back(instance("softmax/columns.metal", "softmax_columns", "F32, 1, 2",
                             {read("float", "x"), write("float", "y"), constant("ColumnParams<2>"),
                              shared("tops", 1024), shared("sums", 1024)}));
  kernels.back().max_threads = 1024;
  kernels.push_back(instance("softmax/columns.metal", "softmax_backward_columns", "F16, false, 2",
                             {read("half", "g"), read("half", "y"), write("half", "dx"),
                              constant("ColumnParams<2>"), shared("sums", 1024)}));
  kernels.back().max_threads = 1024;
  for (const char* form :
       {"true, true, 4", "true, false, 4", "false, true, 4", "false, false, 4"}) {
    kernels.push_back(
        instance("norm/norm.metal", "norm_rows",
                 std::string("BF16, BF16, true, true, true, ") + form + ", 1",
                 {read("bfloat", "x"), read("bfloat", "weight"), read("bfloat", "bias"),
                  write("bfloat", "y"), constant("NormParams<1>"), shared("shared", 64)}));
    kernels.back().name += "_" + std::to_string(kernels.size());
    kernels.back().max_threads = 1024;
  }
  kernels.push_back(
      instance("norm/norm.metal", "norm_rows", "F32, F16, false, true, false, true, true, 3, 2",
               {read("float", "x"), read("float", "weight"), read("float", "bias"),
                write("half", "y"), constant("NormParams<2>"), shared("shared", 64)}));
  const auto gradient = [&](const char* name, const char* form, std::int64_t count) {
    kernels.push_back(instance(
        "norm/backward.metal", name, std::string("BF16, true, true, ") + form + ", 2",
        {read("bfloat", "g"), read("bfloat", "x"), read("bfloat", "weight"), write("bfloat", "dx"),
         write("float", "kept"), constant("NormBackwardParams<2>"), shared("shared", count)}));
    kernels.back().name += "_" + std::to_string(kernels.size());
    kernels.back().max_threads = 512;
  };
  for (const char* form : {"false, true, 2", "false, false, 2"}) {
    gradient("norm_backward_rows", form, 128);
  }
  gradient("norm_backward_rows", "true, true, 3", 1536);
  gradient("norm_backward_rows", "true, false, 3", 1536);
  kernels.back().max_threads = 128;
  for (const char* form : {"true, 3", "false, 3"}) gradient("norm_backward_long_rows", form, 128);
  kernels.push_back(instance("norm/backward.metal", "norm_backward_columns", "F16, false, 1",
                             {read("half", "g"), read("half", "x"), read("float", "scales"),
                              write("float", "partial"), constant("NormBackwardParams<1>")}));
  kernels.push_back(instance("norm/backward.metal", "norm_combine", "F32",
                             {read("float", "partial"), write("float", "y"),
                              constant("NormCombineParams"), shared("shared", 256)}));
  for (const char* shape :
       {"BF16, 16, 4, 4, true, false, false, false", "BF16, 32, 8, 4, true, true, true, true",
        "F16, 8, 1, 4, false, false, false, true"}) {
    const std::string type = shape[0] == 'F' ? "half" : "bfloat";
    kernels.push_back(instance(
        "attention/flash_decoding.metal", "flash_decoding", shape,
        {read(type, "q"), read(type, "k"), read(type, "v"), read("uchar", "mask"),
         read(type, "bias"), dynamics, write("float", "parts"), write("float", "row_stats"),
         constant("FlashDecodingParams"), shared("shared", 8 * 264)}));
    kernels.back().name += "_" + std::to_string(kernels.size());
    kernels.back().max_threads = 128;
  }
  for (const char* shape :
       {"BF16, 128, 2, 4, true, false, false, false", "F16, 128, 1, 8, false, true, true, true",
        "BF16, 64, 1, 1, true, false, false, false"}) {
    const std::string type = shape[0] == 'F' ? "half" : "bfloat";
    kernels.push_back(instance(
        "attention/flash_decoding_mma.metal", "flash_decoding_mma", shape,
        {read(type, "q"), read(type, "k"), read(type, "v"), read("uchar", "mask"),
         read(type, "bias"), dynamics, write("float", "parts"), write("float", "row_stats"),
         constant("FlashDecodingParams"), shared("shared", 8 * 8 * 70)}));
    kernels.back().name += "_" + std::to_string(kernels.size());
  }
  for (const char* dtype : {"BF16", "F16"}) {
    const std::string type = dtype[0] == 'F' ? "half" : "bfloat";
    kernels.push_back(instance("attention/small_mma.metal", "attention_small_mma", dtype,
                               {read(type, "q"), read(type, "k"), read(type, "v"), dynamics,
                                write(type, "out"), constant("AttentionParams")}));
    kernels.back().name += "_" + type;
    kernels.back().max_threads = 128;
  }
  kernels.push_back(instance(
      "attention/split_kv.metal", "split_kv_combine", "BF16",
      {read("float", "parts"), read("float", "row_stats"), dynamics, write("bfloat", "out"),
       constant("FlashDecodingParams"), shared("shared", 1024 * 3)}));
  kernels.back().max_threads = 1024;
  kernels.push_back(
      instance("attention/tiles.metal", "attention_tiles", "BF16, 256, true, true, true",
               {read("bfloat", "q"), read("bfloat", "k"), read("bfloat", "v"),
                read("uchar", "mask"), read("bfloat", "bias"), dynamics, write("bfloat", "out"),
                constant("AttentionParams"), shared("slices", 2048), shared("weights", 4096)}));
  for (const char* shape : {"F16, half, 32, 32, 2, 2, 8, true, true, false, false, false",
                            "F32, float, 32, 32, 2, 1, 8, true, false, true, true, true",
                            "BF16, float, 32, 32, 2, 1, 8, false, true, false, true, false"}) {
    const std::string type = shape[0] == 'B' ? "bfloat" : shape[1] == '1' ? "half" : "float";
    kernels.push_back(instance("attention/simdgroup.metal", "attention_simdgroup", shape,
                               {read(type, "q"),
                                read(type, "k"),
                                read(type, "v"),
                                read("uchar", "mask"),
                                read(type, "bias"),
                                dynamics,
                                write(type, "out"),
                                constant("AttentionParams"),
                                {Kind::threadgroup, "float4", "shared", 320}}));
    kernels.back().name += "_" + type;
    kernels.back().max_threads = 64;
  }
  for (const char* dtype : {"BF16", "F16"}) {
    const std::string type = dtype[0] == 'B' ? "bfloat" : "half";
    const KernelParameter mask = read("uchar", "mask"), bias = read(type, "bias");
    kernels.push_back(instance(
        "attention/library/adapter.metal", "attention_bias", std::string(dtype) + ", true, true",
        {mask, bias, dynamics, write(type, "out"), constant("LibraryAttentionParams")}));
    kernels.back().name += "_" + type;
    kernels.push_back(instance("attention/library/adapter.metal", "attention_odd_rows",
                               std::string(dtype) + ", true, true",
                               {read(type, "q"),
                                read(type, "k"),
                                read(type, "v"),
                                mask,
                                bias,
                                dynamics,
                                {Kind::read_write, type, "out"},
                                {Kind::read_write, "float", "sums"},
                                constant("LibraryAttentionParams")}));
    kernels.back().name += "_" + type;
  }
  kernels.push_back(
      instance("attention/library/adapter.metal", "attention_values", "uint4",
               {read("uint4", "v"), dynamics, write("uint4", "out"), write("int", "keys"),
                write("int", "rows"), constant("LibraryAttentionParams")}));
  kernels.push_back(
      instance("norm/backward.metal", "norm_combine_both", "BF16",
               {read("float", "partial"), write("bfloat", "dweight"), write("bfloat", "dbias"),
                constant("NormCombineParams"), shared("shared", 256)}));
  kernels.push_back(instance("softmax/cross_entropy.metal", "cross_entropy_rows",
                             "BF16, long, 2, 1",
                             {read("bfloat", "x"), read("long", "targets"), write("float", "y"),
                              constant("CrossEntropyParams<1>"), shared("shared", 64)}));
  kernels.push_back(instance(
      "softmax/cross_entropy.metal", "cross_entropy_backward_rows", "F16, F32, int, true, 2, 1",
      {read("float", "g"), read("half", "x"), read("int", "targets"), read("float", "losses"),
       write("half", "dx"), constant("CrossEntropyParams<1>"), shared("shared", 64)}));
  for (const char* interleaved : {"true", "false"}) {
    kernels.push_back(
        instance("rope/rope.metal", "rope", std::string("BF16, ") + interleaved + ", 2",
                 {read("bfloat", "x"), write("bfloat", "y"), dynamics, constant("RopeParams<2>")}));
    kernels.back().name += std::string("_") + interleaved;
  }
  for (const char* packed : {"true", "false"}) {
    const auto random = [&](const char* name, const char* arguments, const char* type) {
      kernels.push_back(instance("random/random.metal", name, std::string(arguments) + packed,
                                 {write(type, "y"), dynamics, constant("RandomParams")}));
      kernels.back().name += std::string("_") + packed;
    };
    random("random_bits", "U32, ", "uint");
    random("random_bits", "I64, ", "long");
    random("random_uniform", "F16, ", "half");
    random("random_normal", "F32, ", "float");
    random("random_bernoulli", "BF16, ", "bfloat");
    random("random_integers", "I8, long, ", "char");
  }
  kernels.push_back(instance("random/random.metal", "arange_int", "uint",
                             {write("uint", "y"), dynamics, constant("RandomParams")}));
  kernels.push_back(instance("random/random.metal", "arange_float", "half",
                             {write("half", "y"), dynamics, constant("RandomParams")}));
  return kernels;
}

}  // namespace

const std::vector<KernelSource>& library_kernels() {
  static const std::vector<KernelSource> kernels = make_kernels();
  return kernels;
}

}  // namespace hearth::gpu_test

// Files of language models with smaller weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "check.h"
#include "error_text.h"
#include "hearth/io.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "models/golden_model.h"
#include "models/quantize/quantize_file.h"

namespace hearth::models {
namespace {

using namespace check;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class QuantizeFile : public ::testing::Test {
 protected:
  QuantizeFile() {
    std::filesystem::create_directories(folder_);
    const auto weight = [](const Shape& shape, std::uint64_t seed) {
      return random_array(shape, DType::f32, -1, 1, seed);
    };
    arrays_ = {{"token_embd.weight", weight({8, 256}, 1)},
               {"blk.0.attn_norm.weight", weight({256}, 2)},
               {"blk.0.attn_v.weight", weight({4, 256}, 3)},
               {"blk.0.ffn_gate_inp.weight", weight({4, 256}, 4)},
               {"blk.1.attn_q.weight", weight({4, 256}, 5)},
               {"blk.1.ffn_down.weight", weight({4, 96}, 6)},
               {"blk.1.ffn_up_exps.weight", weight({2, 4, 256}, 7)},
               {"blk.1.odd.weight", weight({4, 30}, 8)},
               {"output.weight", weight({8, 256}, 9)}};
    save_gguf(path("in.gguf"), arrays_, {{"general.architecture", "llama"}});
  }
  ~QuantizeFile() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  const Array& given(const std::string& name) const {
    for (const NamedArray& each : arrays_) {
      if (each.name == name) return each.array;
    }
    throw std::logic_error(name);
  }
  GgufContents quantized(const std::string& type, QuantizeOptions options = {}) {
    options.type = quantize_type_from_name(type);
    quantize_file(path("in.gguf"), path("out.gguf"), options);
    return load_gguf(path("out.gguf"));
  }
  static Array of(const GgufContents& contents, const std::string& name) {
    for (const NamedArray& each : contents.arrays) {
      if (each.name == name) return each.array;
    }
    throw std::logic_error(name);
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("hearth_quantize_" + std::to_string(::getpid()));
  NamedArrays arrays_;
};

TEST_F(QuantizeFile, GivesEachTensorItsType) {
  const GgufContents out = quantized("q4_k_s");
  EXPECT_EQ(of(out, "blk.1.attn_q.weight").dtype(), DType::q4_k);
  EXPECT_EQ(of(out, "blk.0.attn_v.weight").dtype(), DType::q5_k);
  EXPECT_EQ(of(out, "token_embd.weight").dtype(), DType::q4_k);
  EXPECT_EQ(of(out, "output.weight").dtype(), DType::q6_k);
  EXPECT_EQ(of(out, "blk.0.attn_norm.weight").dtype(), DType::f32);
  EXPECT_EQ(of(out, "blk.0.ffn_gate_inp.weight").dtype(), DType::f32);
  EXPECT_EQ(of(out, "blk.1.ffn_down.weight").dtype(), DType::q5_0);  // 96 is no multiple of 256
  EXPECT_EQ(of(out, "blk.1.odd.weight").dtype(), DType::f32);
  EXPECT_EQ(of(out, "blk.1.ffn_up_exps.weight").dtype(), DType::q4_k);
  EXPECT_EQ(out.metadata.as_int("general.file_type"), 14);
  EXPECT_EQ(out.metadata.as_int("general.quantization_version"), 2);
  EXPECT_EQ(out.metadata.as_text("general.architecture"), "llama");
  for (const NamedArray& each : out.arrays) {
    const Array& x = given(each.name);
    const Array expected = is_packed(each.array.dtype()) ? quantize(x, each.array.dtype()) : x;
    EXPECT_EQ(each.array.to_doubles(), expected.to_doubles()) << each.name;
  }
}

TEST_F(QuantizeFile, MixesTypes) {
  const GgufContents mixed = quantized("q4_k_m");
  EXPECT_EQ(mixed.metadata.as_int("general.file_type"), 15);
  EXPECT_EQ(of(mixed, "blk.0.attn_v.weight").dtype(), DType::q6_k);
  EXPECT_EQ(of(mixed, "blk.1.attn_q.weight").dtype(), DType::q4_k);
  QuantizeOptions pure;
  pure.type = {DType::q4_k, QuantizeMix::none, true};
  quantize_file(path("in.gguf"), path("out.gguf"), pure);
  EXPECT_EQ(of(load_gguf(path("out.gguf")), "output.weight").dtype(), DType::q4_k);
  const GgufContents half = quantized("f16");
  EXPECT_EQ(of(half, "output.weight").dtype(), DType::f16);
  EXPECT_FALSE(half.metadata.contains("general.quantization_version"));
  expect_error(ErrorCode::invalid_argument, [] { (void)quantize_type_from_name("q4_z"); });
}

TEST_F(QuantizeFile, QuantizesWhatIsPacked) {
  const GgufContents first = quantized("q8_0");
  std::filesystem::rename(path("out.gguf"), path("in.gguf"));
  const GgufContents second = quantized("q4_0");
  const std::string name = "blk.1.attn_q.weight";
  EXPECT_EQ(of(second, name).to_doubles(),
            quantize(dequantize(of(first, name)), DType::q4_0).to_doubles());
}

TEST_F(QuantizeFile, ReadsImportanceOfBothFormats) {
  const std::string matrix = "blk.1.attn_q.weight", experts = "blk.1.ffn_up_exps.weight";
  const Array mean = random_array({256}, DType::f32, 0, 2, 20);
  const Array of_experts = random_array({2, 256}, DType::f32, 0, 2, 21);
  save_gguf(path("new.gguf"),
            {{matrix + ".in_sum2", mul(reshape(mean, {1, 256}), 4)},
             {matrix + ".counts", full({1, 1}, 4.0f)},
             {experts + ".in_sum2", mul(of_experts, 2)},
             {experts + ".counts", full({2, 1}, 2.0f)}},
            {{"general.type", "imatrix"}});
  std::ofstream old(path("old.dat"), std::ios::binary);
  const auto number = [&](std::int32_t value) {
    old.write(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto entry = [&](const std::string& name, const Array& values) {
    number(static_cast<std::int32_t>(name.size()));
    old << name;
    number(4);
    const std::vector<float> sums = mul(values, 4).eval().to_vector<float>();
    number(static_cast<std::int32_t>(sums.size()));
    old.write(reinterpret_cast<const char*>(sums.data()),
              static_cast<std::streamsize>(sums.size() * sizeof(float)));
  };
  number(2);
  entry(matrix, mean);
  entry(experts, reshape(of_experts, {512}));
  old.close();
  for (const char* file : {"new.gguf", "old.dat"}) {
    SCOPED_TRACE(file);
    QuantizeOptions options;
    options.importance = read_importance(path(file));
    const GgufContents out = quantized("iq2_xs", options);
    EXPECT_EQ(of(out, matrix).to_doubles(),
              quantize(given(matrix), DType::iq2_xs, mean).to_doubles());
    const Array each = contiguous(expand(reshape(of_experts, {2, 1, 256}), {2, 4, 256}));
    EXPECT_EQ(of(out, experts).to_doubles(),
              quantize(given(experts), DType::iq2_xs, each).to_doubles());
  }
  // Cut at any byte, the older format is an error or has fewer entries' bytes than it says.
  std::ifstream whole(path("old.dat"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  for (std::size_t size = 0; size < 120; ++size) {
    std::ofstream(path("cut.dat"), std::ios::binary) << bytes.substr(0, size);
    EXPECT_THROW((void)read_importance(path("cut.dat")), Error) << size;
  }
  QuantizeOptions wrong;
  wrong.importance[matrix] = std::vector<float>(7, 1.0f);
  expect_error(ErrorCode::invalid_argument, [&] { (void)quantized("q4_k", wrong); });
}

TEST_F(QuantizeFile, RefusesImportanceOfOtherThings) {
  // A model where an importance matrix should be.
  EXPECT_TRUE(check::contains(
      check::error_of(ErrorCode::corrupt_file, [&] { (void)read_importance(path("in.gguf")); }),
      "no importance of matrices"));
  QuantizeOptions other;
  other.importance["model.of.something.else"] = std::vector<float>(256, 1.0f);
  EXPECT_TRUE(check::contains(
      check::error_of(ErrorCode::invalid_argument, [&] { (void)quantized("q4_k", other); }),
      "importance of another model; got that of \"model.of.something.else\" and 0 others"));
}

TEST_F(QuantizeFile, RefusesImportanceThatIsNoMeanOfSquares) {
  const std::string matrix = "blk.1.attn_q.weight";
  const auto message = [&](double sum, double count) {
    std::vector<float> sums(256, 1.0f);
    sums[70] = static_cast<float>(sum);
    const Array counts = full({1, 1}, static_cast<float>(count));
    save_gguf(
        path("new.gguf"),
        {{matrix + ".in_sum2", Array::from_data(sums, {1, 256})}, {matrix + ".counts", counts}},
        {{"general.type", "imatrix"}});
    return error_of(ErrorCode::corrupt_file, [&] { (void)read_importance(path("new.gguf")); });
  };
  const std::string of_matrix = " of \"" + matrix + "\", expected a finite number >= 0";
  EXPECT_TRUE(contains(message(kNaN, 4), "squares that is none; got nan" + of_matrix));
  EXPECT_TRUE(contains(message(kNaN, 0), "squares that is none; got nan" + of_matrix));
  EXPECT_TRUE(contains(message(kInfinity, 4), "squares that is none; got inf" + of_matrix));
  EXPECT_TRUE(contains(message(-1000, 4), "squares that is none; got -1000" + of_matrix));
  EXPECT_TRUE(contains(message(1, kNaN), "a count that is none; got nan" + of_matrix));
  EXPECT_TRUE(contains(message(1, -1), "a count that is none; got -1" + of_matrix));
  EXPECT_TRUE(contains(message(3e38, 1e-3), "a mean that is too large; got inf" + of_matrix));

  std::ofstream old(path("old.dat"), std::ios::binary);
  const auto number = [&](auto value) {
    old.write(reinterpret_cast<const char*>(&value), sizeof value);
  };
  number(std::int32_t{1});
  number(static_cast<std::int32_t>(matrix.size()));
  old << matrix;
  number(std::int32_t{4});
  number(std::int32_t{1});
  number(std::numeric_limits<float>::quiet_NaN());
  old.close();
  EXPECT_TRUE(
      contains(error_of(ErrorCode::corrupt_file, [&] { (void)read_importance(path("old.dat")); }),
               "squares that is none; got nan" + of_matrix));
}

TEST_F(QuantizeFile, ImportanceOfZeroLeavesTheWeights) {
  const std::string matrix = "blk.1.attn_q.weight";
  QuantizeOptions options;
  options.importance[matrix] = std::vector<float>(256, 0.0f);
  for (const char* type : {"q4_0", "q3_k_m", "q4_k_m", "q6_k", "iq4_xs"}) {
    EXPECT_EQ(of(quantized(type, options), matrix).to_doubles(),
              of(quantized(type), matrix).to_doubles())
        << type;
  }
}

TEST_F(QuantizeFile, RefusesWhatTheNewTypeDoesNotHold) {
  const std::string matrix = "blk.1.attn_q.weight";
  const auto write = [&](double value, DType dtype) {
    Array x = given(matrix);
    std::vector<double> elements = x.to_doubles();
    elements[3 * 256 + 5] = value;
    NamedArrays arrays = arrays_;
    for (NamedArray& each : arrays) {
      if (each.name == matrix) {
        each.array = cast(Array::from_data(elements, x.shape()), dtype).eval();
      }
    }
    save_gguf(path("in.gguf"), arrays, {{"general.architecture", "llama"}});
  };
  const auto message = [&](const std::string& type) {
    const std::string text = error_of(ErrorCode::invalid_argument, [&] { (void)quantized(type); });
    EXPECT_FALSE(std::filesystem::exists(path("out.gguf"))) << type;
    return text;
  };
  const std::string place = " at [3, 5] of \"" + matrix + "\", expected ";
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const char* type : {"q4_0", "q8_0", "q4_k_m", "mxfp4", "f16", "bf16", "f32", "keep"}) {
      SCOPED_TRACE(std::string(name(dtype)) + " " + type);
      write(kNaN, dtype);
      EXPECT_TRUE(contains(message(type), "a weight that is no finite number; got nan" + place));
      write(-kInfinity, dtype);
      EXPECT_TRUE(contains(message(type), "a weight that is no finite number; got -inf" + place));
    }
  }
  write(3e38, DType::f32);
  EXPECT_TRUE(contains(message("f16"), "a weight beyond f16; got 3e+38" + place));
  EXPECT_TRUE(contains(message("f16"), place + "at most 65504 in magnitude"));
  EXPECT_TRUE(contains(message("q4_0"), place + "at most 524032 in magnitude"));
  EXPECT_NO_THROW((void)quantized("bf16"));
  std::filesystem::remove(path("out.gguf"));
  write(-3.4e38, DType::f32);
  EXPECT_TRUE(contains(message("bf16"), "a weight beyond bf16; got -3.4e+38" + place));
  write(1e300, DType::f64);
  EXPECT_TRUE(contains(message("f32"), "a weight beyond f32; got 1e+300" + place));
  EXPECT_NO_THROW((void)quantized("keep"));
  write(2704, DType::bf16);
  EXPECT_NO_THROW((void)quantized("q4_0"));
  std::filesystem::remove(path("out.gguf"));
  EXPECT_TRUE(contains(message("nvfp4"), place + "at most 2688 in magnitude"));
  write(-65504, DType::f32);
  EXPECT_EQ(min(of(quantized("f16"), matrix)).item(), -65504);
}

TEST_F(QuantizeFile, RefusesPackedWeightsThatAreNoNumbers) {
  const std::string matrix = "blk.1.attn_q.weight";
  (void)quantized("q8_0");
  std::ifstream in(path("out.gguf"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  in.close();
  const HostBytes blocks = of(load_gguf(path("out.gguf")), matrix).host_bytes(DType::q8_0);
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(blocks.data), 34));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] = 0x7e;  // the first block's scale is NaN
  std::ofstream(path("in.gguf"), std::ios::binary) << bytes;
  std::filesystem::remove(path("out.gguf"));
  EXPECT_TRUE(contains(error_of(ErrorCode::invalid_argument, [&] { (void)quantized("q4_0"); }),
                       "no finite number; got nan at [0, 0] of \"" + matrix + "\""));
  EXPECT_FALSE(std::filesystem::exists(path("out.gguf")));
}

TEST_F(QuantizeFile, RefusesFilesThatChangeMeanwhile) {
  QuantizeOptions options;
  std::function<void()> change;
  options.progress = [&](const QuantizedTensorReport&, std::size_t done, std::size_t) {
    if (done == 2) change();
  };
  const auto message = [&] {
    const std::string text = error_of(ErrorCode::io, [&] { (void)quantized("q4_0", options); });
    EXPECT_FALSE(std::filesystem::exists(path("out.gguf")));
    return text;
  };
  change = [&] { std::ofstream(path("in.gguf"), std::ios::app) << "more"; };
  EXPECT_TRUE(contains(message(), "a file changed while it was read; got "));
  change = [&] {
    const auto written = std::filesystem::last_write_time(path("in.gguf"));
    std::filesystem::last_write_time(path("in.gguf"), written + std::chrono::seconds(1));
  };
  EXPECT_TRUE(contains(message(), "in.gguf\", expected the "));
  change = [&] { std::filesystem::rename(path("in.gguf"), path("moved.gguf")); };
  EXPECT_TRUE(contains(message(), "got no file in "));
  std::filesystem::rename(path("moved.gguf"), path("in.gguf"));
  change = [&] { std::ofstream(path("note.txt")) << "beside it"; };
  EXPECT_NO_THROW((void)quantized("q4_0", options));
}

TEST_F(QuantizeFile, LeavesTheOldFileWhereItFails) {
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)quantize_file(path("in.gguf"), path("in.gguf"), QuantizeOptions()); });
  expect_error(ErrorCode::io, [&] {
    (void)quantize_file(path("none.gguf"), path("out.gguf"), QuantizeOptions());
  });
  std::ofstream(path("out.gguf")) << "old";
  QuantizeOptions options;
  options.progress = [](const QuantizedTensorReport&, std::size_t done, std::size_t) {
    if (done == 4) throw std::runtime_error("stop");
  };
  EXPECT_THROW((void)quantized("q4_0", options), std::runtime_error);
  std::ifstream left(path("out.gguf"));
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(left)), {}), "old");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 2u);
}

TEST_F(QuantizeFile, WritesOverNothingThatIsRead) {
  save_gguf(path("split.gguf"), arrays_, {{"general.architecture", "llama"}},
            {.max_shard_bytes = 24 << 10});
  const auto part = [&](int number) {
    return path("split-0000" + std::to_string(number) + "-of-00002.gguf");
  };
  ASSERT_TRUE(std::filesystem::exists(part(2)));
  const auto refused = [&](const std::string& in, const std::string& out,
                           const QuantizeOptions& options = {}) {
    const std::string message =
        error_of(ErrorCode::invalid_argument, [&] { (void)quantize_file(in, out, options); });
    EXPECT_TRUE(contains(message, "a file that is read would be written over")) << message;
  };
  refused(part(1), part(2));
  QuantizeOptions shards;
  shards.type.is_kept = true;
  shards.file.max_shard_bytes = 24 << 10;
  refused(part(1), path("split.gguf"), shards);
  std::filesystem::create_hard_link(path("in.gguf"), path("link.gguf"));
  refused(path("in.gguf"), path("link.gguf"));
  std::ofstream(path("imatrix")) << "old";
  QuantizeOptions measured;
  measured.sources = {path("imatrix")};
  refused(path("in.gguf"), path("imatrix"), measured);
  // Before it is read, so that nobody waits for that.
  std::ofstream(path("broken.gguf")) << "no model";
  refused(path("broken.gguf"), path("broken.gguf"));
  EXPECT_EQ(load_gguf(part(1)).arrays.size(), arrays_.size());
}

// A folder without a tokenizer, whose matrices are halves.
class QuantizeFolder : public ::testing::Test {
 protected:
  QuantizeFolder() : golden_(testing::read_golden_model("llama_llama3")) {
    NamedArrays halves = testing::golden_weights(golden_);
    for (NamedArray& each : halves) each.array = cast(each.array, DType::bf16);
    testing::write_model_folder(golden_.config, halves, folder_.path(), 2);
  }

  GgufContents quantized(const std::string& type) {
    QuantizeOptions options;
    options.type = quantize_type_from_name(type);
    quantize_file(folder_.path().string(), folder_ / "out.gguf", options);
    return load_gguf(folder_ / "out.gguf");
  }
  static const Array& of(const GgufContents& contents, const std::string& name) {
    for (const NamedArray& each : contents.arrays) {
      if (each.name == name) return each.array;
    }
    throw std::logic_error(name);
  }

  testing::GoldenModel golden_;
  testing::TemporaryFolder folder_;
};

TEST_F(QuantizeFolder, RefusesWeightsThatChangeMeanwhile) {
  QuantizeOptions options;
  options.type = quantize_type_from_name("q8_0");
  std::string changed = "output.log";
  options.progress = [&](const QuantizedTensorReport&, std::size_t done, std::size_t) {
    if (done == 1) std::ofstream(folder_ / changed, std::ios::app) << " ";
  };
  const auto quantize_it = [&] {
    (void)quantize_file(folder_.path().string(), folder_ / "out.gguf", options);
  };
  EXPECT_NO_THROW(quantize_it());
  std::filesystem::remove(folder_ / "out.gguf");
  for (const auto& each : std::filesystem::directory_iterator(folder_.path())) {
    if (each.path().extension() == ".safetensors") changed = each.path().filename().string();
  }
  EXPECT_TRUE(contains(error_of(ErrorCode::io, quantize_it), changed + "\", expected the "));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.gguf"));
}

TEST_F(QuantizeFolder, BecomesAFile) {
  const GgufContents kept = quantized("keep");
  EXPECT_EQ(kept.metadata.as_text("general.architecture"), "llama");
  EXPECT_EQ(kept.metadata.as_text("general.name"), folder_.path().filename().string());
  EXPECT_EQ(kept.metadata.as_text("tokenizer.ggml.model"), "none");
  EXPECT_EQ(kept.metadata.as_int("general.file_type"), 32);
  EXPECT_EQ(kept.metadata.at("llama.rope.freq_base").type(), GgufType::f32);
  EXPECT_FALSE(kept.metadata.contains("llama.rope.scaling.type"));
  EXPECT_EQ(of(kept, "rope_freqs.weight").dtype(), DType::f32);
  EXPECT_EQ(of(kept, "blk.0.attn_norm.weight").dtype(), DType::f32);
  EXPECT_EQ(of(kept, "blk.0.ffn_up.weight").dtype(), DType::bf16);
  const GgufContents wide = quantized("f32");
  EXPECT_EQ(wide.metadata.as_int("general.file_type"), 0);
  const Array& q = of(kept, "blk.1.attn_q.weight");
  const std::vector<double> rows = cast(q, DType::f64).to_vector<double>();
  EXPECT_EQ(rows, cast(of(wide, "blk.1.attn_q.weight"), DType::f64).to_vector<double>());
  // Row h d + 2 i + p is what row h d + p d / 2 + i was.
  for (const NamedArray& each : testing::golden_weights(golden_)) {
    if (each.name != "model.layers.1.self_attn.q_proj.weight") continue;
    const std::vector<double> given =
        cast(cast(each.array, DType::bf16), DType::f64).to_vector<double>();
    const std::size_t in = static_cast<std::size_t>(q.shape(1)), dim = 12;
    for (std::size_t row = 0; row < rows.size() / in; ++row) {
      const std::size_t i = row % dim;
      const std::size_t from = row - i + i % 2 * (dim / 2) + i / 2;
      for (std::size_t column = 0; column < in; ++column) {
        EXPECT_EQ(rows[row * in + column], given[from * in + column]);
      }
    }
  }
  const GgufContents small = quantized("q8_0");
  EXPECT_EQ(of(small, "blk.0.ffn_up.weight").dtype(), DType::bf16);  // 48 is no multiple of 32
  EXPECT_EQ(small.metadata.as_int("general.file_type"), 32);         // as most weights are
}

// A matrix in MLX's words of 8 bits, 32 elements a group, with scales in f32; and what they stand
// for.
struct MlxMatrix {
  explicit MlxMatrix(const Array& x) {
    const std::int64_t rows = x.shape(0), groups = x.shape(1) / 32;
    const Array parts = reshape(x, {rows, groups, 32});
    const Array least = min(parts, {2}, true);
    const Array scale = div(sub(max(parts, {2}, true), least), 255);
    const Array codes = round(div(sub(parts, least), scale));
    std::vector<std::uint32_t> packed(static_cast<std::size_t>(x.size() / 4));
    const std::vector<double> each = codes.to_doubles();
    for (std::size_t i = 0; i < each.size(); ++i) {
      packed[i / 4] |= static_cast<std::uint32_t>(each[i]) << 8 * (i % 4);
    }
    words = Array::from_data(packed, {rows, groups * 8});
    scales = reshape(scale, {rows, groups});
    biases = reshape(least, {rows, groups});
    values = reshape(add(mul(codes, scale), least), x.shape()).eval();
  }
  Array words, scales, biases, values;
};

TEST(QuantizeMlxFolder, CodesThatFilesLackBecomeFloats) {
  testing::GoldenModel golden = testing::read_golden_model("gpt_neox");
  const std::string module = "gpt_neox.layers.1.mlp.dense_4h_to_h";
  for (const double size : {1.0, 1e6}) {
    NamedArrays arrays;
    Array values;
    for (const NamedArray& each : testing::golden_weights(golden)) {
      if (each.name != module + ".weight") {
        arrays.push_back(each);
        continue;
      }
      const MlxMatrix matrix(mul(each.array, size));
      values = matrix.values;
      arrays.push_back({module + ".weight", matrix.words});
      arrays.push_back({module + ".scales", matrix.scales});
      arrays.push_back({module + ".biases", matrix.biases});
    }
    JsonObject config = golden.config;
    config.emplace_back("quantization",
                        JsonObject{{"bits", std::int64_t{8}}, {"group_size", std::int64_t{32}}});
    const testing::TemporaryFolder folder;
    testing::write_model_folder(config, arrays, folder.path());
    QuantizeOptions options;
    options.type = quantize_type_from_name("keep");
    quantize_file(folder.path().string(), folder / "out.gguf", options);
    const GgufContents written = load_gguf(folder / "out.gguf");
    const auto at =
        std::find_if(written.arrays.begin(), written.arrays.end(),
                     [](const auto& each) { return each.name == "blk.1.ffn_down.weight"; });
    ASSERT_NE(at, written.arrays.end());
    const DType dtype = size == 1.0 ? DType::f16 : DType::bf16;  // f16 ends at 65504
    EXPECT_EQ(at->array.dtype(), dtype);
    const double most = max(abs(values)).item() * (size == 1.0 ? 0x1p-11 : 0x1p-8);
    const double error = max(abs(sub(cast(at->array, DType::f32), values))).item();
    EXPECT_LE(error, most);
    EXPECT_GT(most, 0);
  }
}

}  // namespace
}  // namespace hearth::models

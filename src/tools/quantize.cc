// `hearth quantize`: a model's file with smaller weights.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/files/model_folder.h"
#include "models/quantize/quantize_file.h"
#include "runtime/device/worker_pool.h"
#include "tools/commands.h"
#include "tools/dtype_option.h"
#include "tools/lm/model_name.h"
#include "tools/lm/model_options.h"
#include "tools/lm/option_file.h"
#include "tools/output.h"
#include "tools/progress_bar.h"

namespace hearth::tools {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::string mebibytes(std::int64_t bytes) {
  return decimal(static_cast<double>(bytes) / kMiB, 1) + " MiB";
}

// Says once that weights are rounded that were rounded before.
class RepackedNote {
 public:
  void see(const models::QuantizedTensorReport& tensor) {
    if (is_said_ || tensor.stays || !is_packed(tensor.from) || !is_packed(tensor.to)) {
      return;
    }
    is_said_ = true;
    write_note("quantize: warning: the weights are packed already, such as " +
               hearth::quoted(tensor.name) + " in " + std::string(name(tensor.from)) +
               ", and lose more than those of an f16 or bf16 file would\n");
  }

 private:
  bool is_said_ = false;
};

// Matrices whose rows the blocks of the type do not divide, and which have other types therefore.
class OtherTypes {
 public:
  explicit OtherTypes(DType dtype) : dtype_(dtype) {}

  void see(const models::QuantizedTensorReport& tensor) {
    if (tensor.row == 0 || !is_packed(dtype_)) return;
    ++matrices_;
    if (tensor.row % block_of(dtype_) == 0) return;
    Group& group = is_packed(tensor.to) ? larger_ : unpacked_;
    if (group.count++ == 0) group.first = tensor;
  }

  void write(const std::string& type) const {
    if (unpacked_.count > 0) {
      write_note("quantize: warning: " + share(unpacked_) + " not packed, such as " +
                 in_its_type(unpacked_) + ": " + no_blocks() + " rows of " +
                 std::to_string(unpacked_.first.row) + "\n");
    }
    if (larger_.count > 0) {
      write_note("quantize: " + share(larger_) + " of larger types than " + type +
                 " has, such as " + in_its_type(larger_) + ": blocks of " +
                 std::to_string(block_of(dtype_)) + " values do not divide rows of " +
                 std::to_string(larger_.first.row) + "\n");
    }
  }

 private:
  struct Group {
    std::int64_t count = 0;
    models::QuantizedTensorReport first;
  };

  std::string no_blocks() const {
    constexpr std::int64_t kSmall = 32;  // of the types that take a larger one's place
    const std::string blocks = "blocks of " + std::to_string(block_of(dtype_)) + " values ";
    if (block_of(dtype_) == kSmall) return blocks + "do not divide";
    return "neither " + blocks + "nor of " + std::to_string(kSmall) + " divide";
  }
  static std::string in_its_type(const Group& group) {
    return hearth::quoted(group.first.name) + " in " + std::string(name(group.first.to));
  }
  std::string share(const Group& group) const {
    return std::to_string(group.count) + " of " + std::to_string(matrices_) +
           (matrices_ == 1 ? " matrix is" : " matrices are");
  }

  DType dtype_;
  std::int64_t matrices_ = 0;
  Group unpacked_, larger_;
};

// Says that nobody will be able to read or write texts with the file.
void note_tokenizer(const std::string& in, const std::string& out) {
  std::error_code ignored;
  if (!models::is_model_folder(in) || std::filesystem::exists(in + "/tokenizer.json", ignored)) {
    return;
  }
  write_note("quantize: warning: " + hearth::quoted(out) + " has no tokenizer, and so reads and " +
             "writes no texts: " + hearth::quoted(in) + " has no tokenizer.json\n");
}

// llama.cpp's numbers of types, "15" for "q4_k_m".
std::vector<std::pair<std::string, std::string>> type_numbers() {
  std::vector<std::pair<std::string, std::string>> numbers;
  for (const std::string& name : models::quantize_type_names()) {
    const std::int64_t number = models::file_type_of(models::quantize_type_from_name(name));
    if (number >= 0) numbers.emplace_back(std::to_string(number), name);
  }
  return numbers;
}

// A type in the place of the file, as in IN TYPE or IN TYPE NTHREADS.
void require_file_name(const std::string& out) {
  std::string lower = out;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto types = models::quantize_type_names();
  if (std::find(types.begin(), types.end(), lower) == types.end()) return;
  throw Error(ErrorCode::invalid_argument, "quantize: no file to write; got the type " +
                                               hearth::quoted(out) + " alone, expected IN OUT " +
                                               "TYPE, or --type TYPE beside IN OUT");
}

}  // namespace

void add_quantize(CommandLine& line) {
  struct Arguments {
    std::string in, out, type = "q4_k_m", importance;
    std::vector<std::string> adapters;
    bool is_pure = false, is_quiet = false;
    std::int64_t shard_mib = 0;
    int threads = 0;  // 0: one a core
  };
  const auto arguments = std::make_shared<Arguments>();
  Command command =
      line.add_command("quantize", "Write a model as a GGUF file with smaller weights");
  command
      .option("in", arguments->in,
              "A GGUF file, any part of a split one, or a folder of Hugging Face or `hearth train`")
      .value_name("FILE")
      .check(model_name_fault)
      .required();
  command.option("out", arguments->out, "The GGUF file to write").value_name("FILE").required();
  command
      .option("--type,type", arguments->type,
              "Type of the weights, by llama.cpp's name or number, which gives some matrices more "
              "bits and some fewer; keep: leave them as they are")
      .show_default()
      .one_of(models::quantize_type_names())
      .other_words(type_numbers())
      .other_words(dtype_words())
      .lower_case();
  command.option("-t,--threads,threads", arguments->threads, "CPU threads [one per core]")
      .range(std::int64_t{1}, std::int64_t{WorkerPool::kMaxThreads});
  command
      .option("--imatrix", arguments->importance, "Importance matrix, as llama-imatrix writes it")
      .value_name("FILE");
  add_adapter_option(command, arguments->adapters);
  command.flag("--pure", arguments->is_pure,
               "Give all matrices the same type, that of the output too");
  command
      .option("--shard-mib", arguments->shard_mib,
              "Write several files of at most this many MiB each")
      .range(std::int64_t{1}, std::int64_t{1} << 40);
  command.flag("--quiet", arguments->is_quiet, "Print no line for each tensor");
  command.action([arguments] {
    require_file_name(arguments->out);
    if (arguments->threads > 0) WorkerPool::global().set_threads(arguments->threads);
    models::QuantizeOptions options;
    options.type = models::quantize_type_from_name(arguments->type);
    options.type.is_pure = arguments->is_pure;
    options.file.max_shard_bytes = arguments->shard_mib << 20;
    if (!arguments->importance.empty()) {
      options.sources.push_back(arguments->importance);
      options.importance = read_option_file("--imatrix", "a file of llama-imatrix", [&] {
        return models::read_importance(arguments->importance);
      });
    }
    if (models::needs_importance(options.type.dtype) && options.importance.empty()) {
      write_note("quantize: warning: " + arguments->type +
                 " without an importance matrix leaves little of a model; --imatrix FILE names "
                 "one, which llama.cpp's llama-imatrix makes\n");
    }
    options.adapters = adapter_files(arguments->adapters);
    require_adapters("--lora", options.adapters);
    RepackedNote repacked;
    OtherTypes others(options.type.is_kept ? DType::f32 : options.type.dtype);
    std::int64_t before = 0, after = 0;
    // Lines and a bar on one terminal would be mixed up.
    const bool has_lines = !arguments->is_quiet;
    std::optional<ProgressBar> bar;
    if (!has_lines || isatty(STDOUT_FILENO) == 0) bar.emplace("quantizing");
    options.progress = [&](const models::QuantizedTensorReport& tensor, std::size_t done,
                           std::size_t count) {
      repacked.see(tensor);
      others.see(tensor);
      before += tensor.bytes_before;
      after += tensor.bytes_after;
      if (bar) bar->show(static_cast<double>(done) / static_cast<double>(count));
      if (!has_lines) return;
      write_out("[" + std::to_string(done) + "/" + std::to_string(count) + "] " +
                hearth::quoted(tensor.name) + " " + std::string(name(tensor.from)) + " -> " +
                std::string(name(tensor.to)) + ", " + mebibytes(tensor.bytes_after) + "\n");
    };
    const auto paths = models::quantize_file(arguments->in, arguments->out, options);
    bar.reset();
    others.write(arguments->type);
    note_tokenizer(arguments->in, arguments->out);
    for (const std::string& path : paths) write_out("wrote " + hearth::quoted(path) + "\n");
    write_out(mebibytes(before) + " -> " + mebibytes(after) + "\n");
  });
}

}  // namespace hearth::tools

// What `hearth bench-model` prints: as a table, or with llama-bench's columns among others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "tools/model_bench/measure.h"
#include "tools/model_bench/sweep.h"

namespace hearth::tools {

struct ModelBenchReport {
  std::string model;  // the file's name; of a shape "llama-1b q4_0"
  std::string path;   // of the file; of a shape as `model`
  std::string type;   // "llama 1.1B Q4_0": family, parameters, type of the file or of most
  std::int64_t bytes = 0;
  std::int64_t parameters = 0;
  std::string backend;  // "CPU", as llama-bench has it
  std::string device;
  ModelBenchSweep sweep;
  models::CacheType keys = {}, values = {};
  std::vector<ModelBenchRow> rows;
};

// A table of Markdown, whose models are types, as in llama-bench's; n_batch is a column where there
// are several.
std::string model_bench_table(const ModelBenchReport& report);
// "2.50 B", "268.10 M".
std::string parameters_text(std::int64_t parameters);
// "1.1B", "268M": as names of models have it.
std::string parameters_name(std::int64_t parameters);
// A line a row, below one of names: those of llama-bench's that are of a measurement and the model,
// which mean the same here (n_ubatch is n_batch, rows of a pass), then device, test and best_ts.
std::string model_bench_csv(const ModelBenchReport& report);
// Rows have the same members, and samples_ns and samples_ts, beside others.
JsonObject model_bench_document(const ModelBenchReport& report);

}  // namespace hearth::tools

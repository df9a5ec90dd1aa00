// What `hearth bench-model` prints, in the columns of llama-bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "tools/model_bench/measure.h"
#include "tools/model_bench/sweep.h"

namespace hearth::tools {

struct ModelBenchReport {
  std::string model;  // "llama-1b q4_0", or the file's name
  std::int64_t bytes = 0;
  std::int64_t parameters = 0;
  std::string device;
  ModelBenchSweep sweep;
  models::CacheType keys = {}, values = {};
  std::vector<ModelBenchRow> rows;
};

// A table of Markdown; n_batch is a column where there are several.
std::string model_bench_table(const ModelBenchReport& report);
// A line a row, below one of names, which are llama-bench's where it has such a column.
std::string model_bench_csv(const ModelBenchReport& report);
JsonObject model_bench_document(const ModelBenchReport& report);

}  // namespace hearth::tools

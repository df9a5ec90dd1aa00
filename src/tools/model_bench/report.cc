#include "tools/model_bench/report.h"

#include <algorithm>
#include <array>

#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr std::size_t kColumns = 8;
using TableLine = std::array<std::string, kColumns>;

std::string test_text(const ModelBenchRow& row) {
  if (!row.held) return row.test;
  return row.test + ", " + decimal(100 * *row.held, 0) + " % held";
}

}  // namespace

std::string model_bench_table(const ModelBenchReport& report) {
  std::vector<TableLine> lines = {
      {"model", "size", "params", "device", "threads", "test", "t/s", "best"}};
  for (const ModelBenchRow& row : report.rows) {
    lines.push_back(
        {report.model, decimal(static_cast<double>(report.bytes) / (1 << 20), 2) + " MiB",
         decimal(static_cast<double>(report.parameters) / 1e6, 2) + " M", report.device,
         std::to_string(report.threads), test_text(row),
         decimal(row.mean(), 2) + " +- " + decimal(row.deviation(), 2), decimal(row.best(), 2)});
  }
  std::string text;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    std::string rule = "|";
    for (std::size_t i = 0; i < kColumns; ++i) {
      std::size_t width = 0;
      for (const TableLine& line : lines) width = std::max(width, line[i].size());
      text += "| " + std::string(width - lines[at][i].size(), ' ') + lines[at][i] + " ";
      rule += std::string(width + 1, '-') + ":|";
    }
    text += "|\n" + (at == 0 ? rule + "\n" : "");
  }
  return text;
}

JsonObject model_bench_document(const ModelBenchReport& report) {
  JsonArray rows;
  for (const ModelBenchRow& row : report.rows) {
    rows.push_back(JsonObject{{"test", row.test},
                              {"mean", row.mean()},
                              {"deviation", row.deviation()},
                              {"best", row.best()},
                              {"held", row.held},
                              {"samples", JsonArray(row.rates.begin(), row.rates.end())}});
  }
  return {{"model", report.model},
          {"bytes", report.bytes},
          {"parameters", report.parameters},
          {"device", report.device},
          {"threads", std::int64_t{report.threads}},
          {"prompt", report.options.prompt},
          {"tokens", report.options.tokens},
          {"depth", report.options.depth},
          {"batch", report.options.batch},
          {"cache", std::string(name(report.options.cache))},
          {"unit", "tokens per second"},
          {"rows", std::move(rows)}};
}

}  // namespace hearth::tools

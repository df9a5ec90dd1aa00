#include "tools/model_bench/report.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tools/lm/model_options.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

using TableLine = std::vector<std::string>;

std::string test_text(const ModelBenchRow& row) {
  if (!row.held) return row.test;
  return row.test + ", " + decimal(100 * *row.held, 0) + " % held";
}

std::string size_text(std::int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  return bytes < (1 << 30) ? decimal(size / (1 << 20), 2) + " MiB"
                           : decimal(size / (1 << 30), 2) + " GiB";
}

std::string parameters_text(std::int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  return count < 1e9 ? decimal(count / 1e6, 2) + " M" : decimal(count / 1e9, 2) + " B";
}

std::string csv_line(const std::vector<std::string>& values) {
  std::string line;
  for (const std::string& value : values) {
    line += line.empty() ? "\"" : ",\"";
    for (const char c : value) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += "\"";
  }
  return line + "\n";
}

// A number where there is one, else an array.
JsonValue one_or_all(const std::vector<std::int64_t>& counts) {
  if (counts.size() == 1) return counts.front();
  return JsonArray(counts.begin(), counts.end());
}

}  // namespace

std::string model_bench_table(const ModelBenchReport& report) {
  const bool has_pieces = report.sweep.pieces.size() > 1;
  const auto line_of = [&](TableLine line, const std::string& piece) {
    if (has_pieces) line.insert(line.begin() + 5, piece);
    return line;
  };
  std::vector<TableLine> lines = {
      line_of({"model", "size", "params", "device", "threads", "test", "t/s", "best"}, "n_batch")};
  for (const ModelBenchRow& row : report.rows) {
    lines.push_back(line_of(
        {report.model, size_text(report.bytes), parameters_text(report.parameters), report.device,
         std::to_string(row.threads), test_text(row),
         decimal(row.mean(), 2) + " +- " + decimal(row.deviation(), 2), decimal(row.best(), 2)},
        std::to_string(row.piece)));
  }
  std::string text;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    std::string rule = "|";
    for (std::size_t i = 0; i < lines[at].size(); ++i) {
      std::size_t width = 0;
      for (const TableLine& line : lines) width = std::max(width, line[i].size());
      text += "| " + std::string(width - lines[at][i].size(), ' ') + lines[at][i] + " ";
      rule += std::string(width + 1, '-') + ":|";
    }
    text += "|\n" + (at == 0 ? rule + "\n" : "");
  }
  return text;
}

std::string model_bench_csv(const ModelBenchReport& report) {
  std::string text =
      csv_line({"model_filename", "model_size", "model_n_params", "device", "n_threads", "type_k",
                "type_v", "n_batch", "n_depth", "test", "avg_ts", "stddev_ts", "best_ts"});
  for (const ModelBenchRow& row : report.rows) {
    text += csv_line({report.model, std::to_string(report.bytes), std::to_string(report.parameters),
                      report.device, std::to_string(row.threads), name(report.keys),
                      name(report.values), std::to_string(row.piece), std::to_string(row.depth),
                      test_text(row), decimal(row.mean(), 6), decimal(row.deviation(), 6),
                      decimal(row.best(), 6)});
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
                              {"threads", row.threads},
                              {"piece", row.piece},
                              {"depth", row.depth},
                              {"samples", JsonArray(row.rates.begin(), row.rates.end())}});
  }
  return {{"model", report.model},
          {"bytes", report.bytes},
          {"parameters", report.parameters},
          {"device", report.device},
          {"threads", one_or_all(report.sweep.threads)},
          {"prompt", one_or_all(report.sweep.prompts)},
          {"tokens", one_or_all(report.sweep.tokens)},
          {"depth", one_or_all(report.sweep.depths)},
          {"sequences", one_or_all(report.sweep.sequences)},
          {"cache", cache_text(name(report.keys), name(report.values))},
          {"unit", "tokens per second"},
          {"rows", std::move(rows)}};
}

}  // namespace hearth::tools

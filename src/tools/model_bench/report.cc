#include "tools/model_bench/report.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>
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

std::string plain_text(const JsonValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* real = std::get_if<double>(&value)) return decimal(*real, 6);
  return json_text(value);
}

// Nanoseconds of each repetition.
std::vector<double> durations(const ModelBenchRow& row) {
  const auto tokens = static_cast<double>((row.prompt + row.tokens) * row.parallel);
  std::vector<double> all;
  for (const double rate : row.rates) all.push_back(1e9 * tokens / rate);
  return all;
}

std::int64_t rounded(double value) { return static_cast<std::int64_t>(std::llround(value)); }

// What llama-bench says of a measurement, without its samples.
JsonObject columns_of(const ModelBenchReport& report, const ModelBenchRow& row) {
  const std::vector<double> times = durations(row);
  return {{"backends", report.backend},
          {"model_filename", report.path},
          {"model_type", report.type},
          {"model_size", report.bytes},
          {"model_n_params", report.parameters},
          {"n_batch", row.prefill},
          {"n_ubatch", row.prefill},
          {"n_threads", row.threads},
          {"type_k", name(report.keys)},
          {"type_v", name(report.values)},
          {"n_prompt", row.prompt},
          {"n_gen", row.tokens},
          {"n_depth", row.depth},
          {"test_time", row.time},
          {"avg_ns", rounded(mean_of(times))},
          {"stddev_ns", rounded(deviation_of(times))},
          {"avg_ts", row.mean()},
          {"stddev_ts", row.deviation()}};
}

}  // namespace

std::string parameters_text(std::int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  return count < 1e9 ? decimal(count / 1e6, 2) + " M" : decimal(count / 1e9, 2) + " B";
}

std::string parameters_name(std::int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  const auto [unit, letter] = count < 1e6   ? std::pair(1e3, "K")
                              : count < 1e9 ? std::pair(1e6, "M")
                                            : std::pair(1e9, "B");
  std::string number = decimal(count / unit, count / unit < 100 ? 1 : 0);
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return number + letter;
}

std::string model_bench_table(const ModelBenchReport& report) {
  const bool has_prefills = report.sweep.prefills.size() > 1;
  const auto line_of = [&](TableLine line, const std::string& prefill) {
    if (has_prefills) line.insert(line.begin() + 5, prefill);
    return line;
  };
  std::vector<TableLine> lines = {
      line_of({"model", "size", "params", "device", "threads", "test", "t/s", "best"}, "n_batch")};
  for (const ModelBenchRow& row : report.rows) {
    lines.push_back(line_of(
        {report.type, size_text(report.bytes), parameters_text(report.parameters), report.device,
         std::to_string(row.threads), test_text(row),
         decimal(row.mean(), 2) + " +- " + decimal(row.deviation(), 2), decimal(row.best(), 2)},
        std::to_string(row.prefill)));
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
  std::string text;
  for (const ModelBenchRow& row : report.rows) {
    JsonObject columns = columns_of(report, row);
    columns.emplace_back("device", report.device);
    columns.emplace_back("test", test_text(row));
    columns.emplace_back("best_ts", row.best());
    std::vector<std::string> names, values;
    for (const auto& [column, value] : columns) {
      names.push_back(column);
      values.push_back(plain_text(value));
    }
    if (text.empty()) text = csv_line(names);
    text += csv_line(values);
  }
  return text;
}

JsonObject model_bench_document(const ModelBenchReport& report) {
  JsonArray rows;
  for (const ModelBenchRow& row : report.rows) {
    JsonObject members = {{"test", row.test},
                          {"mean", row.mean()},
                          {"deviation", row.deviation()},
                          {"best", row.best()},
                          {"held", row.held},
                          {"threads", row.threads},
                          {"piece", row.prefill},
                          {"depth", row.depth},
                          {"samples", JsonArray(row.rates.begin(), row.rates.end())}};
    for (auto& column : columns_of(report, row)) members.push_back(std::move(column));
    JsonArray times;
    for (const double time : durations(row)) times.emplace_back(rounded(time));
    members.emplace_back("samples_ns", std::move(times));
    members.emplace_back("samples_ts", JsonArray(row.rates.begin(), row.rates.end()));
    rows.push_back(std::move(members));
  }
  return {{"model", report.model},
          {"bytes", report.bytes},
          {"parameters", report.parameters},
          {"device", report.device},
          {"threads", one_or_all(report.sweep.threads)},
          {"prompt", one_or_all(report.sweep.prompts)},
          {"tokens", one_or_all(report.sweep.tokens)},
          {"depth", one_or_all(report.sweep.depths)},
          {"sequences", one_or_all(report.sweep.parallel)},
          {"cache", cache_text(name(report.keys), name(report.values))},
          {"unit", "tokens per second"},
          {"rows", std::move(rows)}};
}

}  // namespace hearth::tools

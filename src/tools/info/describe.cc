#include "tools/info/describe.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/counted.h"
#include "core/number_text.h"
#include "core/quoted.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr std::size_t kShownElements = 8;
constexpr std::size_t kShownText = 80;
constexpr std::size_t kShownArrayText = 16;
constexpr std::size_t kMaxColumn = 48;

// Printable ASCII, without quotes.
std::string printable_text(const std::string& text) {
  const std::string all = hearth::quoted(text, text.size());
  return all.substr(1, all.size() - 2);
}

// The cells of rows in columns: the first `left` columns flush left, the others flush right.
class Table {
 public:
  explicit Table(std::size_t left) : left_(left) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], std::min(row[i].size(), kMaxColumn));
      }
    }
    std::string out;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string blank(widths[i] - std::min(widths[i], row[i].size()), ' ');
        if (i > 0) out += "  ";
        if (i < left_) {
          out += i + 1 < row.size() ? row[i] + blank : row[i];
        } else {
          out += blank + row[i];
        }
      }
      out += '\n';
    }
    return out;
  }

 private:
  std::size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

template <class T>
struct VectorOf : std::false_type {};
template <class T>
struct VectorOf<std::vector<T>> : std::true_type {};

// How many elements of an array are shown.
std::size_t shown_count(std::size_t count, const InfoOptions& options) {
  return options.all ? count : std::min(count, kShownElements);
}

template <class T>
std::string scalar_text(const T& value, std::size_t limit) {
  if constexpr (std::is_same_v<T, std::string>) {
    return hearth::quoted(value, limit);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else {
    return number_text(value);
  }
}

std::string value_text(const GgufValue& value, const InfoOptions& options) {
  return std::visit(
      [&]<class T>(const T& held) -> std::string {
        if constexpr (VectorOf<T>::value) {
          std::string out;
          const std::size_t shown = shown_count(held.size(), options);
          for (std::size_t i = 0; i < shown; ++i) {
            const typename T::value_type element = held[i];
            const std::size_t limit = options.all ? std::string::npos : kShownArrayText;
            out += (i > 0 ? ", " : "") + scalar_text(element, limit);
          }
          return shown < held.size() ? out + ", ..." : out;
        } else {
          return scalar_text(held, options.all ? std::string::npos : kShownText);
        }
      },
      value.storage());
}

std::string type_text(const GgufValue& value) {
  const std::string type(name(value.element_type()));
  return value.is_array() ? type + "[" + std::to_string(value.size()) + "]" : type;
}

template <class T>
JsonValue scalar_json(const T& value) {
  if constexpr (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, bool> ||
                std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return double{value};
  } else {
    return std::int64_t{value};
  }
}

JsonValue value_json(const GgufValue& value, const InfoOptions& options) {
  return std::visit(
      [&]<class T>(const T& held) -> JsonValue {
        if constexpr (VectorOf<T>::value) {
          JsonArray out;
          const std::size_t shown = shown_count(held.size(), options);
          for (std::size_t i = 0; i < shown; ++i) {
            const typename T::value_type element = held[i];
            out.push_back(scalar_json(element));
          }
          return out;
        } else {
          return scalar_json(held);
        }
      },
      value.storage());
}

DTypeTotal total_of(const std::vector<DTypeTotal>& totals) {
  DTypeTotal total{};
  for (const DTypeTotal& each : totals) {
    total.tensors += each.tensors;
    total.elements += each.elements;
    total.bytes += each.bytes;
  }
  return total;
}

// Null for a text or number that is not there.
template <class T>
JsonValue or_null(const T& value) {
  return value == T() ? JsonValue(nullptr) : JsonValue(value);
}

std::string dtype_table(const std::vector<DTypeTotal>& totals) {
  Table table(1);
  table.add({"dtype", "tensors", "parameters", "bytes", "bits per weight"});
  const auto add = [&](std::string name, const DTypeTotal& total) {
    table.add({std::move(name), std::to_string(total.tensors), std::to_string(total.elements),
               std::to_string(total.bytes), decimal(bits_per_weight(total), 2)});
  };
  for (const DTypeTotal& total : totals) add(total.dtype, total);
  if (totals.size() != 1) add("all", total_of(totals));
  return table.text();
}

}  // namespace

std::string info_text(const ModelFile& file, const InfoOptions& options) {
  Table head(2);
  head.add({"format", file.format +
                          (file.version == 0 ? "" : " version " + std::to_string(file.version)) +
                          (file.files == 1 ? "" : ", " + counted(file.files, "file"))});
  if (!file.architecture.empty()) {
    head.add({"architecture", printable_text(file.architecture)});
    head.add({"family", file.family.empty() ? "none that hearth knows" : file.family});
  }
  if (!file.name.empty()) head.add({"name", printable_text(file.name)});
  for (const std::string& other : file.others) head.add({"with", other});
  if (file.alignment != 0) head.add({"alignment", std::to_string(file.alignment)});
  std::string out = head.text() + "\n" + dtype_table(file.totals());
  if (!file.metadata.empty()) {
    Table metadata(3);
    for (const auto& [key, value] : file.metadata) {
      metadata.add({printable_text(key), type_text(value), value_text(value, options)});
    }
    out += "\n" + metadata.text();
  }
  if (options.tensors && !file.tensors.empty()) {
    Table tensors(3);
    for (const TensorFacts& each : file.tensors) {
      tensors.add({printable_text(each.name), each.dtype, to_string(each.shape),
                   std::to_string(each.bytes)});
    }
    out += "\n" + tensors.text();
  }
  return out;
}

JsonObject info_document(const ModelFile& file, const InfoOptions& options) {
  const std::vector<DTypeTotal> totals = file.totals();
  const DTypeTotal all = total_of(totals);
  JsonArray dtypes;
  for (const DTypeTotal& total : totals) {
    dtypes.push_back(JsonObject{{"dtype", total.dtype},
                                {"tensors", total.tensors},
                                {"parameters", total.elements},
                                {"bytes", total.bytes},
                                {"bits_per_weight", bits_per_weight(total)}});
  }
  JsonArray metadata;
  for (const auto& [key, value] : file.metadata) {
    JsonObject entry = {{"key", key}, {"type", std::string(name(value.element_type()))}};
    if (value.is_array()) entry.emplace_back("count", value.size());
    entry.emplace_back("value", value_json(value, options));
    metadata.push_back(std::move(entry));
  }
  JsonObject document = {{"format", file.format},
                         {"version", or_null(std::int64_t{file.version})},
                         {"files", std::int64_t{file.files}},
                         {"alignment", or_null(file.alignment)},
                         {"architecture", or_null(file.architecture)},
                         {"family", or_null(file.family)},
                         {"name", or_null(file.name)},
                         {"parameters", all.elements},
                         {"bytes", all.bytes},
                         {"dtypes", std::move(dtypes)},
                         {"metadata", std::move(metadata)}};
  if (!file.others.empty()) {
    document.emplace_back("with", JsonArray(file.others.begin(), file.others.end()));
  }
  if (options.tensors) {
    JsonArray tensors;
    for (const TensorFacts& each : file.tensors) {
      tensors.push_back(JsonObject{{"name", each.name},
                                   {"dtype", each.dtype},
                                   {"shape", JsonArray(each.shape.begin(), each.shape.end())},
                                   {"bytes", each.bytes}});
    }
    document.emplace_back("tensors", std::move(tensors));
  }
  return document;
}

}  // namespace hearth::tools

#include "models/adapters/adapter.h"

#include <cmath>
#include <optional>
#include <utility>

#include "core/counted.h"
#include "core/number_text.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/files/row_order.h"
#include "models/files/tensor_roles.h"
#include "models/language/folder/standard_rules.h"
#include "models/language/folder/tensor_rules.h"
#include "models/language/mixer.h"

namespace hearth::models {
namespace {

constexpr std::string_view kWeightEnding = ".weight";

const Family& family_of_model(const AdaptedModel& model) {
  return family_by_name(model.config.architecture);
}

const LayerConfig* layer_of_projection(const std::string& name, const AdaptedModel& model) {
  const std::int64_t layer = layer_of(name);
  const auto count = static_cast<std::int64_t>(model.config.layers.size());
  return layer < 0 || layer >= count ? nullptr
                                     : &model.config.layers[static_cast<std::size_t>(layer)];
}

// Heads whose rows GGUF files have in an order of their own; 0: of no such projection.
std::int64_t permuted_heads(const std::string& name, const AdaptedModel& model) {
  const LayerConfig* layer = layer_of_projection(name, model);
  if (layer == nullptr || !family_of_model(model).is_permuted) return 0;
  const TensorRole role = role_of(name);
  if (role == TensorRole::query) return layer->attention.heads;
  return role == TensorRole::key ? layer->attention.kv_heads : 0;
}

// Rows of a folder as files have them, or the other way.
Array reordered(const std::string& name, const Array& b, const AdaptedModel& model, bool to_file) {
  const std::int64_t heads = permuted_heads(name, model);
  if (heads == 0) return b;
  const std::int64_t dim = layer_of_projection(name, model)->attention.key_dim;
  std::vector<std::int64_t> order = neighbours_first(heads, dim);
  if (!to_file) {
    std::vector<std::int64_t> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    order = std::move(back);
  }
  return in_order(b, order, 0);
}

// Whether rows of the layer's projection may be in another order in files than in folders.
bool may_reorder(const LayerConfig& layer, const std::string& name) {
  return definition_of(layer.mixer).reorders_rows && name.find(".ffn_") == std::string::npos;
}

// For messages: what an adapter's pairs have to fit.
std::string model_text(const AdaptedModel& model) {
  return model.config.architecture + " with " + counted(model.config.layers.size(), "layer") +
         " of " + counted(model.config.dim, "column");
}

// What `order` makes of b, whose rows the model's heads divide. Throws Error{shape} where they do
// not.
template <class Order>
Array fitting_rows(const std::string& name, const Array& b, const StoredAdapter& stored,
                   const AdaptedModel& model, const Order& order) try {
  return order(b);
} catch (const Error& error) {
  if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::shape) throw;
  throw Error(ErrorCode::shape, stored.path + ": adapter: " + hearth::quoted(name) +
                                    " does not fit; got B " + to_string(b.shape()) + stored.origin +
                                    ", expected the rows of " + model_text(model));
}

void require_same_rows(const std::string& name, const AdaptedModel& model,
                       const std::string& path) {
  const LayerConfig* layer = layer_of_projection(name, model);
  if (layer == nullptr || !may_reorder(*layer, name)) return;
  throw Error(ErrorCode::unsupported,
              path +
                  ": adapter: rows of a mixer, which files and folders order in two ways; "
                  "got " +
                  hearth::quoted(name) + ", expected adapter and model both of a folder or a file");
}

void add_folder_pair(const std::string& module, const StoredAdapter::Pair& pair,
                     const AdaptedModel& model, const StoredAdapter& stored, Adapter& adapter) {
  const std::string& path = stored.path;
  const std::vector<RenamedTensor> places =
      renamed(text_name(module) + std::string(kWeightEnding), family_of_model(model));
  if (places.empty() || places.front().name.empty()) {
    throw Error(ErrorCode::invalid_argument,
                path + ": adapter: a module that the model does not have; got " +
                    hearth::quoted(module) + stored.origin + ", expected those of " +
                    model_text(model));
  }
  const FolderContext context{model.metadata, model.config.architecture};
  for (const RenamedTensor& place : places) {
    std::string name = place.name;
    if (place.expert >= 0 || !name.ends_with(kWeightEnding)) {
      throw Error(ErrorCode::unsupported, path + ": adapter: of experts; got " +
                                              hearth::quoted(module) +
                                              ", expected projections that all rows go through");
    }
    name.resize(name.size() - kWeightEnding.size());
    if (model.kind == FileKind::gguf) require_same_rows(name, model, path);
    // Rules of projections order rows, or take some of them; b's are those of the weights.
    const Array b = fitting_rows(module, pair.b, stored, model, [&](const Array& x) {
      const auto transform = place.rule->transform;
      const Array part = transform == nullptr ? x : transform(x, context);
      return model.kind == FileKind::gguf ? reordered(name, part, model, true) : part;
    });
    adapter[name] = std::make_shared<LowRank>(LowRank{pair.a, b, pair.scale});
  }
}

}  // namespace

Adapter adapter_of(const StoredAdapter& stored, const AdaptedModel& model) {
  Adapter adapter;
  if (stored.is_folder) {
    for (const auto& [module, pair] : stored.pairs) {
      add_folder_pair(module, pair, model, stored, adapter);
    }
    return adapter;
  }
  if (stored.architecture != model.config.architecture) {
    throw Error(ErrorCode::invalid_argument, stored.path + ": adapter: of another family; got " +
                                                 hearth::quoted(stored.architecture) +
                                                 ", expected " +
                                                 hearth::quoted(model.config.architecture));
  }
  for (const auto& [name, pair] : stored.pairs) {
    Array b = pair.b;
    if (model.kind == FileKind::folder) {
      require_same_rows(name, model, stored.path);
      b = fitting_rows(name, b, stored, model,
                       [&](const Array& x) { return reordered(name, x, model, false); });
    }
    adapter[name] = std::make_shared<LowRank>(LowRank{pair.a, b, pair.scale});
  }
  return adapter;
}

std::optional<FolderPair> folder_pair(const std::string& name, const Array& b,
                                      const AdaptedModel& model) {
  const LayerConfig* layer = layer_of_projection(name, model);
  if (layer == nullptr) return std::nullopt;
  const Family& family = family_of_model(model);
  const bool is_file = model.kind == FileKind::gguf;
  if (is_file && may_reorder(*layer, name)) return std::nullopt;
  const std::string weight = name + std::string(kWeightEnding);
  for (const auto rules : {family.tensors, standard_tensors()}) {
    for (const TensorRule& rule : rules) {
      if (rule.transform != nullptr || !rule.gguf.starts_with("blk.{}.")) continue;
      const std::string number = std::to_string(layer_of(name));
      std::string module(rule.name);
      std::string made(rule.gguf);
      const std::size_t hole = module.find("{}");
      if (hole == std::string::npos) continue;
      module.replace(hole, 2, number);
      made.replace(made.find("{}"), 2, number);
      if (made != name || module.find("{}") != std::string::npos) continue;
      // Where a family says otherwise of the module, it is another projection.
      const std::vector<RenamedTensor> back = renamed(module + std::string(kWeightEnding), family);
      if (back.size() != 1 || back.front().rule != &rule || back.front().name != weight) continue;
      return FolderPair{module, is_file ? reordered(name, b, model, false) : b, rule.is_transposed};
    }
  }
  return std::nullopt;
}

Array file_rows(const std::string& name, const Array& b, const AdaptedModel& model) {
  return model.kind == FileKind::gguf ? b : reordered(name, b, model, true);
}

LoadedAdapters::LoadedAdapters(const std::vector<AdapterFile>& files, const AdaptedModel& model,
                               DType compute, Device device)
    : model_(model_text(model)) {
  for (const AdapterFile& file : files) {
    if (!std::isfinite(file.scale)) {
      throw Error(ErrorCode::invalid_argument,
                  file.path + ": adapter: a scale that is no number; got " +
                      number_text(file.scale) + ", expected a finite one");
    }
    const StoredAdapter stored = read_adapter(file.path);
    Adapter pairs = adapter_of(stored, model);
    for (auto& [name, pair] : pairs) {
      pair->a = to_device(cast(pair->a, compute), device);
      pair->b = to_device(cast(pair->b, compute), device);
      pair->scale *= file.scale;
      eval(std::vector<Array>{pair->a, pair->b});
    }
    adapters_.push_back({file.path, stored.origin, std::move(pairs)});
  }
}

FindLowRank LoadedAdapters::finder() {
  return [this](const std::string& name, std::int64_t out, std::int64_t in) {
    std::vector<std::shared_ptr<const LowRank>> found;
    for (Loaded& each : adapters_) {
      const auto at = each.pairs.find(name);
      if (at == each.pairs.end()) continue;
      const std::shared_ptr<LowRank> pair = at->second;
      if (pair->a.shape(1) != in || pair->b.shape(0) != out) {
        throw Error(ErrorCode::shape, each.path + ": adapter: " + hearth::quoted(name) +
                                          " does not fit; got A " + to_string(pair->a.shape()) +
                                          " and B " + to_string(pair->b.shape()) + each.origin +
                                          ", expected " + counted(in, "column") + " and " +
                                          counted(out, "row") + " of " + model_);
      }
      found.push_back(pair);
      each.pairs.erase(at);
    }
    return found;
  };
}

void LoadedAdapters::require_used() const {
  for (const Loaded& each : adapters_) {
    if (each.pairs.empty()) continue;
    throw Error(ErrorCode::invalid_argument,
                each.path + ": adapter: for a product that the model does not have; got " +
                    hearth::quoted(each.pairs.begin()->first) + each.origin +
                    ", expected names of projections of " + model_);
  }
}

}  // namespace hearth::models

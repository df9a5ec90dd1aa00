// Low-rank adapters as a model has them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/gguf.h"
#include "hearth/models.h"
#include "models/adapters/stored_adapter.h"
#include "models/language/config.h"
#include "models/language/family.h"
#include "models/language/low_rank.h"

namespace hearth::models {

// Pairs by the name of the projection that they are added to: GGUF's, without ".weight". Rows of b
// are in the order of the model's weights.
using Adapter = std::map<std::string, std::shared_ptr<LowRank>>;

// What of a model's files says how its rows are ordered.
struct AdaptedModel {
  const GgufMetadata& metadata;
  const LanguageConfig& config;
  FileKind kind;
};

// Names become those of GGUF, and rows follow the order that the model's files have. Throws
// Error{invalid_argument} for a file of another family and for modules that the family does not
// have, Error{shape} for rows that heads do not divide, Error{unsupported} for pairs whose rows
// this cannot order.
Adapter adapter_of(const StoredAdapter& stored, const AdaptedModel& model);

// A pair's name and b in a folder of Hugging Face, for the projection `name`. Nothing where folders
// order its rows in another way than heads of queries and keys, or have no such module.
struct FolderPair {
  std::string name;
  Array b;
  bool is_transposed = false;  // the folder's weight
};
std::optional<FolderPair> folder_pair(const std::string& name, const Array& b,
                                      const AdaptedModel& model);
// b in the order that GGUF files have.
Array file_rows(const std::string& name, const Array& b, const AdaptedModel& model);

// The adapters of a model that is being made.
class LoadedAdapters {
 public:
  // Reads the files. Values are cast to `compute`. Throws as read_adapter() and adapter_of(), and
  // Error{invalid_argument} for a scale that is not finite.
  LoadedAdapters(const std::vector<AdapterFile>& files, const AdaptedModel& model, DType compute,
                 Device device);

  // Throws Error{shape} for a pair that does not fit its projection. Refers to this.
  FindLowRank finder();
  // Throws Error{invalid_argument} for pairs that nothing asked for.
  void require_used() const;

 private:
  struct Loaded {
    std::string path, origin;
    Adapter pairs;  // that nothing has asked for yet
  };
  std::string model_;  // for messages
  std::vector<Loaded> adapters_;
};

}  // namespace hearth::models

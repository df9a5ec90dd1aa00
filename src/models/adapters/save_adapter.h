// Adapters to files, as stored_adapter.h reads them.
#pragma once

#include <cstdint>
#include <string>

#include "models/adapters/adapter.h"

namespace hearth::models {

// What an adapter's files say of it; scales of its pairs are alpha / rank.
struct AdapterFacts {
  std::int64_t rank = 0;
  double alpha = 0;
  std::string base;  // the model's path or name
};

// Whether folders have a name for all of them (folder_pair()).
bool has_folder_names(const Adapter& adapter, const AdaptedModel& model);

// Matrices as f32; what is at the path stays as it was unless all is written. Both throw Error{io};
// save_adapter_folder(), which makes the folder, Error{unsupported} unless has_folder_names().
void save_adapter_folder(const std::string& path, const Adapter& adapter, const AdapterFacts& facts,
                         const AdaptedModel& model);
void save_adapter_file(const std::string& path, const Adapter& adapter, const AdapterFacts& facts,
                       const AdaptedModel& model);

}  // namespace hearth::models

#include "tools/lm/load_with_progress.h"

#include <filesystem>
#include <utility>

#include "tools/lm/model_options.h"
#include "tools/progress_bar.h"

namespace hearth::tools {

models::LoadedModel load_with_progress(const std::string& path, models::LoadOptions options) {
  ProgressBar bar("loading " + std::filesystem::path(path).filename().string());
  options.progress = [&](double share) { bar.show(share); };
  return load_model(path, options);
}

}  // namespace hearth::tools

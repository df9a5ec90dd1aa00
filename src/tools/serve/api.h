// The API: which request goes to which endpoint, who may ask, and what errors become.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/exchange.h"
#include "tools/serve/running_answers.h"

namespace hearth::tools::serve {

struct ApiOptions {
  std::vector<std::string> keys;     // one of them is asked for, where there are any
  std::vector<std::string> origins;  // of pages that may ask; "*": all
  std::chrono::milliseconds ping{5000};
  bool has_page = true, has_metrics = true;  // where not, / or /metrics is a path that is not there
};

// Calls from several threads at once are fine.
class Api {
 public:
  explicit Api(ApiOptions options);

  // Until then all but /health, the page and preflights is answered by 503.
  void set_model(std::shared_ptr<ServedModel> model);
  // Ends all answers; what comes later is refused.
  void stop() noexcept { is_stopping_->store(true); }

  // What goes wrong is in the response. Throws only where there is no memory for that, either.
  ApiResponse answer(const ApiRequest& request) const;

 private:
  ApiResponse dispatch(const ApiRequest& request) const;
  bool has_key(std::string_view authorization) const;
  void add_origin(const ApiRequest& request, ApiResponse& response) const;
  std::shared_ptr<ServedModel> model() const;

  ApiOptions options_;
  std::shared_ptr<std::atomic<bool>> is_stopping_ = std::make_shared<std::atomic<bool>>(false);
  // Texts take any length and many requests come at once; the model wants the processor, too.
  std::shared_ptr<WorkSlots> encoders_ = std::make_shared<WorkSlots>(4);
  mutable std::mutex mutex_;
  std::shared_ptr<ServedModel> model_;
};

}  // namespace hearth::tools::serve

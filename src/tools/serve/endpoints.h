// What the API answers, an endpoint each. They throw ApiError, FieldError, and what models throw;
// `api.h` turns that into answers.
#pragma once

#include "tools/serve/exchange.h"
#include "tools/serve/running_answers.h"

namespace hearth::tools::serve {

ApiResponse answer_chat(const ApiRequest& request, const Service& service);
ApiResponse answer_completion(const ApiRequest& request, const Service& service);
ApiResponse answer_response(const ApiRequest& request, const Service& service);
ApiResponse answer_embeddings(const ApiRequest& request, const Service& service);
// Those of llama.cpp's own forms.
ApiResponse answer_llama_completion(const ApiRequest& request, const Service& service);
ApiResponse answer_llama_embedding(const ApiRequest& request, const Service& service);
ApiResponse answer_tokenize(const ApiRequest& request, const Service& service);
ApiResponse answer_detokenize(const ApiRequest& request, const Service& service);
ApiResponse answer_apply_template(const ApiRequest& request, const Service& service);
ApiResponse answer_models(const Service& service);
// Of the name behind /models/.
ApiResponse answer_model(const ApiRequest& request, const Service& service);
ApiResponse answer_slots(const Service& service);
ApiResponse answer_props(const Service& service);
ApiResponse answer_metrics(const Service& service);

}  // namespace hearth::tools::serve

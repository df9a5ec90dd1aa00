#include "tools/serve/api.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/closest.h"
#include "tools/serve/api_error.h"
#include "tools/serve/endpoints.h"
#include "tools/serve/page.h"

namespace hearth::tools::serve {
namespace {

struct Route {
  std::string_view method, path;
  ApiResponse (*answer)(const ApiRequest&, const Service&);
};

// A pattern that ends with a slash has all that is behind it, but not nothing.
bool is_of(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with('/')) return pattern == path;
  return path.size() > pattern.size() && path.starts_with(pattern);
}

template <ApiResponse (*kAnswer)(const Service&)>
ApiResponse without_request(const ApiRequest&, const Service& service) {
  return kAnswer(service);
}

constexpr Route kRoutes[] = {
    {"POST", "/chat/completions", answer_chat},
    {"POST", "/completions", answer_completion},
    {"POST", "/responses", answer_response},
    {"POST", "/embeddings", answer_embeddings},
    {"POST", "/completion", answer_llama_completion},
    {"POST", "/embedding", answer_llama_embedding},
    {"POST", "/tokenize", answer_tokenize},
    {"POST", "/detokenize", answer_detokenize},
    {"POST", "/apply-template", answer_apply_template},
    {"GET", "/models", without_request<answer_models>},
    {"GET", "/models/", answer_model},  // and what follows
    {"GET", "/slots", without_request<answer_slots>},
    {"GET", "/props", without_request<answer_props>},
    {"GET", "/metrics", without_request<answer_metrics>},
};

// What clients of other servers look for.
struct Elsewhere {
  std::string_view path;  // one that ends with a slash has all that is behind it
  const char* instead;
};
constexpr Elsewhere kElsewhere[] = {
    {"/generate", "/v1/completions goes on with texts"},
    {"/infill", "/v1/completions takes a prompt with the tokens that the model fills in by"},
    {"/rerank", "/v1/embeddings makes vectors of texts to compare; rerankers are not supported"},
    {"/reranking", "/v1/embeddings makes vectors of texts to compare; rerankers are not supported"},
    {"/messages", "/v1/chat/completions and /v1/responses talk"},
    {"/messages/count_tokens", "/apply-template and /tokenize tell tokens of chats"},
    {"/chat/completions/input_tokens", "/apply-template and /tokenize tell tokens of chats"},
    {"/responses/input_tokens", "/apply-template and /tokenize tell tokens of chats"},
    {"/responses/", "nothing is stored; /v1/responses takes the whole conversation"},
    {"/lora-adapters", "`hearth serve --lora` adds adapters for all requests"},
    {"/slots/", "what prompts begin with is kept by itself, not in files"},
    {"/audio/", "only texts are read and written"},
    {"/images/", "only texts are read and written"},
    {"/v1/", "the address of the server has /v1 once"},
    {"/api/generate", "/completion or /v1/completions goes on with texts"},
    {"/api/chat", "/v1/chat/completions talks"},
    {"/api/tags", "/v1/models names the model"},
    {"/api/show", "/props tells of the model"},
    {"/api/embed", "/v1/embeddings makes vectors of texts"},
    {"/api/embeddings", "/v1/embeddings makes vectors of texts"},
    {"/api/", "this is OpenAI's API: /v1/chat/completions, /v1/completions, /v1/models"},
};

constexpr std::string_view kPageRules =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

// `path`: without /v1.
ApiError no_route(const ApiRequest& request, std::string_view path) {
  constexpr std::size_t kMostShown = 100;
  std::string message = "there is no " + request.path.substr(0, kMostShown);
  const auto* other = std::find_if(std::begin(kElsewhere), std::end(kElsewhere),
                                   [&](const Elsewhere& each) { return is_of(each.path, path); });
  std::vector<std::string> paths = {"/health"};
  for (const Route& each : kRoutes) paths.emplace_back(each.path);
  if (other != std::end(kElsewhere)) {
    message += std::string("; ") + other->instead;
  } else if (const std::string meant = closest(path.substr(0, kMostShown), paths); !meant.empty()) {
    message += "; expected perhaps " + meant;
  }
  return {404, message, "invalid_request_error"};
}

ApiError turned_off(const ApiRequest& request, std::string_view option) {
  return {
      404,
      "there is no " + request.path + " here; the server was started with " + std::string(option),
      "invalid_request_error"};
}

// In a time that depends on the lengths alone.
bool are_equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const char other = i < a.size() ? a[i] : '\0';
    difference |= static_cast<unsigned char>(other) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

ApiResponse wrong_method(const ApiRequest& request, std::string_view allowed) {
  ApiResponse response =
      ApiError(405, request.method + " " + request.path + ": expected " + std::string(allowed),
               "invalid_request_error")
          .response();
  response.headers.emplace_back("Allow", allowed);
  return response;
}

bool is_read(const ApiRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

ApiResponse page_response() {
  ApiResponse response{.content_type = "text/html; charset=utf-8",
                       .body = std::string(chat_page())};
  response.headers = {{"Content-Security-Policy", std::string(kPageRules)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"}};
  return response;
}

}  // namespace

Api::Api(ApiOptions options) : options_(std::move(options)) {}

void Api::set_model(std::shared_ptr<ServedModel> model) {
  const std::lock_guard lock(mutex_);
  model_ = std::move(model);
}

std::shared_ptr<ServedModel> Api::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

bool Api::has_key(std::string_view authorization) const {
  if (options_.keys.empty()) return true;
  constexpr std::string_view kBearer = "bearer ";
  const auto is_same = [](char given, char expected) {
    return given == expected || (given >= 'A' && given <= 'Z' && given + ('a' - 'A') == expected);
  };
  if (authorization.size() < kBearer.size() ||
      !std::equal(kBearer.begin(), kBearer.end(), authorization.begin(),
                  [&](char expected, char given) { return is_same(given, expected); })) {
    return false;
  }
  authorization.remove_prefix(kBearer.size());
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  bool is_known = false;  // all are compared, so that time tells nothing of which
  for (const std::string& key : options_.keys) is_known |= are_equal(authorization, key);
  return is_known;
}

void Api::add_origin(const ApiRequest& request, ApiResponse& response) const {
  if (request.origin.empty()) return;
  const auto& origins = options_.origins;
  const bool allows_all = std::find(origins.begin(), origins.end(), "*") != origins.end();
  if (!allows_all && std::find(origins.begin(), origins.end(), request.origin) == origins.end()) {
    return;
  }
  response.headers.emplace_back("Access-Control-Allow-Origin",
                                allows_all ? std::string("*") : request.origin);
  if (!allows_all) response.headers.emplace_back("Vary", "Origin");
  if (request.method == "OPTIONS") {
    response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    // Clients add headers of their own, as OpenAI's X-Stainless-*.
    response.headers.emplace_back(
        "Access-Control-Allow-Headers",
        request.asked_headers.empty() ? "Authorization, Content-Type" : request.asked_headers);
    response.headers.emplace_back("Access-Control-Max-Age", "3600");
  }
}

ApiResponse Api::dispatch(const ApiRequest& request) const {
  std::string_view path = request.path;
  if (path.starts_with("/v1/")) path.remove_prefix(3);
  if (request.method == "OPTIONS") return {.status = 204, .content_type = ""};
  if (path == "/") {
    if (!options_.has_page) throw turned_off(request, "--no-page");
    return is_read(request) ? page_response() : wrong_method(request, "GET");
  }
  const std::shared_ptr<ServedModel> served = model();
  if (path == "/health") {
    if (!is_read(request)) return wrong_method(request, "GET");
    if (is_stopping_->load()) throw stopping();
    if (served == nullptr) throw ApiError(503, "the model is loading", "unavailable_error");
    if (served->stats().is_failing) {
      throw ApiError(503, "the device fails; what it said is in the answers", "unavailable_error");
    }
    return {.body = R"({"status":"ok"})"};
  }
  if (!has_key(request.authorization)) {
    throw ApiError(401, "the key is missing or wrong; expected Authorization: Bearer KEY",
                   "authentication_error", "", "invalid_api_key");
  }
  if (path == "/metrics" && !options_.has_metrics) throw turned_off(request, "--no-metrics");
  const auto* route = std::find_if(std::begin(kRoutes), std::end(kRoutes),
                                   [&](const Route& each) { return is_of(each.path, path); });
  if (route == std::end(kRoutes)) {
    throw no_route(request, path);
  }
  if (request.method != route->method && !(route->method == "GET" && is_read(request))) {
    return wrong_method(request, route->method);
  }
  if (is_stopping_->load()) throw stopping();
  if (served == nullptr) throw ApiError(503, "the model is loading", "unavailable_error");
  return route->answer(request, {served, is_stopping_, encoders_, options_.ping});
}

ApiResponse Api::answer(const ApiRequest& request) const {
  ApiResponse response;
  try {
    response = dispatch(request);
  } catch (...) {
    response = error_of_exception().response();
  }
  add_origin(request, response);
  return response;
}

}  // namespace hearth::tools::serve

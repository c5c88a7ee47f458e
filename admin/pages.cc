#include "admin/pages.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ravelin::admin {
namespace {

Response readiness_page(const Readiness& readiness) {
  const auto reasons = readiness.reasons();
  if (reasons.empty()) return text_response(200, "ready");
  Response response{.status = 503};
  for (std::string reason : reasons) {
    std::ranges::replace(reason, '\n', ' ');
    response.body += reason + '\n';
  }
  return response;
}

}  // namespace

void add_standard_pages(AdminServer& server, const Metrics& metrics, const Readiness& readiness) {
  server.route("GET", "/healthz", [](const Request&) { return text_response(200, "ok"); });
  server.route("GET", "/readyz", [&readiness](const Request&) { return readiness_page(readiness); });
  server.route("GET", "/metrics", [&metrics](const Request&) {
    return Response{.content_type = std::string(kMetricsContentType), .body = metrics.text()};
  });
}

Response json_response(const nlohmann::json& value) {
  return Response{.content_type = "application/json",
                  .body = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n'};
}

Response json_error(unsigned status, std::string_view what) {
  Response response = json_response({{"error", what}});
  response.status = status;
  return response;
}

}  // namespace ravelin::admin

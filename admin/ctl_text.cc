#include "admin/ctl_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sys/units.h"

namespace ravelin::admin {
namespace {

using Json = nlohmann::json;

std::string word(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "-";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string duration(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? sys::to_text(sys::Duration(found->get<std::int64_t>()))
                                                             : "-";
}

template <class Write>
std::string read(const std::string& body, Write write) {
  const Json page = Json::parse(body, nullptr, false);
  if (!page.is_object()) return body;
  std::string text;
  write(page, text);
  return text;
}

}  // namespace

std::string text_of_sessions(const std::string& body) {
  return read(body, [](const Json& page, std::string& text) {
    for (const Json& session : page.value("sessions", Json::array())) {
      text += fmt::format("{} {:10} {} {} -> {} up {} down {} age {}\n", word(session, "id"), word(session, "phase"),
                          word(session, "listener"), word(session, "client"), word(session, "origin"),
                          word(session, "bytes_up"), word(session, "bytes_down"), duration(session, "age_ms"));
    }
    text += fmt::format("{} sessions\n", word(page, "total"));
  });
}

std::string text_of_origins(const std::string& body) {
  return read(body, [](const Json& page, std::string& text) {
    for (const Json& pool : page.value("pools", Json::array())) {
      for (const Json& origin : pool.value("origins", Json::array())) {
        for (const Json& address : origin.value("addresses", Json::array())) {
          text += fmt::format("{} {} {} {} sessions{}\n", word(pool, "pool"), word(origin, "origin"),
                              word(address, "address"), word(address, "sessions"),
                              address.value("failing", false) ? ", failing" : "");
        }
        if (origin.contains("resolve_error")) {
          text += fmt::format("{} {} {}\n", word(pool, "pool"), word(origin, "origin"), word(origin, "resolve_error"));
        }
      }
    }
  });
}

std::string text_of_reload(const std::string& body) {
  return read(body, [](const Json& page, std::string& text) {
    for (const Json& change : page.value("changes", Json::array())) {
      text += fmt::format("{}: {} -> {} ({})\n", word(change, "setting"), word(change, "before"), word(change, "after"),
                          word(change, "means"));
    }
    for (const Json& touched : page.value("touched", Json::array())) {
      text +=
          fmt::format("{}: {} sessions {}\n", word(touched, "what"), word(touched, "sessions"), word(touched, "fate"));
    }
    if (page.value("changes", Json::array()).empty() && page.value("outcome", "") != "handing_over") {
      text += "nothing changes\n";
    }
  });
}

std::string text_of_drain(const std::string& body) {
  return read(body, [](const Json& page, std::string& text) {
    text = fmt::format("draining, {} sessions left", word(page, "sessions"));
    if (page.contains("over_in_ms")) {
      text +=
          fmt::format(", closed from {} to {} from now", duration(page, "closes_in_ms"), duration(page, "over_in_ms"));
    }
    text += "\n";
  });
}

}  // namespace ravelin::admin

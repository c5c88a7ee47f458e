// The daemons' JSON answers as lines for people. Pure; what is no such answer comes back as it is.
#pragma once

#include <string>

namespace ravelin::admin {

[[nodiscard]] std::string text_of_sessions(const std::string& body);
[[nodiscard]] std::string text_of_origins(const std::string& body);
[[nodiscard]] std::string text_of_reload(const std::string& body);
[[nodiscard]] std::string text_of_drain(const std::string& body);

}  // namespace ravelin::admin

#include "admin/ctl_commands.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "admin/client.h"
#include "admin/ctl_text.h"

namespace ravelin::admin {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 10s;
// A worker that reads its settings has ten seconds, one that takes over thirty more.
constexpr auto kHandOverPatience = 60s;
constexpr int kLookEveryMs = 100;
constexpr auto kGoneAfter = 2s;  // a daemon whose socket is gone for so long is not between two workers

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

sys::Exit fail_with(const std::string& why) {
  std::fprintf(stderr, "ravelinctl: %s\n", why.c_str());
  return sys::Exit::failed;
}

std::string error_of(const Answer& answer) {
  const auto body = nlohmann::json::parse(answer.body, nullptr, false);
  if (body.is_object() && body.contains("error")) return body["error"].get<std::string>();
  return answer.body.substr(0, answer.body.find('\n'));
}

sys::Exit show(const sys::Endpoint& daemon, const std::string& page, std::string (*text)(const std::string& body)) {
  const auto answer = ask(daemon, {.target = page}, kPatience);
  if (!answer) return say_unreachable(answer.error());
  if (answer->status != 200) return fail_with(error_of(*answer));
  print(text != nullptr ? text(answer->body) : answer->body);
  return sys::Exit::ok;
}

// Asks for what a new worker is needed for, and looks until there is one.
sys::Exit ask_and_follow(const sys::Endpoint& daemon, const std::string& wish, const std::string& by) {
  const auto before = ask(daemon, {.target = "/worker"}, kPatience);
  if (!before) return say_unreachable(before.error());
  const auto old = nlohmann::json::parse(before->body, nullptr, false);
  const auto answer = ask(daemon, {.method = "POST", .target = wish}, kPatience);
  if (!answer) return say_unreachable(answer.error());
  if (answer->status >= 400) return fail_with("refused: " + error_of(*answer));
  print(text_of_reload(answer->body));
  if (answer->status != 202) return sys::Exit::ok;
  for (const auto until = Clock::now() + kHandOverPatience; Clock::now() < until; ::poll(nullptr, 0, kLookEveryMs)) {
    const auto look = ask(daemon, {.target = "/worker"}, kPatience);
    if (!look) continue;  // between two workers nobody answers
    const auto now = nlohmann::json::parse(look->body, nullptr, false);
    if (!now.is_object()) continue;
    if (now["pid"] == old["pid"]) {
      if (const std::string why = now["refusal"]; !now["pending"] && !why.empty()) return fail_with("refused: " + why);
      continue;
    }
    if (now["by"] != by) return fail_with(fmt::format("the worker was replaced meanwhile, by {}", now["by"].dump()));
    print(fmt::format("worker {} serves, version {}, {} sessions\n", now["pid"].dump(),
                      now["version"].get<std::string>(), now["sessions"].dump()));
    return sys::Exit::ok;
  }
  return fail_with("no new worker has come");
}

// A daemon that ends takes its socket's file along; one that was killed, or whose worker is being replaced, does not.
sys::Exit wait_for_the_end(const sys::Endpoint& daemon) {
  std::string said;
  auto answered = Clock::now();
  for (auto there = answered; Clock::now() - there < kGoneAfter; ::poll(nullptr, 0, kLookEveryMs)) {
    const auto page = ask(daemon, {.target = "/drain"}, kPatience);
    if (!page && page.error().code != ENOENT) there = Clock::now();
    if (Clock::now() - answered > kHandOverPatience) return fail_with("it does not answer any more");
    if (!page) continue;
    answered = there = Clock::now();
    const auto drain = nlohmann::json::parse(page->body, nullptr, false);
    if (!drain.is_object()) continue;
    if (std::string left = fmt::format("{} sessions left\n", drain["sessions"].dump()); left != said) {
      print(left);
      said = std::move(left);
    }
  }
  print("over\n");
  return sys::Exit::ok;
}

}  // namespace

sys::Exit say_unreachable(const sys::Error& error) {
  std::fprintf(stderr, "ravelinctl: %s\n", error.text().c_str());
  switch (error.code) {
    case EACCES:
    case EPERM:
      return sys::Exit::no_permission;
    case ECONNREFUSED:
    case ENOENT:
    case ENOTDIR:
      return sys::Exit::unavailable;
    default:
      return sys::Exit::failed;
  }
}

sys::Exit show_sessions(const sys::Endpoint& daemon, const CtlOptions& options) {
  return show(daemon, "/sessions", options.json ? nullptr : text_of_sessions);
}

sys::Exit show_origins(const sys::Endpoint& daemon, const CtlOptions& options) {
  return show(daemon, "/origins", options.json ? nullptr : text_of_origins);
}

sys::Exit show_config(const sys::Endpoint& daemon, const CtlOptions&) {
  return show(daemon, "/config", nullptr);
}

sys::Exit reload(const sys::Endpoint& daemon, const CtlOptions& options) {
  return ask_and_follow(daemon, options.dry_run ? "/reload?dry_run=1" : "/reload", "reload");
}

sys::Exit upgrade(const sys::Endpoint& daemon, const CtlOptions&) {
  return ask_and_follow(daemon, "/upgrade", "upgrade");
}

sys::Exit drain(const sys::Endpoint& daemon, const CtlOptions& options) {
  std::string target = "/drain?";
  if (!options.timeout.empty()) target += "for=" + escaped(options.timeout) + "&";
  if (!options.spread.empty()) target += "spread=" + escaped(options.spread);
  const auto answer = ask(daemon, {.method = "POST", .target = target}, kPatience);
  if (!answer) return say_unreachable(answer.error());
  if (answer->status != 200) return fail_with("refused: " + error_of(*answer));
  print(text_of_drain(answer->body));
  return options.wait ? wait_for_the_end(daemon) : sys::Exit::ok;
}

sys::Exit kill_session(const sys::Endpoint& daemon, const CtlOptions& options) {
  const auto answer = ask(daemon, {.method = "POST", .target = "/kill?id=" + escaped(options.id)}, kPatience);
  if (!answer) return say_unreachable(answer.error());
  return answer->status == 200 ? sys::Exit::ok : fail_with(error_of(*answer));
}

}  // namespace ravelin::admin

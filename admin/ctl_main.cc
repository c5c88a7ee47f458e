// ravelinctl: what an operator asks of a redirector or a gateway on this machine.

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "admin/ctl_commands.h"

namespace {

using namespace ravelin;
using namespace ravelin::admin;

struct Command {
  const char* name;
  const char* help;
  CtlCommand run;
};

constexpr std::array kCommands{
    Command{"sessions", "Show every session", show_sessions},
    Command{"origins", "Show the origins and their addresses (redirector)", show_origins},
    Command{"config", "Show the settings in force", show_config},
    Command{"reload", "Read the settings again; returns when they are in force or refused", reload},
    Command{"upgrade", "Start the program anew from its file; returns when it serves or cannot", upgrade},
    Command{"drain", "Accept no more, and end when the sessions have", drain},
    Command{"kill", "End one session", kill_session},
};

// Where the daemons put theirs when nobody says otherwise.
std::vector<std::string> default_sockets() {
  const char* given = std::getenv("RUNTIME_DIRECTORY");
  const std::string folders = given != nullptr ? given : "/run/ravelin";
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folders.substr(0, folders.find(':')), error)) {
    if (entry.path().extension() == ".sock") found.push_back("unix:" + entry.path().string());
  }
  return found;
}

int run(const Command& command, std::string admin, const CtlOptions& options) {
  if (admin.empty()) {
    const auto found = default_sockets();
    if (found.empty()) {
      return static_cast<int>(
          say_unreachable({ENOENT, "no daemon's socket in $RUNTIME_DIRECTORY or /run/ravelin, name it with --admin"}));
    }
    if (found.size() > 1) {
      std::fputs("ravelinctl: several daemons are here, name one with --admin:\n", stderr);
      for (const auto& each : found) std::fprintf(stderr, "  %s\n", each.c_str());
      return static_cast<int>(sys::Exit::usage);
    }
    admin = found.front();
  }
  const auto daemon = sys::Endpoint::parse(admin);
  if (daemon) return static_cast<int>(command.run(*daemon, options));
  std::fprintf(stderr, "ravelinctl: --admin: %s\n", daemon.error().text().c_str());
  return static_cast<int>(sys::Exit::usage);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Asks and tells a redirector or gateway on this machine", "ravelinctl");
  std::string admin;
  CtlOptions options;
  app.add_option("--admin", admin, "The daemon's admin socket; needed where there are several")->type_name("unix:PATH");
  app.set_version_flag("--version", "ravelinctl " RAVELIN_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  std::vector<CLI::App*> commands;
  for (const Command& command : kCommands) commands.push_back(app.add_subcommand(command.name, command.help));
  const auto of = [&](std::string_view name) { return app.get_subcommand(std::string(name)); };
  of("sessions")->add_flag("--json", options.json, "As the daemon says it");
  of("origins")->add_flag("--json", options.json, "As the daemon says it");
  of("reload")->add_flag("--dry-run", options.dry_run, "Only say what would change, and how many sessions it touches");
  of("drain")->add_option("--for", options.timeout, "How long sessions may go on")->type_name("DURATION");
  of("drain")
      ->add_option("--spread", options.spread, "The last part of it, over which they are closed")
      ->type_name("DURATION");
  of("drain")->add_flag("--wait", options.wait, "Return at the end, and say who is left until then");
  of("kill")->add_option("ID", options.id, "As sessions shows it")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(sys::Exit::usage);
  }
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (commands[i]->parsed()) return run(kCommands[i], admin, options);
  }
  return static_cast<int>(sys::Exit::usage);
}

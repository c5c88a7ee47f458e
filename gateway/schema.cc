#include "gateway/schema.h"

#include <array>

namespace ppv2 {

// Found by argument-dependent lookup, so each stands beside its enum.
constexpr auto names_of(ravelin::config::EnumOf<Policy>) {
  return std::to_array<ravelin::config::Named<Policy>>(
      {{"sniff", Policy::sniff}, {"require", Policy::require}, {"reject", Policy::reject}});
}

constexpr auto names_of(ravelin::config::EnumOf<Untrusted>) {
  return std::to_array<ravelin::config::Named<Untrusted>>(
      {{"mark", Untrusted::mark}, {"reject", Untrusted::reject}, {"pass", Untrusted::pass}});
}

}  // namespace ppv2

namespace ravelin::gateway {

constexpr auto names_of(config::EnumOf<InnerHeader>) {
  return std::to_array<config::Named<InnerHeader>>(
      {{"none", InnerHeader::none}, {"v1", InnerHeader::v1}, {"v2", InnerHeader::v2}});
}

namespace {

config::Schema<ListenerSettings> listener_schema() {
  config::Schema<ListenerSettings> listener;
  listener
      .option("policy", &ListenerSettings::policy,
              {.help = "sniff takes connections with a header and without; require takes trusted edges only, and only "
                       "with a header; reject ends connections that begin with one"})
      .option(
          "trusted_edges", &ListenerSettings::trusted_edges,
          {.help = "whose headers count: the addresses that edges connect from. Without any, sniff trusts no header "
                   "(see untrusted), and require is refused because it would refuse everybody"})
      .option("untrusted", &ListenerSettings::untrusted,
              {.help = "under sniff, a header from elsewhere: mark takes it off and keeps its claim as not trusted; "
                       "reject ends the connection; pass leaves it to the server as if it were payload"})
      .option("silence", &ListenerSettings::silence,
              {.help = "with wait_for_client: false, how long a client may be silent before it is taken to have no "
                       "header; under require timeouts.first_byte decides alone",
               .least = sys::Duration{1}});
  daemon::add_listener_settings(listener);
  return listener;
}

}  // namespace

config::Schema<Settings> settings_schema() {
  const auto of = []<class V>(V FrontSettings::*member) { return static_cast<V Settings::*>(member); };
  config::Schema<Settings> schema;
  schema
      .list("listeners", of(&FrontSettings::listeners), listener_schema(),
            {.help = "Where edges and clients connect", .required = true})
      .option("inner", of(&FrontSettings::inner),
              {.help = "the server behind: 127.0.0.1:PORT, [::1]:PORT, or unix:PATH",
               .flag = "--inner",
               .placeholder = "ADDR",
               .required = true})
      .option(
          "inner_sources", of(&FrontSettings::inner_sources),
          {.help = "the addresses that inner connections come from, each good for about 28,000 sessions; without any, "
                   "the host of the inner address"})
      .option(
          "inner_header", of(&FrontSettings::inner_header),
          {.help = "a PROXY header for a server that reads one itself: v1 names the effective address, v2 also what "
                   "was measured and claimed, and the edge's id"})
      .flag("--policy", "listeners[*].policy")
      .flag("--trusted-edge", "listeners[*].trusted_edges")
      .check([](const Settings& settings, config::Report& report) {
        for (const Misfit& misfit : misfits_of(settings)) report.at(misfit.setting, misfit.what);
      });
  daemon::add_daemon_settings(schema);
  return schema;
}

config::Program program() {
  return {.name = "gateway",
          .version = RAVELIN_VERSION,
          .summary =
              "The origin's front: takes the PROXY header off what edges forward, and knows who is behind every "
              "connection to the server",
          .example = "gateway --listen :8443 --inner 127.0.0.1:9443 --trusted-edge 203.0.113.0/24"};
}

}  // namespace ravelin::gateway

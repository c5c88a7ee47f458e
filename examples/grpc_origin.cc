// A gRPC server with mutual TLS and a gateway of its own in front: edges connect to the gateway, which takes the PROXY
// header off and passes the TLS session on to the server's port, and each call asks it for the client's real address.
// Usage: grpc_origin TRUSTED_EDGES CERTIFICATE KEY AUTHORITY, the first as "203.0.113.0/24"; prints the gateway's port
// on 127.0.0.1 and runs until TERM.
#include <gateway/gateway.h>
#include <grpcpp/grpcpp.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "tls_files.h"
#include "whoami.grpc.pb.h"

namespace {

using ravelin::gateway::Gateway;
using ravelin::peers::Answer;
using ravelin::peers::Question;

class WhoAmI final : public ravelin::peers::WhoAmI::Service {
 public:
  void set_gateway(const Gateway& gateway) { gateway_ = &gateway; }

 private:
  grpc::Status Ask(grpc::ServerContext* context, const Question* question, Answer* answer) override {
    const Gateway* gateway = gateway_;
    const auto peer = gateway != nullptr ? gateway->find_peer(context->peer()) : std::nullopt;
    // Any process on the machine can connect to the server's port: whom the gateway does not know is nobody's client.
    if (!peer) return {grpc::StatusCode::UNAUTHENTICATED, context->peer() + " did not come through the gateway"};
    std::array<char, ppv2::kAddressTextSize> text{};
    answer->set_inner(context->peer());
    answer->set_peer(std::string(peer->effective().text(text)));
    for (const grpc::string_ref& name : context->auth_context()->FindPropertyValues("x509_common_name")) {
      answer->set_client(std::string(name.data(), name.size()));
    }
    answer->set_payload(question->payload());
    return grpc::Status::OK;
  }

  // Null until there is one: the gateway wants to know the server's port, so the server listens first.
  std::atomic<const Gateway*> gateway_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: %s TRUSTED_EDGES CERTIFICATE KEY AUTHORITY\n", argv[0]), 2;
  // Before any thread is started, so that none of them takes the signal from sigwait().
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigaddset(&end, SIGINT);
  pthread_sigmask(SIG_BLOCK, &end, nullptr);

  const ravelin::peers::TlsFiles files(argv + 2);
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = files.authority;
  tls.pem_key_cert_pairs.push_back({files.key, files.certificate});
  WhoAmI service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) return std::fprintf(stderr, "the server cannot start\n"), 1;

  ravelin::gateway::Options options;
  options.inner = "127.0.0.1:" + std::to_string(port);
  options.listeners.push_back({.address = "127.0.0.1:0", .policy = ppv2::Policy::require, .trusted_edges = {argv[1]}});
  const auto gateway = Gateway::start(options);
  if (!gateway) return std::fprintf(stderr, "%s\n", gateway.error().what.c_str()), 1;
  service.set_gateway(**gateway);
  std::printf("%d\n", (*gateway)->addresses().front().port);
  std::fflush(stdout);

  int signal = 0;
  sigwait(&end, &signal);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(3));  // no call asks the gateway after this
}

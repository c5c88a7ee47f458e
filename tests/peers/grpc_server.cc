// peer_grpc_server PORT CERTIFICATE KEY AUTHORITY GATEWAY_ADMIN_SOCKET
//
// A gRPC origin with mutual TLS that wants to know whom it really talks to: the library shows it the gateway's inner
// connection, and the gateway's admin socket knows the rest. Runs until TERM.
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <iostream>

#include "tls_files.h"
#include "whoami.grpc.pb.h"

namespace {

using ravelin::peers::Answer;
using ravelin::peers::Question;

// The body of GET /peer?inner=PEER from the gateway, or what went wrong.
std::string look_up(const std::string& admin_socket, const std::string& peer) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  admin_socket.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return std::string("cannot reach the admin socket: ") + std::strerror(errno);
  }
  const std::string request = "GET /peer?inner=" + peer + " HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n";
  std::string answer;
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(fd);
  const auto body = answer.find("\r\n\r\n");
  return body == std::string::npos ? "no answer" : answer.substr(body + 4);
}

class WhoAmI final : public ravelin::peers::WhoAmI::Service {
 public:
  explicit WhoAmI(std::string admin_socket) : admin_socket_(std::move(admin_socket)) {}

 private:
  grpc::Status Ask(grpc::ServerContext* context, const Question* question, Answer* answer) override {
    answer->set_inner(context->peer());
    answer->set_peer(look_up(admin_socket_, context->peer()));
    for (const grpc::string_ref& name : context->auth_context()->FindPropertyValues("x509_common_name")) {
      answer->set_client(std::string(name.data(), name.size()));
    }
    answer->set_payload(question->payload());
    return grpc::Status::OK;
  }

  std::string admin_socket_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const ravelin::peers::TlsFiles files(argv + 2);
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = files.authority;
  tls.pem_key_cert_pairs.push_back({files.key, files.certificate});

  WhoAmI service(argv[5]);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], grpc::SslServerCredentials(tls));
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) return 69;
  server->Wait();
}

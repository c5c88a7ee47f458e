// peer_grpc_client PORT CERTIFICATE KEY AUTHORITY CALLS BYTES
//
// An unmodified gRPC client with mutual TLS: makes CALLS calls of BYTES each way over one channel, checks every payload
// that comes back, and prints the last answer as three lines: inner, client, peer.
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <string>

#include "tls_files.h"
#include "whoami.grpc.pb.h"

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const ravelin::peers::TlsFiles files(argv + 2);
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = files.authority;
  tls.pem_private_key = files.key;
  tls.pem_cert_chain = files.certificate;
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("origin.test");
  arguments.SetMaxReceiveMessageSize(-1);
  const auto channel =
      grpc::CreateCustomChannel(std::string("127.0.0.1:") + argv[1], grpc::SslCredentials(tls), arguments);
  const auto stub = ravelin::peers::WhoAmI::NewStub(channel);

  const int calls = std::stoi(argv[5]);
  std::string payload(std::stoul(argv[6]), '\0');
  ravelin::peers::Answer answer;
  for (int call = 0; call < calls; ++call) {
    unsigned value = static_cast<unsigned>(call) + 1;
    for (char& byte : payload) byte = static_cast<char>((value = value * 1664525U + 1013904223U) >> 24);
    ravelin::peers::Question question;
    question.set_payload(payload);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const grpc::Status status = stub->Ask(&context, question, &answer);
    if (!status.ok()) {
      std::cerr << "call " << call << ": " << status.error_code() << ' ' << status.error_message() << '\n';
      return 1;
    }
    if (answer.payload() != payload) {
      std::cerr << "call " << call << ": the payload has changed on its way\n";
      return 1;
    }
  }
  std::cout << answer.inner() << '\n' << answer.client() << '\n' << answer.peer() << '\n';
}

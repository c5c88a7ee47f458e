/* An origin in C behind a proxy: takes the PROXY protocol header off each connection and greets the client by its real
 * address. Usage: ppv2_origin TRUSTED_CIDR; prints its port on 127.0.0.1 and serves one connection after the other. */
#include <netinet/in.h>
#include <ppv2/ppv2.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void serve(int fd, const ppv2_address* measured, int trusted) {
  _Alignas(max_align_t) unsigned char memory[1024], large[4096], chunk[4096];
  ppv2_sniffer* const sniffer = ppv2_sniffer_init(memory, sizeof memory, PPV2_POLICY_SNIFF, PPV2_UNTRUSTED_REJECT,
                                                  trusted, NULL, large, sizeof large);
  ppv2_step step = {.struct_size = sizeof step};
  const time_t deadline = time(NULL) + 3; /* from accept, not from the last byte */
  ssize_t n = 0;
  while (step.action == PPV2_WAIT) {
    n = recv(fd, chunk, sizeof chunk, 0);
    if (n < 0 || time(NULL) > deadline) {
      ppv2_sniffer_timeout(sniffer, &step);
    } else {
      n > 0 ? ppv2_sniffer_feed(sniffer, chunk, (size_t)n, &step) : ppv2_sniffer_eof(sniffer, &step);
    }
  }
  if (step.action == PPV2_END) return (void)fprintf(stderr, "refused: %s\n", ppv2_reason_text(step.reason));
  ppv2_decoded claim = {.struct_size = sizeof claim};
  const int believed = ppv2_sniffer_claim(sniffer, &claim) && claim.trusted && claim.source.family != PPV2_UNSPEC;
  char text[PPV2_ADDRESS_TEXT + 1];
  ppv2_address_text(believed ? &claim.source : measured, text, sizeof text);
  size_t kept;
  const void* const first = ppv2_sniffer_pushback(sniffer, &kept);
  dprintf(fd, "hello %s, you said ", text);
  if (kept != 0 && write(fd, first, kept) < 0) return;
  if (n > (ssize_t)step.consumed && write(fd, chunk + step.consumed, (size_t)n - step.consumed) < 0) return;
}

int main(int argc, char** argv) {
  ppv2_cidr proxies;
  if (argc != 2 || !ppv2_cidr_parse(argv[1], &proxies)) return fprintf(stderr, "usage: %s TRUSTED_CIDR\n", argv[0]), 2;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in self = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof self;
  if (bind(listener, (struct sockaddr*)&self, length) != 0 || listen(listener, 16) != 0 ||
      getsockname(listener, (struct sockaddr*)&self, &length) != 0)
    return perror("listen"), 1;
  printf("%d\n", ntohs(self.sin_port));
  fflush(stdout);
  while (1) {
    struct sockaddr_in peer; /* from accept itself: getpeername() fails once a client has gone */
    length = sizeof peer;
    const int fd = accept(listener, (struct sockaddr*)&peer, &length);
    if (fd < 0) return perror("accept"), 1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 3}, sizeof(struct timeval));
    ppv2_address measured;
    ppv2_address_from((struct sockaddr*)&peer, length, &measured);
    serve(fd, &measured, ppv2_cidr_contains(&proxies, &measured));
    close(fd);
  }
}

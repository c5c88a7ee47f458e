// What libppv2 costs, next to a memcpy of the same bytes, since machines differ. Counts allocations instead of
// believing in their absence: every malloc of the process goes through the counter here.
#include <benchmark/benchmark.h>
#include <ppv2/encoder.h>
#include <ppv2/peer_map.h>
#include <ppv2/policy.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ppv2/crc32c.h"

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);

static std::atomic<std::uint64_t> allocations{0};

void* malloc(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(memory, size);
}
}

namespace {

using ppv2::Address;
using ppv2::Encoder;

const Address kClient = *Address::parse("203.0.113.7:51512");
const Address kServer = *Address::parse("198.51.100.25:443");
const Address kClient6 = *Address::parse("[2001:db8::7]:51512");
const Address kServer6 = *Address::parse("[2001:db8::25]:443");
const std::string kHello("\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03rest of a ClientHello", 32);

// Reports what was allocated while it lived.
class Allocations {
 public:
  explicit Allocations(benchmark::State& state) : state_(state), before_(allocations.load()) {}
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;
  ~Allocations() { state_.counters["allocations"] = static_cast<double>(allocations.load() - before_); }

 private:
  benchmark::State& state_;
  std::uint64_t before_;
};

template <typename Fill>
std::string header(Fill fill) {
  std::array<std::byte, 4096> out;
  const std::size_t size = fill(out);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string plain4() {
  return header([](auto& out) { return ppv2::encode_v2(out, kClient, kServer); });
}
std::string plain6() {
  return header([](auto& out) { return ppv2::encode_v2(out, kClient6, kServer6); });
}
// The size of what a TLS-terminating proxy sends with a client certificate's name in it.
std::string full(bool crc) {
  return header([crc](auto& out) {
    Encoder encoder = Encoder::proxy(out, kClient, kServer);
    if (crc) encoder.crc32c();
    return encoder.alpn("http/1.1")
        .authority("shop.example")
        .unique_id("7F000001:A97B_26B0C8DEA_0018")
        .ssl({.client = 7,
              .version = "TLSv1.3",
              .cn = "client1.example",
              .cipher = "TLS_AES_256_GCM_SHA384",
              .sig_alg = "RSA-SHA256",
              .key_alg = "RSA2048"})
        .finish();
  });
}
std::string line4() {
  return "PROXY TCP4 203.0.113.7 198.51.100.25 51512 443\r\n";
}
std::string line6() {
  return "PROXY TCP6 2001:db8::7 2001:db8:0:1::25 51512 443\r\n";
}

void decode(benchmark::State& state, const std::string& bytes) {
  const ppv2::Bytes view{reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
  const Allocations counted(state);
  for (auto _ : state) {
    const ppv2::Bytes* escaped = &view;
    benchmark::DoNotOptimize(escaped);
    ppv2::Decoded decoded = ppv2::decode(*escaped);
    benchmark::DoNotOptimize(decoded);
  }
}

void copy(benchmark::State& state, const std::string& bytes) {
  std::array<char, 4096> out;
  std::size_t size = bytes.size();
  for (auto _ : state) {
    benchmark::DoNotOptimize(size);
    std::memcpy(out.data(), bytes.data(), size);
    benchmark::DoNotOptimize(out);
    benchmark::ClobberMemory();
  }
}

BENCHMARK_CAPTURE(copy, v2_tcp4, plain4());
BENCHMARK_CAPTURE(decode, v2_tcp4, plain4());
BENCHMARK_CAPTURE(copy, v2_tcp6, plain6());
BENCHMARK_CAPTURE(decode, v2_tcp6, plain6());
BENCHMARK_CAPTURE(copy, v2_tlvs_crc, full(true));
BENCHMARK_CAPTURE(decode, v2_tlvs_crc, full(true));
BENCHMARK_CAPTURE(decode, v2_tlvs, full(false));
BENCHMARK_CAPTURE(copy, v1_tcp4, line4());
BENCHMARK_CAPTURE(decode, v1_tcp4, line4());
BENCHMARK_CAPTURE(decode, v1_tcp6, line6());
BENCHMARK_CAPTURE(copy, client_hello, kHello);
BENCHMARK_CAPTURE(decode, client_hello, kHello);

void encode(benchmark::State& state, const Address& source, const Address& destination) {
  std::array<std::byte, 64> out;
  const Allocations counted(state);
  for (auto _ : state) {
    const Address* from = &source;
    benchmark::DoNotOptimize(from);
    std::size_t size = ppv2::encode_v2(out, *from, destination);
    benchmark::DoNotOptimize(size);
    benchmark::ClobberMemory();
  }
}
BENCHMARK_CAPTURE(encode, v2_tcp4, kClient, kServer);
BENCHMARK_CAPTURE(encode, v2_tcp6, kClient6, kServer6);

void encode_with_fields(benchmark::State& state) {
  std::array<std::byte, 256> out;
  const Allocations counted(state);
  for (auto _ : state) {
    std::size_t size = Encoder::proxy(out, kClient, kServer).unique_id("01HFZK2Q7G8XJ6W3").crc32c().finish();
    benchmark::DoNotOptimize(size);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(encode_with_fields);

void encode_v1(benchmark::State& state) {
  char out[ppv2::kV1MaxLine];
  const Allocations counted(state);
  for (auto _ : state) {
    std::size_t size = ppv2::encode_v1(out, kClient, kServer);
    benchmark::DoNotOptimize(size);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(encode_v1);

void crc_software(benchmark::State& state) {
  const std::string bytes = full(true);
  for (auto _ : state) {
    auto crc = ppv2::extend_crc32c_software(0, reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
    benchmark::DoNotOptimize(crc);
  }
}
BENCHMARK(crc_software);

// One inner connection's life in the map; `others` are there already.
void peer_map(benchmark::State& state) {
  ppv2::PeerMap map;
  const auto others = static_cast<std::uint16_t>(state.range(0));
  ppv2::Peer peer{.peer = kClient, .local = kServer};
  peer.set_unique_id("01HFZK2Q7G8XJ6W3");
  for (std::uint16_t i = 0; i < others; ++i)
    map.put(Address::ipv4({127, 0, 0, 1}, static_cast<std::uint16_t>(1024 + i)), peer).linger();
  const Address key = Address::ipv4({127, 0, 0, 1}, 40000);
  map.put(key, peer).erase();  // its pages
  const Allocations counted(state);
  for (auto _ : state) {
    const auto guard = map.put(key, peer);
    auto found = map.find(key);
    benchmark::DoNotOptimize(found);
  }
}
BENCHMARK(peer_map)->Arg(0)->Arg(10000);

void peer_map_find(benchmark::State& state) {
  ppv2::PeerMap map;
  const Address key = Address::ipv4({127, 0, 0, 1}, 40000);
  const auto guard = map.put(key, {.peer = kClient});
  for (auto _ : state) {
    auto found = map.find(key);
    benchmark::DoNotOptimize(found);
  }
}
BENCHMARK(peer_map_find);

}  // namespace

BENCHMARK_MAIN();

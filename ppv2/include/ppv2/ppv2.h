/* libppv2 for C: the PROXY protocol's decoder, sniffer, encoder and peer map, without exceptions, I/O or a clock.
 *
 * Structs that may grow begin with `struct_size`: set it to sizeof the struct before each call. The library reads and
 * writes no more than that, so a program built against an older header works with a newer library. Functions are safe
 * in any thread; one sniffer belongs to one thread at a time. See decoder.h, sniffer.h, encoder.h and peer_map.h for
 * what each part promises; the values of the enums here are those there.
 *
 *   ppv2_decoded d = {.struct_size = sizeof d};
 *   if (ppv2_decode(bytes, n, NULL, &d) == PPV2_HEADER) consume(fd, d.header_length);
 */
#ifndef PPV2_PPV2_H
#define PPV2_PPV2_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PPV2_API __attribute__((visibility("default")))

enum { PPV2_NEED_MORE, PPV2_HEADER, PPV2_NOT_PROXY, PPV2_REJECT };                       /* outcomes */
enum { PPV2_KIND_NONE, PPV2_KIND_TLS, PPV2_KIND_HTTP1, PPV2_KIND_H2C, PPV2_KIND_OTHER }; /* what follows */
enum { PPV2_LOCAL, PPV2_PROXY };                                                         /* commands */
enum { PPV2_UNSPEC, PPV2_INET, PPV2_INET6, PPV2_UNIX };                                  /* families */
enum { PPV2_TRANSPORT_UNSPEC, PPV2_STREAM, PPV2_DGRAM };                                 /* transports */
enum { PPV2_CRC_IGNORE, PPV2_CRC_IF_PRESENT, PPV2_CRC_REQUIRED };                        /* options.crc */
enum { PPV2_CRC_ABSENT, PPV2_CRC_VERIFIED, PPV2_CRC_UNCHECKED };                         /* decoded.crc */
enum { PPV2_POLICY_REJECT, PPV2_POLICY_REQUIRE, PPV2_POLICY_SNIFF };
enum { PPV2_UNTRUSTED_REJECT, PPV2_UNTRUSTED_MARK, PPV2_UNTRUSTED_PASS };
enum { PPV2_WAIT, PPV2_ACCEPT, PPV2_PASS, PPV2_END }; /* actions of a step */

enum {
  PPV2_TLV_ALPN = 0x01,
  PPV2_TLV_AUTHORITY = 0x02,
  PPV2_TLV_CRC32C = 0x03,
  PPV2_TLV_NOOP = 0x04,
  PPV2_TLV_UNIQUE_ID = 0x05,
  PPV2_TLV_SSL = 0x20,
  PPV2_TLV_NETNS = 0x30
};

enum { PPV2_ADDRESS_TEXT = 56, PPV2_V1_MAX = 107 };

/* One end. Never grows. */
typedef struct ppv2_address {
  uint8_t family;
  uint8_t name_length; /* PPV2_UNIX: of the short abstract name in bytes */
  uint16_t port;       /* host order */
  uint8_t bytes[16];
} ppv2_address;

/* A field of a header. Never grows. */
typedef struct ppv2_tlv {
  const void* value;
  size_t length;
  uint8_t type;
} ppv2_tlv;

typedef struct ppv2_options {
  size_t struct_size;
  uint32_t max_header; /* 4096 */
  uint8_t v1;          /* 1 */
  uint8_t v2;          /* 1 */
  uint8_t v4_in_tcp6;  /* 0 */
  uint8_t crc;         /* PPV2_CRC_IF_PRESENT */
} ppv2_options;

typedef struct ppv2_decoded {
  size_t struct_size;
  int32_t outcome;
  int32_t reason;         /* PPV2_REJECT: see ppv2_reason_name */
  int32_t kind;           /* of what follows the header */
  uint32_t offset;        /* PPV2_REJECT: the byte at fault; PPV2_NEED_MORE: the bytes seen */
  uint32_t header_length; /* PPV2_HEADER: what to consume */
  uint32_t wanted;        /* PPV2_NEED_MORE: no decision before this many bytes */
  uint8_t version;        /* 0, 1, 2 */
  uint8_t command;
  uint8_t family;
  uint8_t transport;
  uint8_t crc;
  uint8_t trusted; /* of a sniffer's claim: its sender may speak for others */
  ppv2_address source;
  ppv2_address destination;
  const void* unix_paths; /* PPV2_UNIX: 108 + 108 bytes inside the bytes given */
  const void* tlvs;       /* for ppv2_tlv_next and ppv2_tlv_find */
  size_t tlvs_size;
} ppv2_decoded;

typedef struct ppv2_step {
  size_t struct_size;
  int32_t action;
  int32_t reason; /* PPV2_END */
  int32_t kind;
  uint32_t consumed; /* of the bytes fed in this call; the rest come after the pushback */
  uint32_t offset;   /* PPV2_END: the byte at fault */
} ppv2_step;

typedef struct ppv2_peer {
  size_t struct_size;
  ppv2_address peer;  /* measured */
  ppv2_address local; /* measured */
  ppv2_address claimed_source;
  ppv2_address claimed_destination;
  int64_t accepted_at;
  uint8_t claim_trusted;
  uint8_t unique_id_length; /* at most 128 */
  uint8_t edge_length;      /* at most 64 */
  char unique_id[128];
  char edge[64];
} ppv2_peer;

/* The owner of one map entry; give it to ppv2_peermap_erase once. Zero it before use. */
typedef struct ppv2_guard {
  uint64_t opaque[8];
} ppv2_guard;

typedef struct ppv2_sniffer ppv2_sniffer;
typedef struct ppv2_peermap ppv2_peermap;

PPV2_API void ppv2_options_init(ppv2_options* options); /* the defaults; struct_size must be set */

/* Returns the outcome. `options` may be null. `out` views `bytes`. */
PPV2_API int ppv2_decode(const void* bytes, size_t size, const ppv2_options* options, ppv2_decoded* out);
PPV2_API int ppv2_classify(const void* bytes, size_t size);
PPV2_API const char* ppv2_reason_name(int reason);
PPV2_API const char* ppv2_reason_text(int reason);

/* Fields in order: start with *position = 0; 0 at the end and where a field does not fit. */
PPV2_API int ppv2_tlv_next(const void* tlvs, size_t size, size_t* position, ppv2_tlv* out);
PPV2_API int ppv2_tlv_find(const void* tlvs, size_t size, uint8_t type, ppv2_tlv* out); /* the first of its type */

/* 1, or 0 for a family the protocol does not know. */
PPV2_API int ppv2_address_from(const struct sockaddr* address, socklen_t length, ppv2_address* out);
PPV2_API socklen_t ppv2_address_to(const ppv2_address* address, struct sockaddr_storage* out);
/* NUL-terminated; returns the length, or 0 if `room` is under PPV2_ADDRESS_TEXT + 1. */
PPV2_API size_t ppv2_address_text(const ppv2_address* address, char* out, size_t room);

/* All return the header's size, or 0 if it does not fit. Addresses of different families become mapped IPv6. */
PPV2_API size_t ppv2_encode_v1(char* out, size_t room, const ppv2_address* source, const ppv2_address* destination);
/* `source` null: LOCAL. A PPV2_TLV_CRC32C among the fields (its value is ignored) is computed. */
PPV2_API size_t ppv2_encode_v2(void* out, size_t room, const ppv2_address* source, const ppv2_address* destination,
                               const ppv2_tlv* tlvs, size_t tlv_count);

/* A sniffer lives in `memory` of the caller's, at least ppv2_sniffer_size() bytes aligned as malloc's; it needs no end
 * and must not be moved. Null if the memory is too small. `overflow` may be null: see sniffer.h. */
PPV2_API size_t ppv2_sniffer_size(void);
PPV2_API ppv2_sniffer* ppv2_sniffer_init(void* memory, size_t size, int policy, int untrusted, int trusted_source,
                                         const ppv2_options* options, void* overflow, size_t overflow_size);
/* All three return the action; `step` may be null. */
PPV2_API int ppv2_sniffer_feed(ppv2_sniffer* sniffer, const void* bytes, size_t size, ppv2_step* step);
PPV2_API int ppv2_sniffer_timeout(ppv2_sniffer* sniffer, ppv2_step* step);
PPV2_API int ppv2_sniffer_eof(ppv2_sniffer* sniffer, ppv2_step* step);
PPV2_API const void* ppv2_sniffer_pushback(const ppv2_sniffer* sniffer, size_t* size);
/* 1 and the claim, or 0 without an accepted header. */
PPV2_API int ppv2_sniffer_claim(const ppv2_sniffer* sniffer, ppv2_decoded* out);

PPV2_API ppv2_peermap* ppv2_peermap_new(void); /* null without memory */
PPV2_API void ppv2_peermap_free(ppv2_peermap* map);
/* 0 or an errno. `key` may be null; it gets the address that the socket was given. */
PPV2_API int ppv2_peermap_bind_and_put(ppv2_peermap* map, int fd, const ppv2_address* source, const ppv2_peer* peer,
                                       ppv2_guard* guard, ppv2_address* key);
PPV2_API int ppv2_peermap_put(ppv2_peermap* map, const ppv2_address* key, const ppv2_peer* peer, ppv2_guard* guard);
PPV2_API void ppv2_peermap_erase(ppv2_guard* guard);
/* 1 and the peer, or 0: unknown, and never to be trusted. */
PPV2_API int ppv2_peermap_find(const ppv2_peermap* map, const struct sockaddr* address, socklen_t length,
                               ppv2_peer* out);
PPV2_API int ppv2_peermap_find_grpc(const ppv2_peermap* map, const char* peer, size_t length, ppv2_peer* out);
PPV2_API size_t ppv2_peermap_size(const ppv2_peermap* map);

#ifdef __cplusplus
}
#endif

#endif

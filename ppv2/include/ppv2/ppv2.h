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

/* In front of what the library shows. */
#define PPV2_API __attribute__((visibility("default")))

/* What bytes are: ppv2_decoded.outcome. */
enum ppv2_outcome {
  PPV2_NEED_MORE, /* every byte so far could begin a header */
  PPV2_HEADER,    /* a whole, valid header */
  PPV2_NOT_PROXY, /* a byte differs from every signature that is looked for */
  PPV2_REJECT     /* begins like a header and cannot become a valid one */
};

/* What the stream carries behind a header, or instead of one. */
enum ppv2_kind {
  PPV2_KIND_NONE,  /* no byte yet */
  PPV2_KIND_TLS,   /* a ClientHello */
  PPV2_KIND_HTTP1, /* a request line */
  PPV2_KIND_H2C,   /* HTTP/2's preface without TLS */
  PPV2_KIND_OTHER  /* none of these */
};

/* For whom the sender speaks (proxy-protocol.txt section 2.2). */
enum ppv2_command {
  PPV2_LOCAL, /* for itself, as in a health check */
  PPV2_PROXY  /* for a client */
};

/* What kind of addresses: ppv2_address.family. */
enum ppv2_family {
  PPV2_UNSPEC, /* none */
  PPV2_INET,   /* IPv4 */
  PPV2_INET6,  /* IPv6 */
  PPV2_UNIX    /* Unix sockets */
};

/* What the client's connection is made of. */
enum ppv2_transport {
  PPV2_TRANSPORT_UNSPEC, /* not said */
  PPV2_STREAM,           /* TCP, or a Unix stream */
  PPV2_DGRAM             /* UDP, or Unix datagrams */
};

/* What becomes of a checksum: ppv2_options.crc. */
enum ppv2_crc {
  PPV2_CRC_IGNORE,     /* not looked at */
  PPV2_CRC_IF_PRESENT, /* checked where there is one */
  PPV2_CRC_REQUIRED    /* a v2 PROXY header without one is refused */
};

/* What is known of a header's checksum: ppv2_decoded.crc. */
enum ppv2_crc_state {
  PPV2_CRC_ABSENT,   /* there is none */
  PPV2_CRC_VERIFIED, /* it fits */
  PPV2_CRC_UNCHECKED /* there is one, and PPV2_CRC_IGNORE */
};

/* What a listener expects of its connections; see policy.h. */
enum ppv2_policy {
  PPV2_POLICY_REJECT,  /* a port without the protocol */
  PPV2_POLICY_REQUIRE, /* only trusted sources, and only with a header */
  PPV2_POLICY_SNIFF    /* both kinds of clients on one port */
};

/* Under PPV2_POLICY_SNIFF: what a header from a source that is not trusted does. */
enum ppv2_untrusted {
  PPV2_UNTRUSTED_REJECT, /* end the connection */
  PPV2_UNTRUSTED_MARK,   /* take it off, with ppv2_decoded.trusted 0 */
  PPV2_UNTRUSTED_PASS    /* not looked for */
};

/* What to do with a connection: ppv2_step.action. */
enum ppv2_action {
  PPV2_WAIT,   /* for more bytes, or a deadline */
  PPV2_ACCEPT, /* the header is off, and the claim can be asked for */
  PPV2_PASS,   /* no header: every byte goes on */
  PPV2_END     /* end the connection */
};

/* Types of fields (2.2.1 to 2.2.7); others are kept all the same. */
enum ppv2_tlv_type {
  PPV2_TLV_ALPN = 0x01,            /* the protocol that TLS agreed on */
  PPV2_TLV_AUTHORITY = 0x02,       /* the host name asked for */
  PPV2_TLV_CRC32C = 0x03,          /* of the whole header */
  PPV2_TLV_NOOP = 0x04,            /* padding */
  PPV2_TLV_UNIQUE_ID = 0x05,       /* at most 128 bytes */
  PPV2_TLV_SSL = 0x20,             /* see ppv2_ssl_find; the types up to 0x28 stand inside it */
  PPV2_TLV_SSL_VERSION = 0x21,     /* "TLSv1.3" */
  PPV2_TLV_SSL_CN = 0x22,          /* the client's name, UTF-8 */
  PPV2_TLV_SSL_CIPHER = 0x23,      /* US-ASCII */
  PPV2_TLV_SSL_SIG_ALG = 0x24,     /* US-ASCII */
  PPV2_TLV_SSL_KEY_ALG = 0x25,     /* US-ASCII */
  PPV2_TLV_SSL_GROUP = 0x26,       /* US-ASCII */
  PPV2_TLV_SSL_SIG_SCHEME = 0x27,  /* US-ASCII */
  PPV2_TLV_SSL_CLIENT_CERT = 0x28, /* DER */
  PPV2_TLV_NETNS = 0x30            /* a network namespace's name */
};

/* Sizes of buffers. */
enum ppv2_size {
  PPV2_ADDRESS_TEXT = 56, /* bytes of the longest address, without the NUL behind it */
  PPV2_V1_MAX = 107       /* bytes of the longest v1 line */
};

/* One end of a connection. Never grows. */
typedef struct ppv2_address {
  uint8_t family;      /* ppv2_family */
  uint8_t name_length; /* PPV2_UNIX: of the short abstract name in bytes */
  uint16_t port;       /* host order */
  uint8_t bytes[16];   /* network order; IPv4 in the first four */
} ppv2_address;

/* A range of addresses. Never grows. */
typedef struct ppv2_cidr {
  ppv2_address base; /* IPv4 or IPv6 */
  uint8_t bits;      /* how many of its leading bits count */
} ppv2_cidr;

/* A field of a header. Never grows. */
typedef struct ppv2_tlv {
  const void* value; /* inside the header's bytes */
  size_t length;     /* bytes */
  uint8_t type;      /* ppv2_tlv_type, or any other number */
} ppv2_tlv;

/* What a listener takes; ppv2_options_init gives the defaults, named here. */
typedef struct ppv2_options {
  size_t struct_size;  /* the caller's sizeof */
  uint32_t max_header; /* 4096 bytes; a longer v2 header is refused at byte 16 */
  uint8_t v1;          /* 1; with 0 a v1 line is PPV2_NOT_PROXY */
  uint8_t v2;          /* 1; with 0 a v2 signature is PPV2_REJECT */
  uint8_t v4_in_tcp6;  /* 0; 1 takes IPv4 in a TCP6 line, as mapped IPv6 */
  uint8_t crc;         /* PPV2_CRC_IF_PRESENT */
} ppv2_options;

/* What a header says. */
typedef struct ppv2_decoded {
  size_t struct_size;       /* the caller's sizeof */
  int32_t outcome;          /* ppv2_outcome */
  int32_t reason;           /* PPV2_REJECT: see ppv2_reason_name */
  int32_t kind;             /* ppv2_kind of what follows the header */
  uint32_t offset;          /* PPV2_REJECT: the byte at fault; PPV2_NEED_MORE: the bytes seen */
  uint32_t header_length;   /* PPV2_HEADER: what to consume */
  uint32_t wanted;          /* PPV2_NEED_MORE: no decision before this many bytes */
  uint8_t version;          /* 0, 1, 2 */
  uint8_t command;          /* ppv2_command */
  uint8_t family;           /* ppv2_family, as sent */
  uint8_t transport;        /* ppv2_transport */
  uint8_t crc;              /* ppv2_crc_state */
  uint8_t trusted;          /* of a sniffer's claim: its sender may speak for others */
  ppv2_address source;      /* the client; PPV2_UNSPEC where the header names none */
  ppv2_address destination; /* whom it connected to */
  const void* unix_paths;   /* PPV2_UNIX: 108 + 108 bytes inside the bytes given */
  const void* tlvs;         /* for ppv2_tlv_next, ppv2_tlv_find and ppv2_ssl_find */
  size_t tlvs_size;         /* bytes */
} ppv2_decoded;

/* What a sender that ended TLS knows of it (2.2.6). */
typedef struct ppv2_ssl {
  size_t struct_size; /* the caller's sizeof */
  const void* tlvs;   /* the fields inside, for ppv2_tlv_find */
  size_t tlvs_size;   /* bytes */
  uint32_t verify;    /* 0 also where there was no certificate: ask `verified` */
  uint8_t client;     /* as sent: 1 TLS, 2 a certificate on this connection, 4 on this session */
  uint8_t is_tls;     /* 1: the client used TLS */
  uint8_t verified;   /* 1: a certificate was given, and the sender found it good */
} ppv2_ssl;

/* What a sniffer says. */
typedef struct ppv2_step {
  size_t struct_size; /* the caller's sizeof */
  int32_t action;     /* ppv2_action; everything but PPV2_WAIT is final */
  int32_t reason;     /* PPV2_END: see ppv2_reason_name */
  int32_t kind;       /* PPV2_ACCEPT, PPV2_PASS: ppv2_kind of what follows */
  uint32_t consumed;  /* of the bytes fed in this call; the rest come after the pushback */
  uint32_t offset;    /* PPV2_END: the byte at fault */
} ppv2_step;

/* What is kept of the peer behind an inner connection. */
typedef struct ppv2_peer {
  size_t struct_size;               /* the caller's sizeof */
  ppv2_address peer;                /* measured: whom accept4() named */
  ppv2_address local;               /* measured: where it connected to */
  ppv2_address claimed_source;      /* PPV2_UNSPEC without a claim */
  ppv2_address claimed_destination; /* the same */
  int64_t accepted_at;              /* as the caller's clock counts */
  uint8_t claim_trusted;            /* 1: the claim may stand for the measured address */
  uint8_t unique_id_length;         /* at most 128 */
  uint8_t edge_length;              /* at most 64 */
  char unique_id[128];              /* the header's, no C string */
  char edge[64];                    /* the name of the edge that sent it, no C string */
} ppv2_peer;

/* The owner of one map entry; give it to ppv2_peermap_erase once. Zero it before use. */
typedef struct ppv2_guard {
  uint64_t opaque[8]; /* the library's */
} ppv2_guard;

typedef struct ppv2_sniffer ppv2_sniffer; /* one connection's search for a header */
typedef struct ppv2_peermap ppv2_peermap; /* who is behind inner connections */

/* The defaults; struct_size must be set. */
PPV2_API void ppv2_options_init(ppv2_options* options);

/* Decides on the stream from its start and returns the outcome. `options` may be null. `out` views `bytes`. */
PPV2_API int ppv2_decode(const void* bytes, size_t size, const ppv2_options* options, ppv2_decoded* out);
/* ppv2_kind of a stream that begins with these bytes. */
PPV2_API int ppv2_classify(const void* bytes, size_t size);
/* "crc_mismatch": for metrics and JSON. Never null, also for a number that is none. */
PPV2_API const char* ppv2_reason_name(int reason);
/* A sentence for people; the same. */
PPV2_API const char* ppv2_reason_text(int reason);

/* Fields in order: start with *position = 0. 1 and the field, or 0 at the end and where a field does not fit. */
PPV2_API int ppv2_tlv_next(const void* tlvs, size_t size, size_t* position, ppv2_tlv* out);
/* 1 and the first field of its type, or 0. */
PPV2_API int ppv2_tlv_find(const void* tlvs, size_t size, uint8_t type, ppv2_tlv* out);
/* 1 and what is said of TLS, or 0 where nothing is. */
PPV2_API int ppv2_ssl_find(const void* tlvs, size_t size, ppv2_ssl* out);

/* 1, or 0 for a family the protocol does not know. */
PPV2_API int ppv2_address_from(const struct sockaddr* address, socklen_t length, ppv2_address* out);
/* The length of what is in `out`, 0 for PPV2_UNSPEC. */
PPV2_API socklen_t ppv2_address_to(const ppv2_address* address, struct sockaddr_storage* out);
/* NUL-terminated; returns the length, or 0 if `room` is under PPV2_ADDRESS_TEXT + 1. */
PPV2_API size_t ppv2_address_text(const ppv2_address* address, char* out, size_t room);

/* "192.0.2.0/24", "2001:db8::/32" or an address: 1, or 0 for anything else. */
PPV2_API int ppv2_cidr_parse(const char* text, ppv2_cidr* out);
/* 1 if the address is one of the range, a mapped one as IPv4; else 0. */
PPV2_API int ppv2_cidr_contains(const ppv2_cidr* cidr, const ppv2_address* address);

/* Returns the line's size, or 0 if it does not fit. Addresses of different families become mapped IPv6. */
PPV2_API size_t ppv2_encode_v1(char* out, size_t room, const ppv2_address* source, const ppv2_address* destination);
/* The same for v2. `source` null: LOCAL. A PPV2_TLV_CRC32C among the fields (its value is ignored) is computed. */
PPV2_API size_t ppv2_encode_v2(void* out, size_t room, const ppv2_address* source, const ppv2_address* destination,
                               const ppv2_tlv* tlvs, size_t tlv_count);

/* Bytes that a sniffer needs. */
PPV2_API size_t ppv2_sniffer_size(void);
/* A sniffer lives in `memory` of the caller's, at least ppv2_sniffer_size() bytes aligned as malloc's; it needs no end
 * and must not be moved. Null if the memory is too small. A policy that is not known is read as the strictest.
 * `trusted_source`: the measured peer may speak for others. `options` and `overflow` may be null: see sniffer.h. */
PPV2_API ppv2_sniffer* ppv2_sniffer_init(void* memory, size_t size, int policy, int untrusted, int trusted_source,
                                         const ppv2_options* options, void* overflow, size_t overflow_size);
/* The next bytes of the stream, in any pieces. Returns the action; `step` may be null. */
PPV2_API int ppv2_sniffer_feed(ppv2_sniffer* sniffer, const void* bytes, size_t size, ppv2_step* step);
/* A deadline, counted from accept, has passed. Returns the action, never PPV2_WAIT. */
PPV2_API int ppv2_sniffer_timeout(ppv2_sniffer* sniffer, ppv2_step* step);
/* The peer sends no more. Returns the action, never PPV2_WAIT. */
PPV2_API int ppv2_sniffer_eof(ppv2_sniffer* sniffer, ppv2_step* step);
/* What goes to the next layer first, then the bytes that were not consumed. */
PPV2_API const void* ppv2_sniffer_pushback(const ppv2_sniffer* sniffer, size_t* size);
/* 1 and the claim, or 0 without an accepted header. */
PPV2_API int ppv2_sniffer_claim(const ppv2_sniffer* sniffer, ppv2_decoded* out);

/* An empty map; null without memory. */
PPV2_API ppv2_peermap* ppv2_peermap_new(void);
/* No guard, reader or writer may be left. `map` may be null. */
PPV2_API void ppv2_peermap_free(ppv2_peermap* map);
/* Binds `fd` to `source` with port 0 and enters `peer`; then connect. 0 or an errno. `key` may be null; it gets the
 * address that the socket was given. */
PPV2_API int ppv2_peermap_bind_and_put(ppv2_peermap* map, int fd, const ppv2_address* source, const ppv2_peer* peer,
                                       ppv2_guard* guard, ppv2_address* key);
/* For a socket that is bound already. 0 or an errno. */
PPV2_API int ppv2_peermap_put(ppv2_peermap* map, const ppv2_address* key, const ppv2_peer* peer, ppv2_guard* guard);
/* Ends the entry, unless another one has taken its place. */
PPV2_API void ppv2_peermap_erase(ppv2_guard* guard);
/* By the address that accept() gave the server: 1 and the peer, or 0: unknown, and never to be trusted. */
PPV2_API int ppv2_peermap_find(const ppv2_peermap* map, const struct sockaddr* address, socklen_t length,
                               ppv2_peer* out);
/* The same by gRPC's text, "ipv4:127.0.0.1:41234". */
PPV2_API int ppv2_peermap_find_grpc(const ppv2_peermap* map, const char* peer, size_t length, ppv2_peer* out);
/* Entries now. */
PPV2_API size_t ppv2_peermap_size(const ppv2_peermap* map);

#ifdef __cplusplus
}
#endif

#endif

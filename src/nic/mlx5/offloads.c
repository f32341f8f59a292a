// What the NIC does to the bytes of Ethernet frames: checksums, segments of TCP, the frame check sequence.
#include "mlx5.h"

#include <endian.h>
#include <string.h>

static uint16_t read16(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }

static void write16(uint8_t *at, uint16_t value) {
  at[0] = value >> 8;
  at[1] = value;
}

static uint32_t sum(uint32_t before, const uint8_t *at, unsigned length) {
  uint32_t total = before;
  for (unsigned i = 0; i + 1 < length; i += 2) {
    total += read16(at + i);
  }
  total += length & 1 ? at[length - 1] << 8 : 0;
  while (total >> 16) {
    total = (total & 0xffff) + (total >> 16);
  }
  return total;
}

static unsigned network_bytes(const struct headers *headers) { return headers->ipv6 ? 40 : headers->transport - headers->network; }

// The bytes of TCP or UDP as the header of IP says; 0 if the frame does not have them, or is neither.
static unsigned transport_bytes(const uint8_t *frame, unsigned length, const struct headers *headers) {
  if (!headers->transport) {
    return 0;
  }
  const uint8_t *ip = frame + headers->network;
  int bytes = headers->ipv6 ? read16(ip + 4) : read16(ip + 2) - (int)network_bytes(headers);
  return bytes >= (headers->tcp ? 20 : 8) && headers->transport + (unsigned)bytes <= length ? (unsigned)bytes : 0;
}

// Of TCP or UDP and the pseudo header; 0xffff if the checksum in it is right.
static uint32_t transport_sum(const uint8_t *frame, unsigned bytes, const struct headers *headers) {
  uint32_t pseudo = bytes + (headers->tcp ? 6 : 17);
  const uint8_t *addresses = frame + headers->network + (headers->ipv6 ? 8 : 12);
  return sum(sum(pseudo, addresses, headers->ipv6 ? 32 : 8), frame + headers->transport, bytes);
}

static unsigned ip_bytes(const uint8_t *frame, unsigned length, const struct headers *headers) {
  unsigned bytes = headers->network && !headers->ipv6 ? 4u * (frame[headers->network] & 0xf) : 0;
  return bytes >= 20 && headers->network + bytes <= length ? bytes : 0;
}

void fill_checksums(uint8_t *frame, unsigned length, const struct headers *headers, bool network, bool transport) {
  unsigned ip = ip_bytes(frame, length, headers), bytes = transport_bytes(frame, length, headers);
  if (network && ip) {
    uint8_t *at = frame + headers->network;
    write16(at + 10, 0);
    write16(at + 10, ~sum(0, at, ip));
  }
  if (transport && bytes) {
    uint8_t *at = frame + headers->transport + (headers->tcp ? 16 : 6);
    write16(at, 0);
    uint16_t checksum = ~transport_sum(frame, bytes, headers);
    write16(at, checksum || headers->tcp ? checksum : 0xffff);
  }
}

// Which checksums are right, as in a completion queue entry. UDP over IPv4 may have none.
unsigned good_checksums(const uint8_t *frame, unsigned length, const struct headers *headers) {
  unsigned ip = ip_bytes(frame, length, headers), bytes = transport_bytes(frame, length, headers);
  bool network = headers->ipv6 || (ip && sum(0, frame + headers->network, ip) == 0xffff);
  bool none = bytes && !headers->tcp && !headers->ipv6 && read16(frame + headers->transport + 6) == 0;
  bool transport = none || (bytes && transport_sum(frame, bytes, headers) == 0xffff);
  return (network ? CHECKED_L3 : 0) | (transport ? CHECKED_L4 : 0);
}

// The header of a segment of a TCP message, which begins at `offset` of the data and has `bytes` of them.
void segment_header(uint8_t *header, const struct headers *headers, unsigned header_bytes, uint32_t number, uint32_t offset,
                    uint32_t bytes, bool last) {
  uint8_t *ip = header + headers->network, *tcp = header + headers->transport;
  if (headers->ipv6) {
    write16(ip + 4, header_bytes - headers->transport + bytes);
  } else {
    write16(ip + 2, header_bytes - headers->network + bytes);
    write16(ip + 4, read16(ip + 4) + number);
  }
  uint32_t sequence = (uint32_t)read16(tcp + 4) << 16 | read16(tcp + 6);
  sequence += offset;
  write16(tcp + 4, sequence >> 16);
  write16(tcp + 6, sequence);
  enum { FIN = 0x01, PUSH = 0x08, CONGESTION_WINDOW_REDUCED = 0x80 };
  tcp[13] &= ~((last ? 0 : FIN | PUSH) | (number ? CONGESTION_WINDOW_REDUCED : 0));
}

// CRC-32, least significant byte first.
uint32_t frame_check_sequence(const uint8_t *frame, unsigned length) {
  uint32_t crc = UINT32_MAX;
  for (unsigned i = 0; i < length; i++) {
    crc ^= frame[i];
    for (int bit = 0; bit < 8; bit++) {
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
  }
  return htole32(~crc);
}

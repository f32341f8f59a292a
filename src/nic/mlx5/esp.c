// Flow actions that decrypt the ESP packets of a rule with AES-GCM (RFC 4106), as the kernel's driver before Linux 6.0 creates
// them: of the attributes the key, and the extended sequence number, which alone can be modified.
#include "mlx5.h"

#include <endian.h>
#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <string.h>

enum { BLOCK = 16, CHECK = 16, VECTOR = 8 };

struct action {
  struct object object;
  uint8_t key[32], salt[4];
  unsigned key_length;
  bool extended; // sequence numbers have 64 bits
  uint32_t high; // of them
};

// --- AES ---

struct schedule {
  uint8_t keys[15][BLOCK];
  unsigned rounds;
};

static uint8_t twice(uint8_t x) { return x << 1 ^ (x & 0x80 ? 0x1b : 0); }

static uint8_t product(uint8_t a, uint8_t b) {
  uint8_t sum = 0;
  for (; b; b >>= 1, a = twice(a)) {
    sum ^= b & 1 ? a : 0;
  }
  return sum;
}

// The inverse in GF(2^8), which is the power of 254, and an affine map.
static uint8_t substitute(uint8_t x) {
  static uint8_t table[256];
  static bool made;
  for (unsigned i = 0; !made && i < 256; i++) {
    uint8_t inverse = 1, mapped = 0x63;
    for (unsigned n = 0; n < 254; n++) {
      inverse = product(inverse, i);
    }
    for (unsigned shift = 0; shift < 5; shift++) {
      mapped ^= (uint8_t)(inverse << shift | inverse >> (8 - shift));
    }
    table[i] = mapped;
  }
  made = true;
  return table[x];
}

static struct schedule expand(const uint8_t *key, unsigned length) {
  struct schedule schedule = {.rounds = length / 4 + 6};
  uint8_t *words = schedule.keys[0], constant = 1;
  memcpy(words, key, length);
  for (unsigned at = length; at < BLOCK * (schedule.rounds + 1); at += 4) {
    uint8_t word[4];
    memcpy(word, words + at - 4, 4);
    if (at % length == 0) {
      uint8_t first = word[0];
      for (unsigned i = 0; i < 4; i++) {
        word[i] = substitute(i < 3 ? word[i + 1] : first);
      }
      word[0] ^= constant;
      constant = twice(constant);
    } else if (length == 32 && at % length == 16) {
      for (unsigned i = 0; i < 4; i++) {
        word[i] = substitute(word[i]);
      }
    }
    for (unsigned i = 0; i < 4; i++) {
      words[at + i] = words[at + i - length] ^ word[i];
    }
  }
  return schedule;
}

static void add(uint8_t *to, const uint8_t *from, unsigned length) {
  for (unsigned i = 0; i < length; i++) {
    to[i] ^= from[i];
  }
}

static void encrypt(const struct schedule *schedule, const uint8_t *from, uint8_t *state) {
  memcpy(state, from, BLOCK);
  add(state, schedule->keys[0], BLOCK);
  for (unsigned round = 1; round <= schedule->rounds; round++) {
    uint8_t shifted[BLOCK];
    for (unsigned i = 0; i < BLOCK; i++) {
      shifted[i] = substitute(state[(i + 4 * (i % 4)) % BLOCK]);
    }
    for (unsigned i = 0; i < BLOCK; i++) {
      const uint8_t *column = shifted + i / 4 * 4;
      uint8_t all = column[0] ^ column[1] ^ column[2] ^ column[3];
      state[i] = round == schedule->rounds ? shifted[i] : shifted[i] ^ all ^ twice(shifted[i] ^ column[(i + 1) % 4]);
    }
    add(state, schedule->keys[round], BLOCK);
  }
}

// --- GCM ---

// The sum so far times the hash key.
static void multiply(uint8_t *sum, const uint8_t *hash) {
  uint8_t result[BLOCK] = {0}, shifted[BLOCK];
  memcpy(shifted, hash, BLOCK);
  for (unsigned bit = 0; bit < 8 * BLOCK; bit++) {
    if (sum[bit / 8] & 0x80 >> bit % 8) {
      add(result, shifted, BLOCK);
    }
    bool last = shifted[BLOCK - 1] & 1;
    for (unsigned i = BLOCK; i-- > 0;) {
      shifted[i] = shifted[i] >> 1 | (i ? shifted[i - 1] << 7 : 0);
    }
    shifted[0] ^= last ? 0xe1 : 0;
  }
  memcpy(sum, result, BLOCK);
}

static void absorb(uint8_t *sum, const uint8_t *hash, const uint8_t *data, unsigned length) {
  for (unsigned at = 0; at < length; at += BLOCK) {
    add(sum, data + at, length - at < BLOCK ? length - at : BLOCK);
    multiply(sum, hash);
  }
}

static void count_up(uint8_t *counter) {
  uint32_t number;
  memcpy(&number, counter + 12, 4);
  number = htobe32(be32toh(number) + 1);
  memcpy(counter + 12, &number, 4);
}

// Decrypts in place. False: the check value is not that of the data.
static bool decrypt(const struct action *action, const uint8_t *vector, const uint8_t *associated, unsigned associated_length,
                    uint8_t *data, unsigned length, const uint8_t *check) {
  struct schedule schedule = expand(action->key, action->key_length);
  uint8_t zero[BLOCK] = {0}, hash[BLOCK], sum[BLOCK] = {0}, counter[BLOCK] = {0}, stream[BLOCK];
  encrypt(&schedule, zero, hash);
  absorb(sum, hash, associated, associated_length);
  absorb(sum, hash, data, length);
  uint64_t lengths[2] = {htobe64(8ull * associated_length), htobe64(8ull * length)};
  absorb(sum, hash, (uint8_t *)lengths, sizeof lengths);
  memcpy(counter, action->salt, sizeof action->salt);
  memcpy(counter + sizeof action->salt, vector, VECTOR);
  counter[BLOCK - 1] = 1;
  encrypt(&schedule, counter, stream);
  add(sum, stream, BLOCK);
  if (memcmp(sum, check, CHECK)) {
    return false;
  }
  for (unsigned at = 0; at < length; at += BLOCK) {
    count_up(counter);
    encrypt(&schedule, counter, stream);
    add(data + at, stream, length - at < BLOCK ? length - at : BLOCK);
  }
  return true;
}

// --- packets ---

bool esp_decrypt(const struct flow *flow, const struct headers *headers, struct pieces *packet) {
  static uint8_t bytes[1 << 16]; // guarded by the lock
  const struct action *action = (const struct action *)flow->action;
  if (!action) {
    return true;
  }
  unsigned length = packet->length, start = headers->security;
  if (!start || length > sizeof bytes) {
    return false;
  }
  struct pieces whole = {0};
  add_bytes(&whole, bytes, length);
  copy(&whole, 0, packet);
  // A short frame is longer than its packet.
  const uint8_t *ip = bytes + headers->network, *size = ip + (headers->ipv6 ? 4 : 2);
  unsigned end = headers->network + (size[0] << 8 | size[1]) + (headers->ipv6 ? 40 : 0);
  if (end > length || end < start + 8 + VECTOR + CHECK) {
    return false;
  }
  // What is authentic besides the data: the SPI and the sequence number, of 32 or of 64 bits.
  uint8_t associated[12];
  uint32_t high = htobe32(action->high);
  memcpy(associated, bytes + start, 4);
  memcpy(associated + 4, &high, 4);
  memcpy(associated + (action->extended ? 8 : 4), bytes + start + 4, 4);
  uint8_t *data = bytes + start + 8 + VECTOR, *check = bytes + end - CHECK;
  *packet = whole;
  return decrypt(action, bytes + start + 8, associated, action->extended ? 12 : 8, data, check - data, check);
}

// --- commands ---

struct attributes {
  struct ib_uverbs_flow_action_esp esp;
  struct ib_uverbs_flow_action_esp_keymat_aes_gcm key;
  uint32_t high;
  bool has_key, has_high, has_others;
};

static int read_key(struct ib_uverbs_ioctl_hdr *header, struct attributes *read) {
  struct ib_uverbs_attr *attribute_of_key = attribute(header, UVERBS_ATTR_FLOW_ACTION_ESP_KEYMAT);
  read->has_key = attribute_of_key;
  if (!attribute_of_key) {
    return 0;
  }
  if (attribute_of_key->attr_data.enum_data.elem_id != IB_UVERBS_FLOW_ACTION_ESP_KEYMAT_AES_GCM) {
    return EOPNOTSUPP;
  }
  if (!read_struct(header, UVERBS_ATTR_FLOW_ACTION_ESP_KEYMAT, &read->key, sizeof read->key, sizeof read->key)) {
    return EINVAL;
  }
  if (read->key.iv_algo != IB_UVERBS_FLOW_ACTION_IV_ALGO_SEQ) {
    return EOPNOTSUPP;
  }
  uint32_t length = read->key.key_len, check = read->key.icv_len;
  return (length != 16 && length != 24 && length != 32) || (check != 8 && check != 12 && check != 16) ? EINVAL : 0;
}

// What the kernel's core checks.
static int read_attributes(struct ib_uverbs_ioctl_hdr *header, struct attributes *read, bool modifies) {
  struct ib_uverbs_attr *esp = attribute(header, UVERBS_ATTR_FLOW_ACTION_ESP_ATTRS),
                        *high = attribute(header, UVERBS_ATTR_FLOW_ACTION_ESP_ESN),
                        *replay = attribute(header, UVERBS_ATTR_FLOW_ACTION_ESP_REPLAY),
                        *encapsulation = attribute(header, UVERBS_ATTR_FLOW_ACTION_ESP_ENCAP);
  *read = (struct attributes){.has_high = high, .high = high ? (uint32_t)high->data : 0, .has_others = replay || encapsulation};
  if ((high && high->len != sizeof read->high) ||
      (esp && !read_struct(header, UVERBS_ATTR_FLOW_ACTION_ESP_ATTRS, &read->esp, sizeof read->esp, sizeof read->esp))) {
    return EINVAL;
  }
  if (read->esp.flags & ~(2u * IB_UVERBS_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW - 1)) {
    return EOPNOTSUPP;
  }
  int error = read_key(header, read);
  if (!error && replay && replay->attr_data.enum_data.elem_id > IB_UVERBS_FLOW_ACTION_ESP_REPLAY_BMP) {
    error = EOPNOTSUPP;
  }
  if (!error && replay && replay->attr_data.enum_data.elem_id == IB_UVERBS_FLOW_ACTION_ESP_REPLAY_NONE && !modifies) {
    error = EINVAL;
  }
  return error;
}

// What the driver does not support.
static bool has_more(const struct attributes *read, uint32_t flags) {
  return read->has_others || read->esp.spi || read->esp.seq || read->esp.tfc_pad || read->esp.hard_limit_pkts ||
         read->esp.flags & ~flags;
}

int create_action(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  static const struct mandatory needed[] = {{UVERBS_ATTR_CREATE_FLOW_ACTION_ESP_HANDLE, 0}};
  struct attributes read;
  if (!has_attributes(header, 1, needed) || !attribute(header, UVERBS_ATTR_FLOW_ACTION_ESP_ATTRS) ||
      !attribute(header, UVERBS_ATTR_FLOW_ACTION_ESP_KEYMAT)) {
    return EINVAL;
  }
  int error = read_attributes(header, &read, false);
  if (error) {
    return error;
  }
  // Whether packets have meta data is not published, apart from the flag.
  if (has_more(&read, IB_UVERBS_FLOW_ACTION_ESP_FLAGS_ENCRYPT) || read.key.icv_len != CHECK || read.key.key_len == 24 ||
      value(header, MLX5_IB_ATTR_CREATE_FLOW_ACTION_FLAGS)) {
    return EOPNOTSUPP;
  }
  struct action *action = new_object(context, ACTION, sizeof *action, 0);
  if (!action) {
    return errno;
  }
  memcpy(action->key, read.key.aes_key, sizeof action->key);
  memcpy(action->salt, &read.key.salt, sizeof action->salt);
  action->key_length = read.key.key_len;
  action->extended = read.has_high;
  action->high = read.high;
  set_handle(header, UVERBS_ATTR_CREATE_FLOW_ACTION_ESP_HANDLE, action->object.handle);
  return 0;
}

int modify_action(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct attributes read;
  struct action *action = find(context, ACTION, value(header, UVERBS_ATTR_MODIFY_FLOW_ACTION_ESP_HANDLE));
  int error = action ? read_attributes(header, &read, true) : EINVAL;
  if (error) {
    return error;
  }
  if (read.has_key || has_more(&read, IB_UVERBS_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW)) {
    return EOPNOTSUPP;
  }
  if (!action->extended && (read.has_high || read.esp.flags)) {
    return EINVAL;
  }
  action->high = read.high; // 0 without it, as in the driver
  return 0;
}

int destroy_action(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct object *action = find(context, ACTION, value(header, UVERBS_ATTR_DESTROY_FLOW_ACTION_HANDLE));
  return action ? destroy(action) : EINVAL;
}

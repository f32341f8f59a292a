// The emulated mlx5: what its commands (commands.c) and its work queues (engine.c) share. The layouts of work queue entries
// (WQE) and completion queue entries (CQE) are those of the Mellanox Adapters Programmer's Reference Manual (PRM).
#pragma once

#include "../common/kernel.h"

#include <rdma/mlx5-abi.h>

enum { PAGE = 4096 };

// Types of queue pairs; DCI and DCT, the initiator and the target of DC, are both IBV_QPT_DRIVER in the command. A work queue
// is a queue pair that receives alone.
enum {
  RC = 2,
  UC = 3,
  UD = 4,
  RAW_PACKET = 8,
  XRC_INI = 9,
  XRC_TGT = 10,
  DRIVER = 255,
  DCI = 256,
  DCT = 257,
  WORK_QUEUE = 258
};

struct cq {
  struct object object;
  struct cq *next, **at; // at: the pointer to this queue in the list
  char *buffer;
  volatile uint32_t *doorbell; // [0] consumer index, [1] arm
  uint32_t entries, entry_size;
  uint32_t producer, solicited; // solicited: the producer index after the last solicited completion
  uint32_t number;
  bool error, ignore_overrun;
  int fired; // the arm sequence number of the last event, -1 before the first
  // Moderation: an event waits for so many completions, or so long (ns) after the first since the queue was armed.
  unsigned moderate_count;
  uint64_t moderate_ns;
  int awaited; // the arm sequence number of the event that waits since `since`, -1: none
  uint64_t since;
  struct events *channel;
};

// A queue of receives: of a queue pair, of an RSS work queue, or shared.
struct receives {
  char *buffer;
  volatile uint32_t *doorbell;
  uint32_t entries, shift;
  bool linked, has_signature;
  uint16_t consumer, head;
};

// A tagged buffer, in the list of a shared receive queue with tag matching.
struct tag {
  bool listed, enabled;
  uint64_t order; // of the list
  uint64_t tag, mask, address;
  uint32_t length, key;
};
enum { MAX_TAGS = 127 };

struct srq {
  struct object object;
  struct object *pd;
  uint32_t number, uidx;
  struct receives receives;
  uint32_t max_wr, max_sge, limit;
  struct cq *cq; // of an XRC SRQ, or with tag matching
  struct object *xrcd;
  struct tag *tags; // NULL: no tag matching
  unsigned free_tag;
  uint64_t last_order;
  uint16_t unexpected, handled; // messages that matched no tag, and how many of them the program has told that it handled
};

struct group {
  uint8_t gid[16];
  struct group *next;
};

// What precedes a message in tag matching, and in a rendezvous where the data is.
struct tag_header {
  uint8_t opcode, reserved[3];
  uint32_t data;
  uint64_t tag;
};
struct rendezvous {
  uint64_t address;
  uint32_t key, length;
};

// A rendezvous of which the request was answered: the data is still to be read.
struct meeting {
  bool waits;
  uint32_t requester;
  uint16_t tag;
  uint64_t target; // where the data go
  uint32_t target_key;
  struct tag_header header;
  struct rendezvous where;
};

struct qp {
  struct object object;
  struct qp *next, **at; // at: the pointer to this queue pair in the list
  struct object *pd, *table;
  uint32_t number, uidx; // the number of a DCT is 0 before the transition to RTR
  uint64_t access_key;   // of a DCT
  int type;
  enum state state;
  struct cq *send_cq, *recv_cq;
  struct srq *srq;
  struct receives receives;
  char *sq;
  uint32_t sq_entries;
  volatile uint32_t *doorbell; // [0] receives, [1] sends
  uint16_t sq_consumer;
  struct uar *uar;     // the page of its doorbell register; NULL: none, or it is not a page of the context
  int register_number; // within the page; -1: libmlx5 named only the page
  bool has_dedicated_register;
  bool signal_all, flushed;
  bool scatters; // short messages arrive in the completion queue entry
  bool strips_tag, scatters_fcs; // of received frames
  uint8_t answer[32]; // of the last request, for its completion queue entry
  uint32_t answer_length;
  uint64_t resume; // waits until then (ns)
  unsigned tries;
  bool waits_for_receive;
  struct ib_uverbs_modify_qp *attributes; // what modify set so far
  uint32_t caps[5];
  struct group *groups;
  uint64_t hashed; // fields of packets, enum mlx5_rx_hash_fields, of RSS
  uint8_t hash_key[40];
  uint64_t rate_limit; // kbit/s; 0: none
  struct meeting meeting;
  struct opened *handles; // of an XRC target: those that name it
};

// A handle of an XRC target, which several processes have.
struct opened {
  struct object object;
  struct opened *next, **at; // at: the pointer to this handle in the list
  struct qp *qp;
  struct object *xrcd;
};

// What a half of a doorbell register had.
enum { REGISTER_BYTES = 512 };
struct copied {
  int half; // of the page; -1: no half names the entry
  bool is_complete; // by itself, and not only equal to the entry in memory
  uint64_t words[REGISTER_BYTES / 2 / sizeof(uint64_t)];
};

struct table {
  struct object object;
  unsigned size;
  struct qp *queues[];
};

// Types of flow rules, enum ibv_flow_attr_type, and kinds of their specifications, enum ibv_flow_spec_type.
enum { NORMAL = 0, ALL_DEFAULT = 1, MULTICAST_DEFAULT = 2, SNIFFER = 3 };
enum { SPEC_ETHERNET = 0x20, SPEC_IPV4 = 0x30, SPEC_IPV6 = 0x31, SPEC_ESP = 0x34, SPEC_TCP = 0x40, SPEC_UDP = 0x41 };
enum { SPEC_TAG = 0x1000, SPEC_DROP = 0x1001, SPEC_ACTION = 0x1002, SPEC_COUNT = 0x1003 };
enum { MAX_SPECS = 10 };

struct spec {
  uint32_t type;
  uint8_t value[40], mask[40];
};

struct flow {
  struct object object;
  struct qp *qp;
  struct object *action; // decrypts what the rule matches
  unsigned type;
  uint32_t tag;   // in the completion queue entry; 0: the number of the queue
  unsigned priority;
  bool drops;
  struct counters *counters;
  unsigned count; // 0: matches everything
  struct spec specs[MAX_SPECS];
};

// Counters of flow rules, and where what they count goes in the answer to a read.
enum { COUNTED_PACKETS = 0, COUNTED_BYTES = 1, MAX_COUNTERS = 64 };
struct counters {
  struct object object;
  uint64_t counted[2];
  unsigned count, values; // values: as many as a read returns at least; 0: not bound to a rule yet
  struct {
    unsigned counted, index;
  } places[MAX_COUNTERS];
};

// Of a packet: what flow rules match and what RSS hashes.
struct headers {
  uint8_t bytes[128]; // those after the end of the packet are 0
  unsigned type;               // where the Ethertype is, after a tag
  unsigned network, transport; // where the headers begin; 0: neither IPv4 nor IPv6, neither TCP nor UDP
  unsigned security;           // and that of ESP
  bool ipv6, tcp;
};

// Flags of a completion queue entry: the checksums that are right.
enum { CHECKED_L3 = 1 << 1, CHECKED_L4 = 1 << 2 };

// Device memory: a file that both libmlx5 and the engine map.
struct device_memory {
  struct object object;
  unsigned page, pages; // of the device
  uint64_t length;
  int file;
  char *bytes;
};
enum { DEVICE_MEMORY_BYTES = 1 << 17 }; // of each device

extern struct qp *qps[1 << 16];
extern struct srq *srqs[1 << 16];
extern struct qp *all_qps;
extern struct cq *all_cqs;
extern struct flow *flows[64];

struct qp *find_qp(struct context *context, uint32_t handle);
uint32_t handle_of(const struct qp *qp);
void qp_event(struct qp *qp, uint32_t type);
uint64_t tick(void);
struct mlx5_ib_alloc_ucontext_resp mlx5_context_answer(void);
struct cq *new_cq(struct call *call, uint64_t user_handle, uint32_t entries, uint32_t vector, int channel,
                  uint32_t flags);
int new_qp(struct call *call, const struct ib_uverbs_ex_create_qp *in, struct qp **result);
int mlx5_control(struct context *context, struct ib_uverbs_ioctl_hdr *header);
// Whether this is where libmlx5 maps device memory, and the page of the device.
bool is_device_memory(uint64_t offset, unsigned *page);
void *map_device_memory(int device, unsigned page, size_t length, int protection);
void free_device_memory(struct device_memory *memory);
bool mlx5_gid(int device, unsigned index, uint8_t *gid);
bool mlx5_sweep(void);
struct qp *qp_numbered(uint32_t number);
void qp_enter_error(struct qp *qp);
void qp_reset(struct qp *qp);
bool cq_resize(struct cq *cq, char *buffer, uint32_t entries);

// --- registers.c ---

void *map_registers(struct context *context, unsigned command, unsigned index, size_t length);
void free_registers(struct object *uar);
int alloc_uar(struct context *context, struct ib_uverbs_ioctl_hdr *header);
int free_uar(struct context *context, struct ib_uverbs_ioctl_hdr *header);
void use_own_register(struct qp *qp, uint32_t index, bool is_page);
uint32_t choose_register(struct qp *qp);
void release_register(struct qp *qp);
bool take_copy(struct qp *qp, char *entry, unsigned blocks, struct copied *copied);
void after_entry(struct qp *qp, const struct copied *copied, bool was_copied, bool was_executed);
void forget_copies(struct qp *qp);

// --- packets.c ---

int check_spreading(const struct call *call);
int create_wq(struct call *call);
int modify_wq(struct call *call);
int destroy_wq(struct call *call);
int create_table(struct call *call);
int destroy_table(struct call *call);
int create_flow(struct call *call);
int destroy_flow(struct call *call);
struct headers headers_of(const struct pieces *packet);
bool matches(const struct flow *flow, const struct headers *headers);
struct qp *receiver(const struct flow *flow, const struct headers *headers);
int create_counters(struct context *context, struct counters **result);
int read_counters(const struct counters *counters, uint64_t *values, size_t count);

// --- esp.c ---

int create_action(struct context *context, struct ib_uverbs_ioctl_hdr *header);
int modify_action(struct context *context, struct ib_uverbs_ioctl_hdr *header);
int destroy_action(struct context *context, struct ib_uverbs_ioctl_hdr *header);
// Replaces a packet by what the action of the rule makes of it, until the next one. False: it is not authentic.
bool esp_decrypt(const struct flow *flow, const struct headers *headers, struct pieces *packet);

// --- offloads.c ---

void fill_checksums(uint8_t *frame, unsigned length, const struct headers *headers, bool network, bool transport);
unsigned good_checksums(const uint8_t *frame, unsigned length, const struct headers *headers);
void segment_header(uint8_t *header, const struct headers *headers, unsigned header_bytes, uint32_t number, uint32_t offset,
                    uint32_t bytes, bool last);
uint32_t frame_check_sequence(const uint8_t *frame, unsigned length);

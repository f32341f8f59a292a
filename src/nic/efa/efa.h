// The emulated EFA: what its commands (commands.c) and its queues (engine.c) share. The structures of the kernel's interface
// are those of <rdma/efa-abi.h>, of which the system's may be older than the provider; the layouts of queue entries are those
// of the provider's efa_io_defs.h.
#pragma once

#include "../common/kernel.h"

enum { UD = 4, DRIVER = 0xff };

enum {
  MAX_QP = 256,
  MAX_AH = 256,
  MTU = 8928,
  LLQ_BYTES = 65536, // memory of the device for the entries of one send queue
  MAX_SQ_WR = LLQ_BYTES / 64,
  MAX_RQ_WR = 32768,
  MAX_SGE = 2,
  INLINE_BYTES = 32,
  MAX_RDMA_BYTES = 1 << 30,
  SUB_CQS = 2, // of each completion queue: sends, receives
};

// Memory of the device that the provider maps. Its offset is the key by which it is mapped.
struct range {
  uint64_t offset, length;
  char *at;
};

struct cq {
  struct object object;
  struct cq *next, **at;
  struct range entries_range, doorbell_range;
  volatile uint32_t *doorbell;
  uint32_t entries, entry_size;
  uint16_t producer[SUB_CQS]; // entries written to each
  uint16_t total;             // and to both
  bool error, with_source;
  uint32_t seen; // the doorbell when it was last looked at
  bool armed;
  int fired; // the sequence number of the last event, -1 before the first
  struct events *channel;
};

// A send queue entry that the NIC took from the queue.
struct work {
  uint8_t entry[128];
  uint64_t resume; // not before (ns)
  unsigned tries;
};

// Where the numbers of a driver's own methods and attributes begin.
enum { DRIVER_NAMESPACE = 1 << 12 };

// What a completion counter counts, in the order of enum ib_uverbs_qp_attach_comp_cntr_op.
enum counted {
  COUNT_SEND,
  COUNT_RECEIVE,
  COUNT_READ,
  COUNT_REMOTE_READ,
  COUNT_WRITE,
  COUNT_REMOTE_WRITE,
  COUNTED_OPERATIONS
};

struct counter;

struct qp {
  struct object object;
  struct qp *next, **at;
  struct object *pd;
  uint32_t number;
  bool srd, unsolicited;
  enum state state;
  struct cq *send_cq, *recv_cq;
  struct range doorbells, sends, receives;
  volatile uint32_t *send_doorbell, *receive_doorbell;
  uint32_t send_entries, send_entry_size, receive_entries;
  uint16_t send_consumer, receive_consumer;
  struct work *work; // taken and not completed
  unsigned works;
  uint32_t qkey, sq_psn;
  unsigned rnr_retries; // 7: without end
  uint32_t caps[5];
  struct counter *counters[COUNTED_OPERATIONS];
};

// An address handle of the device; handles of one domain for the same GID share it.
struct address {
  struct object *pd;
  uint8_t gid[16];
  unsigned users;
};

struct ah {
  struct object object;
  unsigned number;
};

extern struct address addresses[DEVICES][MAX_AH];
extern struct qp *efa_qps;
extern struct cq *efa_cqs;

// The address handle of a domain for a GID, or -1.
int address_of(int device, const struct object *pd, const uint8_t *gid);
bool efa_gid(int device, unsigned index, uint8_t *gid);
void reset(struct qp *qp);
bool efa_sweep(void);

// --- counters.c ---

int query_counter_caps(struct ib_uverbs_ioctl_hdr *header);
int control_counter(struct context *context, struct ib_uverbs_ioctl_hdr *header);
int attach_counter(struct context *context, struct ib_uverbs_ioctl_hdr *header);
void free_counter(struct counter *counter);
void count(struct qp *qp, enum counted operation, bool success);

// The emulated NIC: what the kernel's calls (calls.c) and the work queues (engine.c) share.
//
// Everything is guarded by one lock. Structures of the kernel's interface come from the system's <rdma/*.h>; the layouts
// of work queue entries (WQE) and completion queue entries (CQE) are those of the Mellanox Adapters Programmer's
// Reference Manual (PRM).
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum kind { PD = 1, MR, MW, CQ, QP, SRQ, AH, XRCD, WQ, TABLE, FLOW };

enum state { RESET, INIT, RTR, RTS, SQD, SQE, ERR };

enum { RC = 2, UC = 3, UD = 4, RAW_PACKET = 8, XRC_INI = 9, XRC_TGT = 10 };

enum access {
  LOCAL_WRITE = 1,
  REMOTE_WRITE = 2,
  REMOTE_READ = 4,
  REMOTE_ATOMIC = 8,
  MW_BIND = 16,
  ZERO_BASED = 32,
};

// Asynchronous events, enum ibv_event_type.
enum {
  EVENT_CQ_ERR = 0,
  EVENT_QP_FATAL = 1,
  EVENT_QP_REQ_ERR = 2,
  EVENT_QP_ACCESS_ERR = 3,
  EVENT_COMM_EST = 4,
  EVENT_SQ_DRAINED = 5,
  EVENT_PORT_ACTIVE = 9,
  EVENT_PORT_ERR = 10,
  EVENT_SRQ_LIMIT_REACHED = 15,
  EVENT_QP_LAST_WQE_REACHED = 16,
};

struct object;

// The events of a completion channel, or the asynchronous events of a context. The descriptor is an eventfd that counts
// them, so that poll(2) works; read(2) on it is answered from here.
struct event {
  struct object *object;
  uint64_t element;
  uint32_t type;
};

struct events {
  int fd;
  bool completions;
  bool closed;
  unsigned users;
  unsigned first, count, capacity;
  struct event *ring;
};

struct context {
  int fd;
  int device;
  bool port_down;
  struct events *async;
  unsigned dedicated_registers; // bits: low-latency doorbell registers in use
  unsigned next_register;
};

// What every object has. The other fields follow in the structures below, whose first member this is.
struct object {
  enum kind kind;
  uint32_t handle;
  struct context *context;
  unsigned users;
  uint64_t user_handle;
  unsigned async_reported;
};

// A memory region or a memory window, as the NIC sees them.
struct mkey {
  struct object object;
  uint32_t key; // index << 8 | variant
  struct object *pd;
  bool window, free;
  unsigned type; // of a window
  uint32_t qpn;  // to which a window of type 2 is bound; 0: any
  uint64_t start, length, address;
  unsigned access;
  struct mkey *region; // below a bound window
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
  struct events *channel;
  unsigned completions_reported;
};

// A queue of receives: of a queue pair, of an RSS work queue, or shared.
struct receives {
  char *buffer;
  volatile uint32_t *doorbell;
  uint32_t entries, shift;
  bool linked, has_signature;
  uint16_t consumer, head;
};

struct srq {
  struct object object;
  struct object *pd;
  uint32_t number, uidx;
  struct receives receives;
  uint32_t max_wr, max_sge, limit;
  struct cq *cq; // of an XRC SRQ
  struct object *xrcd;
};

struct group {
  uint8_t gid[16];
  struct group *next;
};

struct qp {
  struct object object;
  struct qp *next, **at; // at: the pointer to this queue pair in the list
  struct object *pd, *xrcd, *table;
  uint32_t number, uidx;
  int type;
  enum state state;
  struct cq *send_cq, *recv_cq;
  struct srq *srq;
  struct receives receives;
  char *sq;
  uint32_t sq_entries;
  volatile uint32_t *doorbell; // [0] receives, [1] sends
  uint16_t sq_consumer;
  int doorbell_register; // a dedicated one, or -1
  bool signal_all, flushed;
  uint64_t resume; // waits until then (ns)
  unsigned tries;
  bool waits_for_receive;
  struct ib_uverbs_modify_qp *attributes; // what modify set so far
  uint32_t caps[5];
  struct group *groups;
};

struct table {
  struct object object;
  unsigned size;
  struct object *queues[];
};

struct flow {
  struct object object;
  struct qp *qp;
  bool everything;
  uint8_t mac[6], mask[6];
};

extern pthread_mutex_t nic_lock;

// calls.c
void push_event(struct events *events, struct object *object, uint64_t element, uint32_t type);
void async_event(struct object *object, uint32_t type);
bool port_gid(int device, unsigned index, uint8_t *gid);
bool reachable(const uint8_t *gid);
uint64_t now_ns(void);

// engine.c
extern struct mkey *mkeys[1 << 16];
extern struct qp *qps[1 << 16];
extern struct srq *srqs[1 << 16];
extern struct qp *all_qps;
extern struct cq *all_cqs;
extern struct flow *flows[64];
struct qp *qp_numbered(uint32_t number);
void qp_enter_error(struct qp *qp);
void qp_reset(struct qp *qp);
bool cq_resize(struct cq *cq, char *buffer, uint32_t entries);
void start_engine(void);

// The emulated EFA: executes send queue entries and writes completion queue entries.
//
// The NIC takes all posted sends out of the queue and executes them in another order than they were posted in: neither SRD nor
// UD orders messages.
#include "efa.h"

#include <string.h>

struct qp *efa_qps;
struct cq *efa_cqs;

// --- layouts of efa_io_defs.h ---

enum { OP_SEND, OP_READ, OP_WRITE };
enum { META_IMMEDIATE = 1 << 4, META_INLINE = 1 << 5 };

struct meta {
  uint16_t request;
  uint8_t operation, flags;
  uint16_t qpn, length; // length: bytes of inline data, or number of buffers
  uint32_t immediate;
  uint16_t ah;
  uint8_t hints, reserved;
  uint32_t qkey;
  uint8_t reserved1[12];
};

struct piece {
  uint32_t length, key, low, high;
};

// What follows the meta data of an RDMA operation, before the local buffer or the inline data.
struct remote {
  uint32_t length, key, low, high;
};

struct receive {
  uint32_t low, high;
  uint16_t request, length;
  uint32_t key_flags;
};
enum { KEY = 0xffffff };
#define RECEIVE_FIRST (1u << 30)
#define RECEIVE_LAST (1u << 31)

struct completion {
  uint16_t request;
  uint8_t status, flags; // phase 1 bit, queue 2, immediate 1, operation 3, unsolicited 1
  uint16_t qpn;
  // Of receives:
  uint16_t length, ah, source_qpn;
  uint32_t immediate;
  union {
    uint16_t length_high; // of an RDMA write
    uint8_t source[16];   // where the address handle is unknown
  };
};
enum { QUEUE_SEND = 1 << 1, QUEUE_RECEIVE = 2 << 1, HAS_IMMEDIATE = 1 << 3, UNSOLICITED = 1 << 7 };

_Static_assert(sizeof(struct meta) == 32 && sizeof(struct receive) == 16 && sizeof(struct completion) == 32, "efa_io_defs.h");

enum status {
  OK = 0,
  FLUSHED = 1,
  LOCAL_OPERATION = 3,
  LOCAL_AH = 4,
  LOCAL_KEY = 5,
  LOCAL_LENGTH = 6,
  REMOTE_ADDRESS = 7,
  REMOTE_QPN = 9,
  REMOTE_RNR = 10,
  REMOTE_LENGTH = 11,
  REMOTE_STATUS = 12,
  REMOTE_UNKNOWN_PEER = 14,
  NOT_YET = -1, // there is no receive: later
};

// --- completion queues ---

static const uint32_t ARM = 1u << 31;

// The provider arms a queue by a write to a register, and overwrites it when it polls. The register is memory here: what was
// overwritten before it was seen is lost. Where the provider polled since, it is taken to have armed the queue.
static void event_if_armed(struct cq *cq) {
  uint32_t doorbell = *cq->doorbell;
  if (!cq->channel) {
    return;
  }
  cq->armed |= doorbell != cq->seen || doorbell & ARM;
  cq->seen = doorbell;
  int sequence = doorbell >> 29 & 3;
  if (cq->armed && sequence != cq->fired && (uint16_t)(cq->total - doorbell)) {
    cq->armed = false;
    cq->fired = sequence;
    push_event(cq->channel, &cq->object, cq->object.user_handle, 0);
  }
}

static void complete(struct cq *cq, unsigned sub, struct completion *completion) {
  if (cq->error) {
    return;
  }
  if ((uint16_t)(cq->total - *cq->doorbell) >= cq->entries) {
    cq->error = true;
    async_event(&cq->object, EVENT_CQ_ERR);
    return;
  }
  unsigned index = cq->producer[sub] & (cq->entries - 1);
  char *slot = cq->entries_range.at + (uint64_t)(sub * cq->entries + index) * cq->entry_size;
  bool phase = !(cq->producer[sub] & cq->entries); // 1 in the first round
  completion->flags = (completion->flags & ~1) | phase;
  // The flags, with the phase, are the fourth byte.
  memcpy(slot + 4, (char *)completion + 4, cq->entry_size - 4);
  uint32_t head;
  memcpy(&head, completion, 4);
  __atomic_store_n((uint32_t *)slot, head, __ATOMIC_RELEASE);
  cq->producer[sub]++;
  cq->total++;
  event_if_armed(cq);
}

static void complete_send(struct qp *qp, const struct meta *meta, enum status status) {
  static const enum counted counted[] = {COUNT_SEND, COUNT_READ, COUNT_WRITE};
  unsigned operation = meta->operation & 15;
  if (operation <= OP_WRITE) {
    count(qp, counted[operation], status == OK);
  }
  complete(qp->send_cq, 0,
           &(struct completion){
               .request = meta->request,
               .status = status,
               .flags = QUEUE_SEND | operation << 4,
               .qpn = qp->number,
           });
}

static void complete_receive(struct qp *qp, struct completion *completion) {
  count(qp, COUNT_RECEIVE, completion->status == OK);
  complete(qp->recv_cq, 1, completion);
}

// --- receives ---

static unsigned posted(const struct qp *qp) { return (uint16_t)(*qp->receive_doorbell - qp->receive_consumer); }

struct message {
  struct qp *from;
  const struct meta *meta;
  struct pieces data;
  bool written; // the data are in the memory that the message named: RDMA write with immediate data
};

// Takes a receive from the queue. False: its buffers are not valid.
static bool take_receive(struct qp *qp, uint16_t *request, struct pieces *into) {
  bool valid = true;
  struct receive *queue = (struct receive *)qp->receives.at;
  *request = queue[qp->receive_consumer & (qp->receive_entries - 1)].request;
  for (bool last = false; !last && posted(qp);) {
    struct receive *entry = &queue[qp->receive_consumer++ & (qp->receive_entries - 1)];
    last = entry->key_flags & RECEIVE_LAST;
    if (entry->length) {
      char *at = translate(entry->key_flags & KEY, (uint64_t)entry->high << 32 | entry->low, entry->length, LOCAL_WRITE,
                           qp->pd, qp->number);
      valid = valid && at && add_bytes(into, at, entry->length);
    }
  }
  return valid;
}

static enum status receive(struct qp *qp, struct message *message) {
  bool unsolicited = message->written && qp->unsolicited;
  uint16_t request = 0;
  struct pieces into = {0};
  bool valid = true;
  uint64_t header = qp->srd ? 0 : 40;
  if (!unsolicited) {
    if (!posted(qp)) {
      return NOT_YET;
    }
    valid = take_receive(qp, &request, &into);
  }
  uint8_t source[16];
  efa_gid(message->from->object.context->device, 0, source);
  int ah = address_of(qp->object.context->device, qp->pd, source);
  uint64_t length = message->data.length + header;
  struct completion completion = {
      .request = request,
      .flags = QUEUE_RECEIVE | (message->meta->operation & META_IMMEDIATE ? HAS_IMMEDIATE : 0) |
               (message->meta->operation & 15) << 4 | (unsolicited ? UNSOLICITED : 0),
      .qpn = qp->number,
      .length = length,
      .ah = ah < 0 ? 0xffff : ah,
      .source_qpn = message->from->number,
      .immediate = message->meta->immediate,
  };
  enum status answer = OK;
  if (message->written) {
    completion.length_high = length >> 16;
  } else if (!valid || length > into.length) {
    completion.status = valid ? LOCAL_LENGTH : LOCAL_KEY;
    completion.length = 0;
    answer = valid ? REMOTE_LENGTH : REMOTE_STATUS;
  } else {
    if (header) {
      char zero[40] = {0};
      struct pieces head = {0};
      add_bytes(&head, zero, sizeof zero);
      copy(&into, 0, &head);
    }
    copy(&into, header, &message->data);
    if (ah < 0 && qp->recv_cq->with_source) {
      memcpy(completion.source, source, 16);
    }
  }
  complete_receive(qp, &completion);
  return answer;
}

// --- sends ---

static struct qp *target_of(struct qp *qp, const struct meta *meta, const uint8_t *gid) {
  uint8_t have[16];
  for (struct qp *to = efa_qps; to; to = to->next) {
    efa_gid(to->object.context->device, 0, have);
    if (to->number == meta->qpn && to->srd == qp->srd && !memcmp(gid, have, 16)) {
      return to->state >= RTR && to->state <= SQD && to->qkey == meta->qkey ? to : NULL;
    }
  }
  return NULL;
}

static bool gather(struct qp *qp, const struct piece *buffers, unsigned count, unsigned access, struct pieces *pieces) {
  for (unsigned i = 0; i < count; i++) {
    if (buffers[i].length) {
      char *at = translate(buffers[i].key & KEY, (uint64_t)buffers[i].high << 32 | buffers[i].low, buffers[i].length, access,
                           qp->pd, qp->number);
      if (!at) {
        return false;
      }
      add_bytes(pieces, at, buffers[i].length);
    }
  }
  return true;
}

static enum status execute(struct qp *qp, struct work *work) {
  struct meta *meta = (struct meta *)work->entry;
  unsigned operation = meta->operation & 15;
  char *data = (char *)(meta + 1);
  struct remote *remote = operation == OP_SEND ? NULL : (struct remote *)data;
  struct message message = {.from = qp, .meta = meta};
  if (operation > OP_WRITE || (remote && !qp->srd)) {
    return LOCAL_OPERATION;
  }
  data += remote ? sizeof *remote : 0;
  if (meta->operation & META_INLINE) {
    if (data + meta->length > (char *)work->entry + qp->send_entry_size || operation == OP_READ) {
      return LOCAL_OPERATION;
    }
    add_bytes(&message.data, data, meta->length);
  } else if (meta->length > (remote ? 1 : MAX_SGE)) {
    return LOCAL_OPERATION;
  } else if (!gather(qp, (struct piece *)data, meta->length, operation == OP_READ ? LOCAL_WRITE : 0, &message.data)) {
    return LOCAL_KEY;
  }
  if (message.data.length > (remote ? MAX_RDMA_BYTES : MTU)) {
    return LOCAL_LENGTH;
  }
  int device = qp->object.context->device;
  struct address *address = meta->ah < MAX_AH ? &addresses[device][meta->ah] : NULL;
  if (!address || !address->users || address->pd != qp->pd) {
    return LOCAL_AH;
  }
  struct qp *target = target_of(qp, meta, address->gid);
  if (!target) {
    return qp->srd ? REMOTE_QPN : OK;
  }
  if (!qp->srd) {
    receive(target, &message); // or it is lost
    return OK;
  }
  if (remote) {
    uint8_t own[16];
    efa_gid(device, 0, own);
    if (address_of(target->object.context->device, target->pd, own) < 0) {
      return REMOTE_UNKNOWN_PEER;
    }
    if (remote->length != message.data.length) {
      return LOCAL_LENGTH;
    }
    char *at = remote->length ? translate(remote->key, (uint64_t)remote->high << 32 | remote->low, remote->length,
                                          operation == OP_READ ? REMOTE_READ : REMOTE_WRITE, target->pd, target->number)
                              : data;
    if (!at) {
      return REMOTE_ADDRESS;
    }
    struct pieces there = {0};
    add_bytes(&there, at, remote->length);
    if (operation == OP_READ) {
      copy(&message.data, 0, &there);
      count(target, COUNT_REMOTE_READ, true);
      return OK;
    }
    if (meta->operation & META_IMMEDIATE && !target->unsolicited && !posted(target)) {
      return NOT_YET;
    }
    copy(&there, 0, &message.data);
    count(target, COUNT_REMOTE_WRITE, true);
    if (!(meta->operation & META_IMMEDIATE)) {
      return OK;
    }
    message.written = true;
  }
  return receive(target, &message);
}

// The receiver was not ready: waits, or gives up when all retries are used.
static bool try_again(struct qp *qp, struct work *work) {
  static const uint64_t WAIT_NS = 100000;
  if (qp->rnr_retries < 7 && work->tries >= qp->rnr_retries) {
    return false;
  }
  work->tries++;
  work->resume = now_ns() + WAIT_NS;
  return true;
}

static bool take_sends(struct qp *qp) {
  bool moved = false;
  while (qp->send_consumer != (uint16_t)*qp->send_doorbell && qp->works < qp->send_entries) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    struct work *work = &qp->work[qp->works++];
    *work = (struct work){0};
    memcpy(work->entry, qp->sends.at + (qp->send_consumer & (qp->send_entries - 1)) * qp->send_entry_size,
           qp->send_entry_size);
    qp->send_consumer++;
    moved = true;
  }
  return moved;
}

static uint32_t random_number(void) {
  static uint32_t state = 2463534242u;
  state ^= state << 13;
  state ^= state >> 17;
  return state ^= state << 5;
}

static bool move_sends(struct qp *qp) {
  if (qp->state != RTS && qp->state != ERR) {
    return false;
  }
  bool moved = take_sends(qp);
  // At most one round, so that queue pairs take turns.
  for (unsigned i = qp->works; i; i--) {
    unsigned at = random_number() % (qp->works < 8 ? qp->works : 8);
    struct work *work = &qp->work[at];
    if (qp->state == RTS && work->resume > now_ns()) {
      continue;
    }
    enum status status = qp->state == ERR ? FLUSHED : execute(qp, work);
    if (status == NOT_YET && try_again(qp, work)) {
      continue;
    }
    struct meta meta = *(struct meta *)work->entry;
    memmove(work, work + 1, (--qp->works - at) * sizeof *work);
    complete_send(qp, &meta, status == NOT_YET ? REMOTE_RNR : status);
    moved = true;
  }
  return moved;
}

static bool flush_receives(struct qp *qp) {
  bool moved = false;
  while (qp->state == ERR && qp->receives.at && posted(qp)) {
    uint16_t request;
    struct pieces ignored = {0};
    take_receive(qp, &request, &ignored);
    complete_receive(
        qp, &(struct completion){.request = request, .status = FLUSHED, .flags = QUEUE_RECEIVE, .qpn = qp->number});
    moved = true;
  }
  return moved;
}

void reset(struct qp *qp) {
  *qp->send_doorbell = *qp->receive_doorbell = 0;
  qp->send_consumer = qp->receive_consumer = 0;
  qp->works = 0;
}

bool efa_sweep(void) {
  bool moved = false;
  for (struct qp *qp = efa_qps; qp; qp = qp->next) {
    moved |= move_sends(qp);
    moved |= flush_receives(qp);
  }
  for (struct cq *cq = efa_cqs; cq; cq = cq->next) {
    event_if_armed(cq);
  }
  return moved;
}

// The emulated NIC: executes work queue entries and writes completion queue entries.
//
// A thread looks at the doorbell records of all queues, and in the doorbell registers for copies of what was posted
// (registers.c). With VERBENA_NIC_STEP=1 there is no thread: emulated_nic_step() moves
// the NIC.
#define _GNU_SOURCE
#include "mlx5.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

struct qp *qps[1 << 16];
struct srq *srqs[1 << 16];
struct qp *all_qps;
struct cq *all_cqs;

// --- layouts of the PRM ---

// Opcodes of work queue entries.
enum {
  OP_NOP = 0x00,
  OP_SEND_INVALIDATE = 0x01,
  OP_WRITE = 0x08,
  OP_WRITE_IMM = 0x09,
  OP_SEND = 0x0a,
  OP_SEND_IMM = 0x0b,
  OP_SEGMENT = 0x0e, // TCP
  OP_READ = 0x10,
  OP_COMPARE_SWAP = 0x11,
  OP_FETCH_ADD = 0x12,
  OP_UMR = 0x25,
  OP_TAG_MATCHING = 0x28,
};

struct control {
  uint32_t index_opcode; // opmod 8, WQE index 16, opcode 8
  uint32_t qpn_ds;       // queue pair number 24, size in 16-byte units 6
  uint8_t signature;
  uint8_t reserved[2];
  uint8_t flags;
  uint32_t immediate;
};
enum { CONTROL_SOLICITED = 2, CONTROL_COMPLETION = 8 };

struct data {
  uint32_t length, key;
  uint64_t address;
};
enum { KEY_END_OF_LIST = 0x100 };
#define DATA_INLINE 0x80000000u

struct remote {
  uint64_t address;
  uint32_t key, reserved;
};

struct atomic {
  uint64_t swap_add, compare;
};

// The address vector of UD and DC.
struct datagram {
  union {
    struct {
      uint32_t qkey, reserved;
    };
    uint64_t access_key; // DC
  };
  uint32_t qpn; // bit 31: extended
  uint8_t rate_sl, fl_mlid;
  uint16_t rlid;
  uint8_t reserved1[4], mac[6], traffic_class, hop_limit;
  uint32_t gid_flow_label;
  uint8_t gid[16];
};

struct ethernet {
  uint8_t reserved[4], flags, reserved1;
  uint16_t segment_size;
  uint8_t reserved2[4];
  uint16_t header_length;
  uint8_t header[18];
};

enum { ETHERNET_L3_CHECKSUM = 1 << 6, ETHERNET_L4_CHECKSUM = 1 << 7 };

struct umr {
  uint8_t flags, reserved[3];
  uint16_t octowords, offset;
  uint64_t mask;
  uint8_t reserved1[32];
};
enum { UMR_CHECK_FREE = 1 << 5, UMR_CHECK_QPN = 1 << 3 };

// An operation on the list of tagged buffers.
struct tag_operation {
  uint8_t opcode, flags;
  uint16_t index;
  uint8_t reserved[2];
  uint16_t handled;
  uint8_t reserved1[8];
  uint64_t tag, mask;
};
enum { TAG_NOP = 0, TAG_APPEND = 1, TAG_REMOVE = 2, TAG_HANDLED = 1 << 6, TAG_COMPLETION = 1 << 7 };

enum { TAG_NONE = 0, TAG_RENDEZVOUS = 1, TAG_FINISHED = 2, TAG_EAGER = 3 };

struct mkey_context {
  uint8_t free, reserved, access, flags;
  uint32_t qpn_key, reserved2, pd;
  uint64_t start, length;
  uint8_t reserved3[32];
};
enum { MKEY_FREE = 1 << 6 };

struct next_segment {
  uint8_t reserved[2];
  uint16_t next;
  uint8_t reserved1[12];
};

// Opcodes of completion queue entries.
enum {
  CQE_DATA_32 = 4, // between opcode and owner: the entry begins with up to 32 bytes of data
};
enum {
  CQE_REQUEST = 0,
  CQE_WRITE_IMM = 1,
  CQE_SEND = 2,
  CQE_SEND_IMM = 3,
  CQE_SEND_INVALIDATE = 4,
  CQE_RESIZED = 5,
  CQE_NO_PACKET = 6,
  CQE_REQUEST_ERROR = 13,
  CQE_RESPONSE_ERROR = 14,
};

// Of tag matching.
enum {
  APP_TAG_MATCHING = 1,
  TM_CONSUMED = 1,
  TM_EXPECTED = 2,
  TM_UNEXPECTED = 3,
  TM_NO_TAG = 4,
  TM_APPENDED = 5,
  TM_REMOVED = 6,
  TM_NOP = 7,
  TM_CONSUMED_MESSAGE = 10,
  TM_CONSUMED_MESSAGE_RENDEZVOUS = 11,
  TM_CANCELED = 12,
};

struct cqe {
  union {
    struct {
      uint32_t success; // bit 31
      uint16_t unexpected;
    };
    struct tag_header header; // of a matched message
    uint8_t reserved[24];
  };
  uint32_t flags_qpn; // GRH 2 bits at 28, service level 4 bits at 24, remote queue pair number 24
  uint8_t checked, headers; // headers: kind of transport 3 bits at 4, kind of network 2 bits at 2, a tag was stripped
  uint16_t vlan;
  uint32_t uidx;
  uint32_t immediate;
  uint8_t app, app_opcode;
  uint16_t app_info;
  uint32_t length;
  uint64_t timestamp; // of an error, the last byte is the syndrome
  uint32_t opcode_qpn;
  uint16_t wqe_counter;
  uint8_t signature;
  uint8_t opcode_owner;
};
_Static_assert(sizeof(struct cqe) == 64, "a CQE has 64 bytes");
_Static_assert(sizeof(struct datagram) == 48 && sizeof(struct umr) == 48 && sizeof(struct mkey_context) == 64, "PRM");

enum syndrome {
  OK = 0,
  LOCAL_LENGTH = 0x01,
  LOCAL_QP_OPERATION = 0x02,
  LOCAL_PROTECTION = 0x04,
  FLUSHED = 0x05,
  WINDOW_BIND = 0x06,
  REMOTE_INVALID_REQUEST = 0x12,
  REMOTE_ACCESS = 0x13,
  REMOTE_OPERATION = 0x14,
  RETRIES_EXCEEDED = 0x15,
  RNR_RETRIES_EXCEEDED = 0x16,
  NOT_YET = -1,  // the entry stays where it is
  DROPPED = -2, // an unreliable message that nobody takes
};

// --- completion queues ---

static void event_if_armed(struct cq *cq) {
  uint32_t arm = be32toh(cq->doorbell[1]);
  int sequence = arm >> 28;
  if (arm == UINT32_MAX || sequence == cq->fired || !cq->channel) {
    return;
  }
  bool solicited_only = arm >> 24 & 1;
  uint32_t consumer = arm & 0xffffff;
  uint32_t last = solicited_only ? cq->solicited : cq->producer;
  int32_t after = (int32_t)((last - consumer) << 8);
  if (after > 0) {
    if (cq->moderate_count && cq->moderate_ns && !cq->error) {
      if (sequence != cq->awaited) {
        cq->awaited = sequence;
        cq->since = now_ns();
      }
      if ((uint32_t)after >> 8 < cq->moderate_count && now_ns() - cq->since < cq->moderate_ns) {
        return;
      }
    }
    cq->fired = sequence;
    push_event(cq->channel, &cq->object, cq->object.user_handle, 0);
  }
}

static bool cq_full(struct cq *cq) {
  uint32_t consumer = be32toh(cq->doorbell[0]) & 0xffffff;
  return ((cq->producer - consumer) & 0xffffff) >= cq->entries;
}

static struct cqe *cqe_at(struct cq *cq, uint32_t index) {
  return (struct cqe *)(cq->buffer + (index & (cq->entries - 1)) * cq->entry_size + (cq->entry_size == 128 ? 64 : 0));
}

// The owner bit turns with each round through the queue; it is written last, together with the opcode.
static void write_cqe(struct cq *cq, const struct cqe *cqe, unsigned opcode) {
  struct cqe *slot = cqe_at(cq, cq->producer);
  unsigned owner = (cq->producer & cq->entries) != 0;
  memcpy(slot, cqe, 63);
  __atomic_store_n(&slot->opcode_owner, opcode << 4 | cqe->opcode_owner | owner, __ATOMIC_RELEASE);
  cq->producer = (cq->producer + 1) & 0xffffff;
}

static void complete(struct cq *cq, struct cqe *cqe, unsigned opcode, bool solicited) {
  if (cq->error) {
    return;
  }
  if (!cq->ignore_overrun && cq_full(cq)) {
    cq->error = true;
    async_event(&cq->object, EVENT_CQ_ERR);
    for (struct qp *qp = all_qps; qp; qp = qp->next) {
      if ((qp->send_cq == cq || qp->recv_cq == cq) && qp->state != RESET) {
        qp->state = ERR;
        qp_event(qp, qp->type == WORK_QUEUE ? EVENT_WQ_FATAL : EVENT_QP_FATAL);
      }
    }
    return;
  }
  if (opcode < CQE_REQUEST_ERROR) {
    cqe->timestamp = htobe64(tick());
  }
  write_cqe(cq, cqe, opcode);
  if (solicited) {
    cq->solicited = cq->producer;
  }
  event_if_armed(cq);
}

// Where entries go on: the provider copies the others over when it finds the one that says so.
bool cq_resize(struct cq *cq, char *buffer, uint32_t entries) {
  uint32_t outstanding = (cq->producer - be32toh(cq->doorbell[0])) & 0xffffff;
  if (outstanding >= entries || cq_full(cq)) {
    return false;
  }
  write_cqe(cq, &(struct cqe){0}, CQE_RESIZED);
  cq->buffer = buffer;
  cq->entries = entries;
  return true;
}

static void complete_send(struct qp *qp, uint16_t index, unsigned opcode, uint32_t length, enum syndrome syndrome) {
  struct cqe cqe = {
      .uidx = htobe32(qp->uidx),
      .opcode_qpn = htobe32(opcode << 24 | qp->number),
      .wqe_counter = htobe16(index),
      .length = htobe32(length),
      .timestamp = htobe64(syndrome),
  };
  if (syndrome == OK && qp->answer_length) {
    memcpy(&cqe, qp->answer, qp->answer_length);
    cqe.opcode_owner = CQE_DATA_32;
  }
  qp->answer_length = 0;
  complete(qp->send_cq, &cqe, syndrome ? CQE_REQUEST_ERROR : CQE_REQUEST, syndrome != OK);
}

// Delivers what was read to the memory of the request, or to its completion queue entry as kernels configure it where
// all requests are signaled.
static void take_answer(struct qp *qp, struct pieces *memory, struct pieces *answer) {
  if (qp->type == RC && qp->scatters && qp->signal_all && answer->length <= sizeof qp->answer) {
    struct pieces there = {0};
    add_bytes(&there, qp->answer, answer->length);
    copy(&there, 0, answer);
    qp->answer_length = answer->length;
  } else {
    copy(memory, 0, answer);
  }
}

// --- memory ---

static bool add_piece(struct pieces *pieces, const struct data *data, unsigned access, struct qp *qp,
                      struct object *pd) {
  uint32_t length = be32toh(data->length), key = be32toh(data->key);
  char *at = translate(key, be64toh(data->address), length, access, pd, qp->number);
  struct mkey *m = mkeys[key >> 8 & 0xffff];
  if ((!at && key != NULL_KEY) || (m && m->window) || pieces->count == 64) {
    return false;
  }
  pieces->piece[pieces->count].at = at;
  pieces->piece[pieces->count++].length = length;
  pieces->length += length;
  return true;
}

// What a send queue entry's data segments name, in order.
static bool gather(struct pieces *pieces, char *segments, char *end, unsigned access, struct qp *qp) {
  while (segments < end) {
    struct data *data = (struct data *)segments;
    uint32_t length = be32toh(data->length);
    if (length & DATA_INLINE) {
      length &= ~DATA_INLINE;
      if (segments + 4 + length > end) {
        return false;
      }
      add_bytes(pieces, segments + 4, length);
      segments += (4 + length + 15) & ~15u;
    } else {
      if (length && !add_piece(pieces, data, access, qp, qp->pd)) {
        return false;
      }
      segments += sizeof(struct data);
    }
  }
  return true;
}

// --- receives ---

static unsigned posted(const struct receives *receives) {
  return (uint16_t)(be32toh(*receives->doorbell) - receives->consumer);
}

static char *receive_entry(struct receives *receives, uint16_t *index) {
  *index = receives->linked ? receives->head : receives->consumer;
  return receives->buffer + ((uint32_t)(*index & (receives->entries - 1)) << receives->shift);
}

static void take_receive(struct receives *receives) {
  uint16_t index;
  char *entry = receive_entry(receives, &index);
  if (receives->linked) {
    receives->head = be16toh(((struct next_segment *)entry)->next);
  }
  receives->consumer++;
}

static bool scatter(struct pieces *pieces, struct receives *receives, uint16_t *index, struct qp *qp,
                    struct object *pd) {
  char *entry = receive_entry(receives, index);
  char *end = entry + (1u << receives->shift);
  entry += receives->linked || receives->has_signature ? 16 : 0;
  for (; entry < end; entry += sizeof(struct data)) {
    struct data *data = (struct data *)entry;
    if (be32toh(data->key) == KEY_END_OF_LIST && !data->length) {
      break;
    }
    // No length stands for 2 GB; libmlx5 writes it for an entry without bytes too, and no test receives 2 GB.
    if (data->length && !add_piece(pieces, data, LOCAL_WRITE, qp, pd)) {
      return false;
    }
  }
  return true;
}

// The same pieces without some of the first bytes.
static struct pieces *without_head(struct pieces *rest, const struct pieces *whole, uint32_t head) {
  for (unsigned i = 0; i < whole->count; i++) {
    uint32_t skipped = whole->piece[i].length < head ? whole->piece[i].length : head;
    head -= skipped;
    if (skipped < whole->piece[i].length) {
      char *at = whole->piece[i].at;
      add_bytes(rest, at ? at + skipped : NULL, whole->piece[i].length - skipped);
    }
  }
  return rest;
}

static struct srq *srq_of(struct qp *qp, uint32_t srqn) {
  return qp->type == XRC_TGT ? srqs[srqn & 0xffff] : qp->srq;
}

static void complete_receive(struct qp *qp, struct srq *srq, struct cq *cq, uint16_t index, unsigned opcode,
                             struct cqe cqe, bool solicited) {
  cqe.uidx = htobe32(srq && srq->cq ? srq->uidx : qp->uidx);
  if (!cqe.opcode_qpn) {
    cqe.opcode_qpn = htobe32(qp->number);
  }
  cqe.wqe_counter = htobe16(index);
  if (srq && srq->limit && posted(&srq->receives) < srq->limit) {
    srq->limit = 0;
    async_event(&srq->object, EVENT_SRQ_LIMIT_REACHED);
  }
  complete(cq, &cqe, opcode, solicited);
}

struct message {
  struct pieces data;
  unsigned opcode; // of the completion
  uint32_t immediate, source_qpn, srqn, invalidate, tag;
  bool solicited, has_data;
  uint8_t checked, headers; // of a packet, as in a completion queue entry
  uint8_t app_opcode;       // of tag matching; 0: none
  uint16_t vlan;
  char *written; // Where an RDMA write puts the data.
  const struct datagram *datagram;
  uint8_t source_gid[16];
};

// What precedes a datagram: a global routing header, or 20 bytes and an IPv4 header where the GIDs are IPv4 addresses.
static void write_header(char *grh, const struct message *message) {
  static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
  memset(grh, 0, 40);
  if (memcmp(message->source_gid, mapped, 12)) {
    grh[0] = 0x60;
    *(uint16_t *)(grh + 4) = htobe16(message->data.length);
    grh[6] = 0x1b;
    grh[7] = message->datagram->hop_limit;
    memcpy(grh + 8, message->source_gid, 16);
    memcpy(grh + 24, message->datagram->gid, 16);
    return;
  }
  uint8_t *ip = (uint8_t *)grh + 20;
  ip[0] = 0x45;
  *(uint16_t *)(ip + 2) = htobe16(20 + message->data.length);
  ip[8] = message->datagram->hop_limit;
  ip[9] = 17; // UDP
  memcpy(ip + 12, message->source_gid + 12, 4);
  memcpy(ip + 16, message->datagram->gid + 12, 4);
  uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) {
    sum += ip[i] << 8 | ip[i + 1];
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  *(uint16_t *)(ip + 10) = htobe16(~sum);
}

// Puts a message into the next receive of a queue pair. What it returns is the requester's syndrome.
static enum syndrome receive(struct qp *qp, struct message *message) {
  struct srq *srq = srq_of(qp, message->srqn);
  if (qp->type == XRC_TGT && !srq) {
    return REMOTE_INVALID_REQUEST;
  }
  struct receives *receives = srq ? &srq->receives : &qp->receives;
  struct cq *cq = srq && srq->cq ? srq->cq : qp->recv_cq;
  if (!receives->doorbell || !posted(receives)) {
    return NOT_YET;
  }
  struct pieces into = {0};
  uint16_t index;
  bool valid = scatter(&into, receives, &index, qp, srq ? srq->pd : qp->pd);
  uint64_t header = message->datagram ? 40 : 0;
  take_receive(receives);
  if (!valid || (message->has_data && message->data.length + header > into.length)) {
    enum syndrome syndrome = valid ? LOCAL_LENGTH : LOCAL_PROTECTION;
    if (qp->type != DCT) {
      qp->state = ERR;
    }
    complete_receive(qp, srq, cq, index, CQE_RESPONSE_ERROR, (struct cqe){.timestamp = htobe64(syndrome)}, true);
    if (srq && qp->type != DCT) {
      qp_event(qp, EVENT_QP_LAST_WQE_REACHED);
    }
    return valid ? REMOTE_INVALID_REQUEST : REMOTE_OPERATION;
  }
  if (message->invalidate) {
    struct mkey *m = mkeys[message->invalidate >> 8 & 0xffff];
    if (!m || !m->window || m->type != 2 || m->key != message->invalidate || m->free) {
      if (qp->type != DCT) {
        qp->state = ERR;
      }
      complete_receive(qp, srq, cq, index, CQE_RESPONSE_ERROR, (struct cqe){.timestamp = htobe64(FLUSHED)}, true);
      return REMOTE_ACCESS;
    }
    m->free = true;
  }
  struct cqe cqe = {
      .flags_qpn = htobe32(message->source_qpn | (message->datagram ? 1u << 28 : 0)),
      .immediate = message->immediate,
      .length = htobe32(message->data.length + header),
      .opcode_qpn = htobe32(message->tag),
      .checked = message->checked,
      .headers = message->headers,
      .vlan = htobe16(message->vlan),
      .app = message->app_opcode ? APP_TAG_MATCHING : 0,
      .app_opcode = message->app_opcode,
  };
  if (message->datagram) {
    char grh[40];
    write_header(grh, message);
    struct pieces head = {0};
    add_bytes(&head, grh, sizeof grh);
    copy(&into, 0, &head);
  }
  struct pieces there = {0};
  if (message->has_data && message->data.length && message->data.length <= 32 && qp->scatters &&
      !message->app_opcode) {
    add_bytes(&there, &cqe, message->data.length);
    copy(&there, 0, &message->data);
    cqe.opcode_owner = CQE_DATA_32;
  } else if (message->has_data) {
    copy(&into, header, &message->data);
  } else {
    add_bytes(&there, message->written, message->data.length);
    copy(&there, 0, &message->data);
  }
  complete_receive(qp, srq, cq, index, message->opcode, cqe, message->solicited);
  return OK;
}

// --- tag matching ---

static void complete_tag(struct srq *srq, struct qp *qp, struct cqe cqe, unsigned opcode, unsigned app_opcode) {
  cqe.app = APP_TAG_MATCHING;
  cqe.app_opcode = app_opcode;
  cqe.uidx = htobe32(srq->uidx);
  cqe.opcode_qpn = htobe32(qp->number);
  complete(srq->cq, &cqe, opcode, true);
}

// New tags are enabled while the program has handled all messages that matched none.
static void enable_tags(struct srq *srq) {
  for (unsigned i = 0; srq->unexpected == srq->handled && i <= MAX_TAGS; i++) {
    srq->tags[i].enabled = srq->tags[i].listed;
  }
}

// An operation of the command queue. Entries are named by libmlx5: each that is appended names the one after it.
static enum syndrome operate_tags(struct qp *qp, struct srq *srq, char *segments, char *end) {
  struct tag_operation *operation = (struct tag_operation *)segments;
  struct data *buffer = (struct data *)(operation + 1);
  if ((char *)(operation + 1) > end) {
    return LOCAL_QP_OPERATION;
  }
  unsigned opcode = operation->opcode >> 4, index = be16toh(operation->index), app_opcode;
  bool done = true;
  if (index > MAX_TAGS) {
    return LOCAL_QP_OPERATION;
  }
  if (operation->flags & TAG_HANDLED) {
    srq->handled = be16toh(operation->handled);
    enable_tags(srq);
  }
  struct tag *tag = &srq->tags[opcode == TAG_APPEND ? srq->free_tag : index];
  switch (opcode) {
  case TAG_APPEND:
    if ((char *)(buffer + 1) > end || tag->listed) {
      return LOCAL_QP_OPERATION;
    }
    *tag = (struct tag){.listed = true,
                        .order = ++srq->last_order,
                        .tag = be64toh(operation->tag),
                        .mask = be64toh(operation->mask),
                        .address = be64toh(buffer->address),
                        .length = be32toh(buffer->key) == KEY_END_OF_LIST ? 0 : be32toh(buffer->length),
                        .key = be32toh(buffer->key)};
    srq->free_tag = index;
    enable_tags(srq);
    app_opcode = TM_APPENDED;
    break;
  case TAG_REMOVE:
    done = tag->listed;
    tag->listed = tag->enabled = false;
    app_opcode = TM_REMOVED;
    break;
  case TAG_NOP:
    app_opcode = TM_NOP;
    break;
  default:
    return LOCAL_QP_OPERATION;
  }
  if (operation->flags & TAG_COMPLETION) {
    complete_tag(srq, qp, (struct cqe){.success = htobe32(done ? 1u << 31 : 0), .unexpected = htobe16(srq->unexpected)},
                 CQE_NO_PACKET, app_opcode);
  }
  return OK;
}

// The first buffer of the list whose tag a message has.
static struct tag *matching_tag(struct srq *srq, uint64_t tag) {
  struct tag *first = NULL;
  for (unsigned i = 0; i <= MAX_TAGS; i++) {
    struct tag *candidate = &srq->tags[i];
    if (candidate->enabled && (tag & candidate->mask) == candidate->tag && (!first || candidate->order < first->order)) {
      first = candidate;
    }
  }
  return first;
}

// The rest of a rendezvous: reads the data from the requester, and tells it so. False: it waits.
static bool meet(struct qp *qp) {
  struct meeting *meeting = &qp->meeting;
  struct qp *requester = qp_numbered(meeting->requester);
  uint32_t length = be32toh(meeting->where.length);
  if (!meeting->waits) {
    return false;
  }
  char *at = NULL;
  // Both regions may have been deregistered since.
  char *target = length ? translate(meeting->target_key, meeting->target, length, LOCAL_WRITE, qp->srq->pd, qp->number) : NULL;
  if ((target || !length) && requester && requester->state != ERR &&
      requester->attributes->qp_access_flags & REMOTE_READ) {
    at = translate(be32toh(meeting->where.key), be64toh(meeting->where.address), length, REMOTE_READ, requester->pd,
                   requester->number);
  }
  if (at) {
    struct message answer = {.has_data = true, .opcode = CQE_SEND, .source_qpn = qp->number};
    struct tag_header header = meeting->header;
    struct pieces data = {0}, into = {0};
    header.opcode = TAG_FINISHED;
    add_bytes(&answer.data, &header, sizeof header);
    add_bytes(&answer.data, &meeting->where, sizeof meeting->where);
    add_bytes(&data, at, length);
    add_bytes(&into, target, length);
    copy(&into, 0, &data);
    if (receive(requester, &answer) == NOT_YET) {
      return false;
    }
  }
  meeting->waits = false;
  struct cqe cqe = {.app_info = htobe16(meeting->tag), .length = htobe32(length)};
  complete_tag(qp->srq, qp, cqe, CQE_SEND, at ? TM_EXPECTED : TM_CANCELED);
  return true;
}

// A message to a queue with tag matching. The data of one that matches goes to the tagged buffer, without the headers.
static enum syndrome receive_tagged(struct qp *requester, struct qp *qp, struct message *message) {
  struct srq *srq = qp->srq;
  struct tag_header header = {0};
  struct rendezvous where = {0};
  struct pieces head = {0};
  add_bytes(&head, &header, sizeof header);
  add_bytes(&head, &where, sizeof where);
  copy(&head, 0, &message->data);
  bool tagged = message->data.length >= sizeof header && (header.opcode == TAG_EAGER || header.opcode == TAG_RENDEZVOUS);
  bool meets = tagged && header.opcode == TAG_RENDEZVOUS;
  if (meets && message->data.length < sizeof header + sizeof where) {
    return REMOTE_INVALID_REQUEST;
  }
  if (meets && qp->meeting.waits && !meet(qp)) {
    return NOT_YET;
  }
  struct tag *tag = tagged ? matching_tag(srq, be64toh(header.tag)) : NULL;
  if (!tag) {
    message->app_opcode = tagged ? TM_UNEXPECTED : TM_NO_TAG;
    enum syndrome syndrome = receive(qp, message);
    srq->unexpected += tagged && syndrome == OK;
    return syndrome;
  }
  struct cqe cqe = {.header = header, .app_info = htobe16(tag - srq->tags)};
  struct pieces into = {0};
  uint32_t length = meets ? be32toh(where.length) : message->data.length - sizeof header;
  char *at = tag->length ? translate(tag->key, tag->address, tag->length, LOCAL_WRITE, srq->pd, qp->number) : NULL;
  add_bytes(&into, at, at ? tag->length : 0);
  tag->listed = tag->enabled = false;
  if ((tag->length && !at) || (length > tag->length && !meets)) {
    enum syndrome syndrome = tag->length && !at ? LOCAL_PROTECTION : LOCAL_LENGTH;
    qp_enter_error(qp);
    if (posted(&srq->receives)) { // libmlx5 takes an error for the end of a receive.
      uint16_t index;
      receive_entry(&srq->receives, &index);
      take_receive(&srq->receives);
      complete_receive(qp, srq, srq->cq, index, CQE_RESPONSE_ERROR, (struct cqe){.timestamp = htobe64(syndrome)}, true);
    }
    return syndrome == LOCAL_LENGTH ? REMOTE_INVALID_REQUEST : REMOTE_OPERATION;
  }
  if (meets && length > tag->length) { // The program reads the data.
    copy(&into, 0, &message->data);
    cqe.length = htobe32(message->data.length);
    complete_tag(srq, qp, cqe, CQE_SEND, TM_CONSUMED_MESSAGE_RENDEZVOUS);
    return OK;
  }
  bool one_packet = !meets && length <= 128u << qp->attributes->path_mtu;
  if (!one_packet) {
    complete_tag(srq, qp, cqe, CQE_NO_PACKET, TM_CONSUMED);
    cqe.header = (struct tag_header){0}; // It is in the first of the two.
  }
  cqe.length = htobe32(length);
  if (meets) {
    qp->meeting = (struct meeting){.waits = true,
                                   .requester = requester->number,
                                   .tag = tag - srq->tags,
                                   .target = tag->address,
                                   .target_key = tag->key,
                                   .header = header,
                                   .where = where};
    return OK;
  }
  struct pieces data = {0};
  copy(&into, 0, without_head(&data, &message->data, sizeof header));
  complete_tag(srq, qp, cqe, CQE_SEND, one_packet ? TM_CONSUMED_MESSAGE : TM_EXPECTED);
  return OK;
}

// --- sends ---

// An event of an XRC target is one of each handle.
void qp_event(struct qp *qp, uint32_t type) {
  if (qp->type != XRC_TGT) {
    async_event(&qp->object, type);
  }
  for (struct opened *handle = qp->handles; handle; handle = handle->next) {
    async_event(&handle->object, type);
  }
}

struct qp *qp_numbered(uint32_t number) {
  struct qp *qp = qps[number & 0xffff];
  return qp && qp->number == number ? qp : NULL;
}

void qp_enter_error(struct qp *qp) {
  bool was = qp->state == ERR;
  qp->state = ERR;
  if (!was && qp->srq) {
    qp_event(qp, EVENT_QP_LAST_WQE_REACHED);
  }
}

void qp_reset(struct qp *qp) {
  forget_copies(qp);
  qp->sq_consumer = 0;
  qp->receives.consumer = 0;
  qp->resume = 0;
  qp->tries = 0;
  qp->meeting.waits = false;
}

static struct qp *peer(struct qp *qp) {
  struct ib_uverbs_modify_qp *mine = qp->attributes;
  struct qp *peer = qp_numbered(mine->dest_qp_num);
  if (!peer || peer->state < RTR || peer->state == ERR || !reachable(mine->dest.dgid) || qp->object.context->port_down ||
      peer->object.context->port_down) {
    return NULL;
  }
  struct ib_uverbs_modify_qp *its = peer->attributes;
  bool types = qp->type == XRC_INI ? peer->type == XRC_TGT : peer->type == qp->type;
  return types && its->dest_qp_num == qp->number && its->rq_psn == mine->sq_psn ? peer : NULL;
}

// The DC target that an address vector of an initiator names.
static struct qp *dc_target(struct qp *qp, const struct datagram *address) {
  struct qp *target = qp_numbered(be32toh(address->qpn) & 0xffffff);
  return target && target->type == DCT && target->state == RTR && reachable(address->gid) &&
                 !qp->object.context->port_down && !target->object.context->port_down
             ? target
             : NULL;
}

static uint64_t receiver_not_ready_ns(unsigned code) {
  static const uint32_t microseconds[32] = {655360, 10,   20,   30,    40,    60,    80,    120,    160,    240,   320,
                                            480,    640,  960,  1280,  1920,  2560,  3840,  5120,   7680,   10240, 15360,
                                            20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};
  return microseconds[code & 31] * UINT64_C(1000);
}

// Waits, or gives up when all tries are used.
static enum syndrome try_again(struct qp *qp, uint64_t wait, unsigned limit, bool endless, enum syndrome failure) {
  if (!endless && qp->tries >= limit) {
    return failure;
  }
  qp->tries++;
  qp->resume = now_ns() + wait;
  return NOT_YET;
}

static enum syndrome no_answer(struct qp *qp) {
  if (qp->type == UC) {
    return DROPPED;
  }
  unsigned timeout = qp->attributes->timeout;
  // As many time-outs as retries and one more.
  return try_again(qp, timeout ? UINT64_C(4096) << timeout : UINT64_C(1000000), qp->attributes->retry_cnt + 1u,
                   timeout == 0, RETRIES_EXCEEDED);
}

static enum syndrome no_receive(struct qp *qp, struct qp *target) {
  if (qp->type == UC) {
    return DROPPED;
  }
  return try_again(qp, receiver_not_ready_ns(target->attributes->min_rnr_timer), qp->attributes->rnr_retry,
                   qp->attributes->rnr_retry == 7, RNR_RETRIES_EXCEEDED);
}

// A request that the responder answers with a negative acknowledgement: its queue pair fails too.
static enum syndrome refuse(struct qp *target, enum syndrome syndrome) {
  if (target->type == UC) {
    return DROPPED;
  }
  if (target->type == DCT) {
    return syndrome; // Other initiators use it, too: only the requester fails.
  }
  qp_enter_error(target);
  qp_event(target, syndrome == REMOTE_ACCESS ? EVENT_QP_ACCESS_ERR : EVENT_QP_REQ_ERR);
  return syndrome;
}

static enum syndrome umr(struct qp *qp, struct control *control, char *segments, char *end) {
  struct umr *umr = (struct umr *)segments;
  struct mkey_context *context = (struct mkey_context *)(umr + 1);
  if ((char *)(context + 1) > end) {
    return LOCAL_QP_OPERATION;
  }
  uint32_t key = be32toh(control->immediate);
  struct mkey *m = mkeys[key >> 8 & 0xffff];
  if (!m || !m->window || m->pd != qp->pd) {
    return WINDOW_BIND;
  }
  if (context->free & MKEY_FREE) {
    if (m->free || m->key != key || (m->type == 2 && m->qpn != qp->number)) {
      return WINDOW_BIND;
    }
    m->free = true;
    return OK;
  }
  struct data *klm = (struct data *)(context + 1);
  if ((char *)(klm + 1) > end || ((umr->flags & UMR_CHECK_FREE) && !m->free)) {
    return WINDOW_BIND;
  }
  struct mkey *region = mkeys[be32toh(klm->key) >> 8 & 0xffff];
  uint64_t address = be64toh(klm->address), length = be64toh(context->length);
  if (!region || region->window || region->key != be32toh(klm->key) || !(region->access & MW_BIND) ||
      region->pd != qp->pd || length > be32toh(klm->length)) {
    return WINDOW_BIND;
  }
  unsigned access = (context->access & 1 << 5 ? REMOTE_WRITE : 0) | (context->access & 1 << 4 ? REMOTE_READ : 0) |
                    (context->access & 1 << 6 ? REMOTE_ATOMIC : 0);
  char *at = translate(region->key, address, length, access & (REMOTE_WRITE | REMOTE_ATOMIC) ? LOCAL_WRITE : 0, qp->pd,
                       qp->number);
  if (!at) {
    return WINDOW_BIND;
  }
  m->free = false;
  m->key = (m->key & ~0xffu) | (be32toh(context->qpn_key) & 0xff);
  m->qpn = m->type == 2 ? be32toh(context->qpn_key) >> 8 : 0;
  m->start = be64toh(context->start);
  m->length = length;
  m->address = (uint64_t)at;
  m->access = access;
  m->region = region;
  return OK;
}

static enum syndrome connected(struct qp *qp, struct control *control, char *segments, char *end, uint32_t *length) {
  unsigned opcode = be32toh(control->index_opcode) & 0xff;
  struct message message = {
      .immediate = control->immediate,
      .solicited = control->flags & CONTROL_SOLICITED,
      .source_qpn = qp->number,
      .has_data = true,
  };
  if (opcode == OP_TAG_MATCHING && qp->srq && qp->srq->tags) {
    return operate_tags(qp, qp->srq, segments, end);
  }
  if (opcode == OP_UMR) {
    return umr(qp, control, segments, end);
  }
  if (qp->type == XRC_INI) {
    message.srqn = be32toh(*(uint32_t *)segments) & 0xffffff;
    segments += 16;
  }
  const struct datagram *dc = NULL;
  if (qp->type == DCI) {
    dc = (const struct datagram *)segments;
    segments += sizeof *dc;
  }
  struct remote *remote = NULL;
  if (opcode == OP_WRITE || opcode == OP_WRITE_IMM || opcode == OP_READ || opcode == OP_COMPARE_SWAP ||
      opcode == OP_FETCH_ADD) {
    remote = (struct remote *)segments;
    segments += sizeof *remote;
  }
  struct atomic *atomic = NULL;
  if (opcode == OP_COMPARE_SWAP || opcode == OP_FETCH_ADD) {
    atomic = (struct atomic *)segments;
    segments += sizeof *atomic;
  }
  bool reads = opcode == OP_READ || atomic;
  if (segments > end || !gather(&message.data, segments, end, reads ? LOCAL_WRITE : 0, qp)) {
    return segments > end ? LOCAL_QP_OPERATION : LOCAL_PROTECTION;
  }
  *length = message.data.length;
  struct qp *target = dc ? dc_target(qp, dc) : peer(qp);
  if (!target) {
    return no_answer(qp);
  }
  if (dc && be64toh(dc->access_key) != target->access_key) {
    return REMOTE_ACCESS;
  }
  uint32_t key = remote ? be32toh(remote->key) : 0;
  uint64_t address = remote ? be64toh(remote->address) : 0;
  unsigned right = atomic ? REMOTE_ATOMIC : reads ? REMOTE_READ : REMOTE_WRITE;
  char *at = NULL;
  if (remote) {
    if (!(target->attributes->qp_access_flags & right)) {
      return refuse(target, REMOTE_INVALID_REQUEST);
    }
    if (atomic && address & 7) {
      return refuse(target, REMOTE_INVALID_REQUEST);
    }
    uint64_t bytes = atomic ? 8 : message.data.length;
    // An XRC target has no domain of its own: a request is in that of the shared receive queue that it names.
    struct srq *srq = srq_of(target, message.srqn);
    struct object *pd = target->type != XRC_TGT ? target->pd : srq ? srq->pd : NULL;
    if (bytes && !(at = translate(key, address, bytes, right, pd, target->number))) {
      return refuse(target, REMOTE_ACCESS);
    }
  }
  enum syndrome syndrome = OK;
  struct pieces there = {0};
  switch (opcode) {
  case OP_NOP:
    return OK;
  case OP_WRITE:
    add_bytes(&there, at, message.data.length);
    copy(&there, 0, &message.data);
    return OK;
  case OP_READ:
    add_bytes(&there, at, message.data.length);
    take_answer(qp, &message.data, &there);
    return OK;
  case OP_COMPARE_SWAP:
  case OP_FETCH_ADD: {
    uint64_t before = *(uint64_t *)at, operand = be64toh(atomic->swap_add);
    if (opcode == OP_FETCH_ADD) {
      before = __atomic_fetch_add((uint64_t *)at, operand, __ATOMIC_SEQ_CST);
    } else {
      before = be64toh(atomic->compare);
      __atomic_compare_exchange_n((uint64_t *)at, &before, operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    add_bytes(&there, &before, 8);
    take_answer(qp, &message.data, &there);
    return OK;
  }
  case OP_WRITE_IMM:
    message.opcode = CQE_WRITE_IMM;
    message.has_data = false;
    message.written = at;
    syndrome = receive(target, &message);
    break;
  case OP_SEND:
  case OP_SEND_IMM:
    message.opcode = opcode == OP_SEND ? CQE_SEND : CQE_SEND_IMM;
    syndrome = target->srq && target->srq->tags ? receive_tagged(qp, target, &message) : receive(target, &message);
    break;
  case OP_SEND_INVALIDATE:
    message.opcode = CQE_SEND_INVALIDATE;
    message.invalidate = be32toh(control->immediate);
    syndrome = receive(target, &message);
    break;
  default:
    return LOCAL_QP_OPERATION;
  }
  return syndrome == NOT_YET ? no_receive(qp, target) : syndrome;
}

static bool joined(struct qp *qp, const uint8_t *gid) {
  for (struct group *group = qp->groups; group; group = group->next) {
    if (!memcmp(group->gid, gid, 16)) {
      return true;
    }
  }
  return false;
}

static enum syndrome datagram(struct qp *qp, struct control *control, char *segments, char *end, uint32_t *length) {
  unsigned opcode = be32toh(control->index_opcode) & 0xff;
  struct datagram *datagram = (struct datagram *)segments;
  struct message message = {
      .immediate = control->immediate,
      .solicited = control->flags & CONTROL_SOLICITED,
      .source_qpn = qp->number,
      .has_data = true,
      .opcode = opcode == OP_SEND_IMM ? CQE_SEND_IMM : CQE_SEND,
      .datagram = datagram,
  };
  if (opcode != OP_SEND && opcode != OP_SEND_IMM) {
    return LOCAL_QP_OPERATION;
  }
  segments += sizeof *datagram;
  if (!gather(&message.data, segments, end, 0, qp)) {
    return LOCAL_PROTECTION;
  }
  if (message.data.length > 4096) {
    return LOCAL_LENGTH;
  }
  *length = message.data.length;
  mlx5_gid(qp->object.context->device, be32toh(datagram->gid_flow_label) >> 20 & 0xff, message.source_gid);
  uint32_t number = be32toh(datagram->qpn) & 0xffffff, qkey = be32toh(datagram->qkey);
  if (qkey & 0x80000000u) {
    qkey = qp->attributes->qkey;
  }
  bool multicast = number == 0xffffff;
  for (struct qp *target = multicast ? all_qps : qp_numbered(number); target; target = multicast ? target->next : NULL) {
    if (target->type == UD && target->attributes->qkey == qkey &&
        (target->state == RTR || target->state == RTS || target->state == SQD || target->state == SQE) &&
        (multicast ? joined(target, datagram->gid) : reachable(datagram->gid))) {
      receive(target, &message);
    }
  }
  return OK;
}

// --- packets ---

enum { MAX_FRAME = 1 << 16, MAX_SEGMENTED = 1 << 18 };

// As much of a frame as a queue takes: some strip the tag, some add the frame check sequence.
static void receive_packet(struct qp *queue, const struct message *message, const struct headers *headers) {
  struct message taken = *message;
  char *frame = message->data.piece[0].at;
  uint32_t length = message->data.length, sequence;
  if (queue->strips_tag && headers->type > 12 && length >= 18) {
    taken.data = (struct pieces){0};
    add_bytes(&taken.data, frame, 12);
    add_bytes(&taken.data, frame + 16, length - 16);
    taken.headers |= 1;
    taken.vlan = be16toh(*(uint16_t *)(frame + 14));
  }
  if (queue->scatters_fcs) {
    sequence = frame_check_sequence((uint8_t *)frame, length);
    add_bytes(&taken.data, &sequence, sizeof sequence);
  }
  receive(queue, &taken);
}

static bool is_matched(const struct flow *flow, int device, unsigned type, const struct headers *headers) {
  return flow && flow->type == type && flow->object.context->device == device && matches(flow, headers) &&
         (flow->drops || receiver(flow, headers));
}

// Delivers by the matching rules of this type and device that have the highest priority, the lowest number. False: none matches.
static bool deliver(int device, unsigned type, struct message *message, const struct headers *headers) {
  unsigned priority = UINT32_MAX;
  for (unsigned i = 0; i < 64; i++) {
    if (is_matched(flows[i], device, type, headers) && flows[i]->priority < priority) {
      priority = flows[i]->priority;
    }
  }
  for (unsigned i = 0; i < 64; i++) {
    struct flow *flow = flows[i];
    if (!is_matched(flow, device, type, headers) || flow->priority != priority) {
      continue;
    }
    if (flow->counters) {
      flow->counters->counted[COUNTED_PACKETS]++;
      flow->counters->counted[COUNTED_BYTES] += message->data.length;
    }
    struct message own = *message;
    own.tag = flow->tag;
    if (!flow->drops && esp_decrypt(flow, headers, &own.data)) {
      receive_packet(receiver(flow, headers), &own, headers);
    }
  }
  return priority != UINT32_MAX;
}

// Sends one frame, which is in one piece.
static void transmit(struct qp *qp, char *frame, uint32_t length, uint8_t flags) {
  struct message message = {.has_data = true, .opcode = CQE_SEND};
  add_bytes(&message.data, frame, length);
  struct headers headers = headers_of(&message.data);
  fill_checksums((uint8_t *)frame, length, &headers, flags & ETHERNET_L3_CHECKSUM, flags & ETHERNET_L4_CHECKSUM);
  message.checked = good_checksums((uint8_t *)frame, length, &headers);
  message.headers = (headers.network ? headers.ipv6 ? 1 : 2 : 0) << 2 | (headers.transport ? headers.tcp ? 1 : 2 : 0) << 4;
  if (qp->rate_limit) {
    uint64_t from = qp->resume ? qp->resume : now_ns();
    qp->resume = from + length * 8 * UINT64_C(1000000) / qp->rate_limit;
  }
  for (int device = 0; device < DEVICES; device++) {
    deliver(device, SNIFFER, &message, &headers);
    if (!deliver(device, NORMAL, &message, &headers) &&
        !(headers.bytes[0] & 1 && deliver(device, MULTICAST_DEFAULT, &message, &headers))) {
      deliver(device, ALL_DEFAULT, &message, &headers);
    }
  }
}

// A TCP message in segments of at most so many bytes of data, each with the header.
static enum syndrome transmit_segments(struct qp *qp, const char *message, uint32_t header, uint32_t length, uint32_t size,
                                       uint8_t flags) {
  char frame[MAX_FRAME];
  struct pieces whole = {0};
  add_bytes(&whole, (char *)message, header + length);
  struct headers headers = headers_of(&whole);
  if (!headers.tcp || !headers.transport || headers.transport + 20 > header || !size || header + size > sizeof frame) {
    return LOCAL_QP_OPERATION;
  }
  for (uint32_t offset = 0, number = 0; offset < length || !number; offset += size, number++) {
    uint32_t bytes = length - offset < size ? length - offset : size;
    memcpy(frame, message, header);
    memcpy(frame + header, message + header + offset, bytes);
    segment_header((uint8_t *)frame, &headers, header, number, offset, bytes, offset + bytes == length);
    transmit(qp, frame, header + bytes, flags);
  }
  return OK;
}

static enum syndrome packet(struct qp *qp, struct control *control, char *segments, char *end, uint32_t *length) {
  static char message[MAX_SEGMENTED + 1024]; // Guarded by the lock, as all is.
  struct ethernet *ethernet = (struct ethernet *)segments;
  unsigned opcode = be32toh(control->index_opcode) & 0xff, header = be16toh(ethernet->header_length);
  if (opcode != OP_SEND && opcode != OP_SEGMENT) {
    return opcode == OP_NOP ? OK : LOCAL_QP_OPERATION;
  }
  struct pieces data = {0}, whole = {0};
  if ((char *)ethernet->header + header > end) {
    return LOCAL_QP_OPERATION;
  }
  if (header) {
    add_bytes(&data, ethernet->header, header);
  }
  segments += (14 + header + 15) & ~15u;
  if (!gather(&data, segments, end, 0, qp)) {
    return LOCAL_PROTECTION;
  }
  if (data.length > (opcode == OP_SEGMENT ? sizeof message : MAX_FRAME)) {
    return LOCAL_LENGTH;
  }
  add_bytes(&whole, message, data.length);
  copy(&whole, 0, &data);
  *length = data.length;
  if (opcode == OP_SEGMENT) {
    return transmit_segments(qp, message, header, data.length - header, be16toh(ethernet->segment_size), ethernet->flags);
  }
  transmit(qp, message, data.length, ethernet->flags);
  return OK;
}

// One entry of a send queue. False: it stays.
static bool send_one(struct qp *qp) {
  char entry[1024];
  uint16_t index = qp->sq_consumer;
  uint32_t bytes = qp->sq_entries * 64, start = (index & (qp->sq_entries - 1)) * 64;
  struct control *control = (struct control *)entry;
  memcpy(entry, qp->sq + start, 64);
  unsigned units = be32toh(control->qpn_ds) & 0x3f;
  for (unsigned i = 64; i < units * 16; i += 64) {
    memcpy(entry + i, qp->sq + (start + i) % bytes, 64);
  }
  struct copied copied;
  copied.half = -1;
  bool is_flushed = qp->state == ERR || qp->state == SQE;
  bool is_copied = !is_flushed && take_copy(qp, entry, units ? (units + 3) / 4 : 1, &copied);
  units = be32toh(control->qpn_ds) & 0x3f;
  unsigned blocks = units ? (units + 3) / 4 : 1;
  unsigned opcode = be32toh(control->index_opcode) & 0xff;
  uint32_t length = 0;
  enum syndrome syndrome;
  if (is_flushed) {
    syndrome = FLUSHED;
  } else if ((be32toh(control->index_opcode) >> 8 & 0xffff) != index || be32toh(control->qpn_ds) >> 8 != qp->number ||
             !units) {
    syndrome = LOCAL_QP_OPERATION;
  } else {
    char *segments = entry + sizeof *control, *end = entry + units * 16;
    syndrome = qp->type == UD           ? datagram(qp, control, segments, end, &length)
               : qp->type == RAW_PACKET ? packet(qp, control, segments, end, &length)
                                        : connected(qp, control, segments, end, &length);
  }
  if (syndrome == NOT_YET) {
    return false;
  }
  if (syndrome == DROPPED) {
    syndrome = OK;
  }
  qp->tries = 0;
  after_entry(qp, &copied, is_copied, !is_flushed);
  qp->sq_consumer += blocks;
  if (syndrome != OK && syndrome != FLUSHED) {
    if (qp->type == RC || qp->type == XRC_INI || qp->type == DCI) {
      qp_enter_error(qp);
    } else {
      qp->state = SQE;
    }
  }
  if (syndrome != OK || qp->signal_all || (control->flags & CONTROL_COMPLETION)) {
    complete_send(qp, index, opcode, length, syndrome);
  }
  return true;
}

static bool move_sends(struct qp *qp) {
  bool moved = false;
  if (!qp->sq || (qp->state != RTS && qp->state != SQE && qp->state != ERR)) {
    return false;
  }
  // At most one round, so that two queue pairs take turns.
  for (uint32_t i = 0; i < qp->sq_entries; i++) {
    if (qp->sq_consumer == (uint16_t)be32toh(qp->doorbell[1]) || (qp->state == RTS && qp->resume > now_ns())) {
      break;
    }
    qp->resume = 0;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!send_one(qp)) {
      break;
    }
    moved = true;
  }
  return moved;
}

static bool flush_receives(struct qp *qp) {
  bool moved = false;
  while (qp->state == ERR && !qp->srq && qp->receives.doorbell && qp->recv_cq && posted(&qp->receives)) {
    uint16_t index;
    receive_entry(&qp->receives, &index);
    take_receive(&qp->receives);
    complete_receive(qp, NULL, qp->recv_cq, index, CQE_RESPONSE_ERROR, (struct cqe){.timestamp = htobe64(FLUSHED)},
                     true);
    moved = true;
  }
  return moved;
}

bool mlx5_sweep(void) {
  bool moved = false;
  tick();
  for (struct qp *qp = all_qps; qp; qp = qp->next) {
    moved |= move_sends(qp);
    moved |= flush_receives(qp);
    moved |= meet(qp);
  }
  for (struct cq *cq = all_cqs; cq; cq = cq->next) {
    event_if_armed(cq);
  }
  return moved;
}

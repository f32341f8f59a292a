// The commands of the kernel as libefa gives them: address handles, completion queues, queue pairs of UD and SRD.
#define _GNU_SOURCE
#include "efa.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct address addresses[DEVICES][MAX_AH];
static struct qp *qps[DEVICES][MAX_QP];
static uint8_t generations[DEVICES][MAX_QP];
static uint32_t last_cqn;

// --- <rdma/efa-abi.h> ---

struct context_answer {
  uint32_t comp_mask, supported_udata;
  uint16_t sub_cqs, inline_bytes;
  uint32_t llq_bytes;
  uint16_t max_batch; // of 64 bytes
  uint16_t min_sq_wr, inline_bytes_ex, reserved;
};
enum { UDATA_QUERY_DEVICE = 1 << 0, UDATA_CREATE_AH = 1 << 1 };

struct device_answer {
  uint32_t comp_mask, max_sq_wr, max_rq_wr;
  uint16_t max_sq_sge, max_rq_sge;
  uint32_t max_rdma_bytes, capabilities;
};
enum {
  CAN_READ = 1 << 0,
  CAN_RETRY_RNR = 1 << 1,
  CAN_NOTIFY = 1 << 2,
  CAN_TELL_SOURCE = 1 << 3,
  CAN_WRITE = 1 << 5,
  CAN_RECEIVE_UNSOLICITED = 1 << 6,
  CAN_COUNT = 1 << 8,
};

struct create_cq {
  uint32_t comp_mask, entry_size;
  uint16_t sub_cqs;
  uint8_t flags, reserved[5];
};
enum { CQ_WITH_SOURCE = 1 << 1 };

struct create_cq_answer {
  uint32_t comp_mask, reserved;
  uint64_t key, length;
  uint16_t number, reserved1;
  uint32_t doorbell_offset;
  uint64_t doorbell_key;
};
enum { CQ_HAS_DOORBELL = 1 << 0 };

struct create_qp {
  uint32_t comp_mask, receive_bytes, send_bytes, driver_type;
  uint16_t flags;
  uint8_t service_level, reserved[5];
};
enum { QP_UNSOLICITED = 1 << 0 };

struct create_qp_answer {
  uint32_t comp_mask, receive_doorbell_offset, send_doorbell_offset, sends_offset;
  uint64_t receives_key, receives_length, receive_doorbell_key, send_doorbell_key, sends_key;
  uint16_t send_sub_cq, receive_sub_cq;
  uint8_t reserved[4];
};

struct ah_answer {
  uint32_t comp_mask;
  uint16_t number, reserved;
};

// --- memory of the device ---

enum { PAGE = 4096, PAGES = 1 << 18 };

static char *device_memory;
static int device_file = -1;
static bool used[PAGES];

// The file whose pages both the provider and the engine map.
static bool open_device_memory(void) {
  if (device_file < 0) {
    device_file = memfd_create("emulated-efa", MFD_CLOEXEC);
    if (device_file < 0 || ftruncate(device_file, (off_t)PAGES * PAGE)) {
      return false;
    }
    device_memory = (char *)syscall(SYS_mmap, NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_NORESERVE, device_file, 0);
  }
  return device_memory != MAP_FAILED;
}

static bool take_range(struct range *range, uint64_t bytes) {
  unsigned count = (bytes + PAGE - 1) / PAGE, run = 0;
  static unsigned next;
  for (unsigned i = 0; count && i < 2 * PAGES; i++) {
    unsigned page = (next + i) % PAGES;
    run = page == 0 ? 0 : run;
    run = used[page] ? 0 : run + 1;
    if (run == count) {
      unsigned first = page + 1 - count;
      memset(used + first, true, count);
      next = page + 1;
      *range = (struct range){(uint64_t)first * PAGE, (uint64_t)count * PAGE, device_memory + (uint64_t)first * PAGE};
      return true;
    }
  }
  return count == 0;
}

static void free_range(struct range *range) {
  if (range->length) {
    fallocate(device_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range->offset, range->length);
    memset(used + range->offset / PAGE, false, range->length / PAGE);
    *range = (struct range){0};
  }
}

static void *map(struct context *context, size_t length, int protection, off_t offset) {
  (void)context;
  if (offset < 0 || offset % PAGE || (uint64_t)offset / PAGE >= PAGES || !used[offset / PAGE]) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, NULL, length, protection, MAP_SHARED, device_file, offset);
}

// --- device ---

static int get_context(struct call *call) {
  struct context_answer driver = {
      .supported_udata = UDATA_QUERY_DEVICE | UDATA_CREATE_AH,
      .sub_cqs = SUB_CQS,
      .inline_bytes = INLINE_BYTES,
      .llq_bytes = LLQ_BYTES,
      .max_batch = 64,
      .min_sq_wr = 16,
      .inline_bytes_ex = INLINE_BYTES,
  };
  return open_device_memory() ? answer_context(call, &driver, sizeof driver) : ENOMEM;
}

static struct ib_uverbs_query_device_resp attributes(void) {
  return (struct ib_uverbs_query_device_resp){
      .max_mr_size = 1ull << 40,
      .page_size_cap = 0xfffff000,
      .vendor_id = 0x1d0f,
      .vendor_part_id = 0xefa1,
      .hw_ver = 0xefa1,
      .max_qp = MAX_QP,
      .max_qp_wr = MAX_SQ_WR,
      .max_sge = MAX_SGE,
      .max_sge_rd = 1,
      .max_cq = 512,
      .max_cqe = 32768,
      .max_mr = 1 << 15,
      .max_pd = 256,
      .max_ah = MAX_AH,
      .max_pkeys = 1,
      .phys_port_cnt = 1,
  };
}

static int query_device(struct call *call) {
  struct ib_uverbs_query_device_resp core = attributes();
  answer(call, &core, sizeof core);
  return 0;
}

static int query_device_ex(struct call *call) {
  struct ib_uverbs_ex_query_device_resp core = {.base = attributes(), .response_length = sizeof core};
  struct device_answer driver = {
      .max_sq_wr = MAX_SQ_WR,
      .max_rq_wr = MAX_RQ_WR,
      .max_sq_sge = MAX_SGE,
      .max_rq_sge = MAX_SGE,
      .max_rdma_bytes = MAX_RDMA_BYTES,
      .capabilities = CAN_READ | CAN_RETRY_RNR | CAN_NOTIFY | CAN_TELL_SOURCE | CAN_WRITE | CAN_RECEIVE_UNSOLICITED |
                      CAN_COUNT,
  };
  answer(call, &core, sizeof core);
  answer_driver(call, &driver, sizeof driver);
  return 0;
}

static int query_port(struct call *call) {
  const struct ib_uverbs_query_port *in = call->in;
  if (in->port_num != 1) {
    return EINVAL;
  }
  struct ib_uverbs_query_port_resp out = {
      .max_msg_sz = MTU,
      .gid_tbl_len = 1,
      .pkey_tbl_len = 1,
      .lmc = 1,
      .max_vl_num = 1,
      .state = 4,
      .max_mtu = 5,
      .active_mtu = 5,
      .active_width = 2,
      .active_speed = 32,
      .phys_state = 5,
      .link_layer = 0,
  };
  answer(call, &out, sizeof out);
  return 0;
}

bool efa_gid(int device, unsigned index, uint8_t *gid) {
  static const uint8_t first[16] = {0xfe, 0x80, [8] = 0x04, 0xaa, 0xbb, 0xff, 0xfe, 0xcc, 0xdd, 1};
  if (index) {
    return false;
  }
  memcpy(gid, first, 16);
  gid[15] += device;
  return true;
}

// --- protection domains, address handles, memory ---

static int alloc_pd(struct call *call) {
  struct object *pd = new_object(call->context, PD, sizeof *pd, 0);
  if (!pd) {
    return errno;
  }
  answer(call, &(struct ib_uverbs_alloc_pd_resp){.pd_handle = pd->handle}, sizeof(struct ib_uverbs_alloc_pd_resp));
  uint32_t driver[2] = {0, pd->handle & 0xffff};
  answer_driver(call, driver, sizeof driver);
  return 0;
}

int address_of(int device, const struct object *pd, const uint8_t *gid) {
  for (int i = 0; i < MAX_AH; i++) {
    struct address *address = &addresses[device][i];
    if (address->users && address->pd == pd && !memcmp(address->gid, gid, 16)) {
      return i;
    }
  }
  return -1;
}

static int create_ah(struct call *call) {
  const struct ib_uverbs_create_ah *in = call->in;
  int device = call->context->device;
  struct object *pd = find(call->context, PD, in->pd_handle);
  if (!pd || in->attr.grh.sgid_index != 0 || !in->attr.is_global) {
    return EINVAL;
  }
  int number = address_of(device, pd, in->attr.grh.dgid);
  for (int i = 0; number < 0 && i < MAX_AH; i++) {
    if (!addresses[device][i].users) {
      number = i;
    }
  }
  if (number < 0) {
    return ENOMEM;
  }
  struct ah *ah = new_object(call->context, AH, sizeof *ah, in->user_handle);
  if (!ah) {
    return errno;
  }
  ah->number = number;
  struct address *address = &addresses[device][number];
  address->pd = pd;
  memcpy(address->gid, in->attr.grh.dgid, 16);
  address->users++;
  use(pd);
  answer(call, &(struct ib_uverbs_create_ah_resp){.ah_handle = ah->object.handle},
         sizeof(struct ib_uverbs_create_ah_resp));
  answer_driver(call, &(struct ah_answer){.number = number}, sizeof(struct ah_answer));
  return 0;
}

enum { ACCESS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ };

static int register_region(struct call *call) {
  const struct ib_uverbs_reg_mr *in = call->in;
  // Bits 20 to 29 are optional.
  return in->access_flags & ~(0x3ffu << 20 | ACCESS) ? EOPNOTSUPP : reg_mr(call);
}

// --- completion queues ---

static int create_cq(struct call *call) {
  const struct ib_uverbs_create_cq *in = call->in;
  const struct create_cq *driver = call->driver_in;
  uint32_t entries = in->cqe;
  if (call->driver_in_size < offsetof(struct create_cq, flags) || driver->comp_mask || driver->sub_cqs != SUB_CQS ||
      (driver->entry_size != 16 && driver->entry_size != 32) || !entries || entries > 32768 || entries & (entries - 1) ||
      in->comp_vector >= 2 || (in->comp_channel >= 0 && !is_channel(in->comp_channel))) {
    return EINVAL;
  }
  struct range memory, doorbell;
  if (!take_range(&memory, (uint64_t)SUB_CQS * entries * driver->entry_size)) {
    return ENOMEM;
  }
  struct cq *cq = take_range(&doorbell, PAGE) ? new_object(call->context, CQ, sizeof *cq, in->user_handle) : NULL;
  if (!cq) {
    free_range(&memory);
    return ENOMEM;
  }
  cq->entries_range = memory;
  cq->doorbell_range = doorbell;
  cq->doorbell = (volatile uint32_t *)doorbell.at;
  cq->entries = entries;
  cq->entry_size = driver->entry_size;
  cq->with_source = driver->flags & CQ_WITH_SOURCE;
  cq->fired = -1;
  if (in->comp_channel >= 0) {
    cq->channel = enter_channel(in->comp_channel);
  }
  LINK(cq, efa_cqs);
  answer(call, &(struct ib_uverbs_create_cq_resp){.cq_handle = cq->object.handle, .cqe = entries},
         sizeof(struct ib_uverbs_create_cq_resp));
  struct create_cq_answer driver_out = {
      .comp_mask = CQ_HAS_DOORBELL,
      .key = memory.offset,
      .length = memory.length,
      .number = ++last_cqn,
      .doorbell_key = doorbell.offset,
  };
  answer_driver(call, &driver_out, sizeof driver_out);
  return 0;
}

// --- queue pairs ---

// A number: the place in the provider's table, and a generation, so that numbers are not soon used again.
static int free_qpn(int device, uint32_t *number) {
  for (unsigned i = 1; i < MAX_QP; i++) {
    static unsigned last;
    unsigned place = last = last % (MAX_QP - 1) + 1;
    if (!qps[device][place]) {
      *number = (++generations[device][place] & 0x7f) << 8 | place;
      return 0;
    }
  }
  return ENOMEM;
}

static int create_qp(struct call *call) {
  const struct ib_uverbs_create_qp *in = call->in;
  const struct create_qp *driver = call->driver_in;
  struct object *pd = find(call->context, PD, in->pd_handle);
  struct cq *send_cq = find(call->context, CQ, in->send_cq_handle), *recv_cq = find(call->context, CQ, in->recv_cq_handle);
  if (in->is_srq || (in->qp_type != UD && in->qp_type != DRIVER)) {
    return EOPNOTSUPP;
  }
  if (!pd || !send_cq || !recv_cq || call->driver_in_size < offsetof(struct create_qp, flags) || driver->comp_mask ||
      driver->driver_type || !in->max_send_wr || driver->send_bytes % in->max_send_wr || driver->send_bytes > LLQ_BYTES ||
      driver->receive_bytes > MAX_RQ_WR * 16u || in->max_send_sge > MAX_SGE || in->max_recv_sge > MAX_SGE ||
      in->max_inline_data > INLINE_BYTES) {
    return EINVAL;
  }
  uint32_t number;
  struct range doorbells = {0}, sends = {0}, receives = {0};
  struct qp *qp = NULL;
  if (!free_qpn(call->context->device, &number) && take_range(&doorbells, PAGE) && take_range(&sends, driver->send_bytes) &&
      take_range(&receives, driver->receive_bytes)) {
    qp = new_object(call->context, QP, sizeof *qp, in->user_handle);
  }
  if (!qp) {
    free_range(&doorbells);
    free_range(&sends);
    free_range(&receives);
    return ENOMEM;
  }
  qp->number = number;
  qps[call->context->device][number & (MAX_QP - 1)] = qp;
  LINK(qp, efa_qps);
  qp->srd = in->qp_type == DRIVER;
  qp->unsolicited = driver->flags & QP_UNSOLICITED;
  qp->doorbells = doorbells;
  qp->sends = sends;
  qp->receives = receives;
  qp->send_doorbell = (volatile uint32_t *)doorbells.at;
  qp->receive_doorbell = (volatile uint32_t *)(doorbells.at + 64);
  qp->send_entries = in->max_send_wr;
  qp->send_entry_size = driver->send_bytes / in->max_send_wr;
  qp->receive_entries = driver->receive_bytes / 16;
  qp->work = calloc(qp->send_entries, sizeof *qp->work);
  qp->rnr_retries = 7;
  memcpy(qp->caps, &in->max_send_wr, sizeof qp->caps);
  use(qp->pd = pd);
  use(qp->send_cq = send_cq);
  use(qp->recv_cq = recv_cq);
  struct ib_uverbs_create_qp_resp out = {
      .qp_handle = qp->object.handle,
      .qpn = number,
      .max_send_wr = qp->caps[0],
      .max_recv_wr = qp->caps[1],
      .max_send_sge = qp->caps[2],
      .max_recv_sge = qp->caps[3],
      .max_inline_data = qp->caps[4],
  };
  struct create_qp_answer driver_out = {
      .receive_doorbell_offset = 64,
      .receives_key = receives.offset,
      .receives_length = receives.length,
      .receive_doorbell_key = doorbells.offset,
      .send_doorbell_key = doorbells.offset,
      .sends_key = sends.offset,
      .send_sub_cq = 0,
      .receive_sub_cq = 1,
  };
  answer(call, &out, sizeof out);
  answer_driver(call, &driver_out, sizeof driver_out);
  return 0;
}

// The attributes that a transition needs besides the state; -1: there is no such transition.
static int needed(bool srd, enum state from, enum state to, uint32_t *optional) {
  *optional = A_STATE;
  if (to == RESET || (to == ERR && (from != RESET || !srd))) {
    return 0;
  }
  if (from == RESET && to == INIT) {
    return A_PKEY | A_PORT | A_QKEY;
  }
  if (from == INIT && to == INIT) {
    *optional |= A_PKEY | A_PORT | A_QKEY;
    return 0;
  }
  if (from == INIT && to == RTR) {
    *optional |= A_PKEY | A_QKEY;
    return 0;
  }
  if (from == RTR && to == RTS) {
    *optional |= A_CURRENT | A_QKEY | (srd ? A_RNR : 0);
    return A_SQ_PSN;
  }
  if ((from == RTS || from == SQD) && to == RTS) {
    *optional |= A_CURRENT | A_QKEY;
    return 0;
  }
  if (from == RTS && to == SQD) {
    *optional |= A_SQD_NOTIFY;
    return 0;
  }
  if (from == SQD && to == SQD) {
    *optional |= A_PKEY | A_QKEY;
    return 0;
  }
  return -1;
}

static int modify_qp(struct call *call) {
  const struct ib_uverbs_modify_qp *in = call->in;
  struct qp *qp = find(call->context, QP, in->qp_handle);
  uint32_t mask = in->attr_mask, optional;
  if (!qp) {
    return EINVAL;
  }
  if (mask & ~(A_STATE | A_CURRENT | A_SQD_NOTIFY | A_PKEY | A_PORT | A_QKEY | A_SQ_PSN | A_RNR)) {
    return EOPNOTSUPP;
  }
  enum state to = mask & A_STATE ? in->qp_state : qp->state;
  int required = needed(qp->srd, qp->state, to, &optional);
  if (required < 0 || (mask & required) != (uint32_t)required || mask & ~(required | optional) ||
      (mask & A_CURRENT && in->cur_qp_state != qp->state)) {
    return EINVAL;
  }
  if ((mask & A_PORT && in->port_num != 1) || (mask & A_PKEY && in->pkey_index)) {
    return EOPNOTSUPP;
  }
  qp->qkey = mask & A_QKEY ? in->qkey : qp->qkey;
  qp->sq_psn = mask & A_SQ_PSN ? in->sq_psn & 0xffffff : qp->sq_psn;
  qp->rnr_retries = mask & A_RNR ? in->rnr_retry & 7 : qp->rnr_retries;
  qp->state = to;
  if (to == RESET) {
    reset(qp);
  }
  if (to == SQD && mask & A_SQD_NOTIFY && in->en_sqd_async_notify) {
    async_event(&qp->object, EVENT_SQ_DRAINED);
  }
  return 0;
}

static int query_qp(struct call *call) {
  const struct ib_uverbs_query_qp *in = call->in;
  struct qp *qp = find(call->context, QP, in->qp_handle);
  if (!qp) {
    return EINVAL;
  }
  if (in->attr_mask & ~(A_STATE | A_PKEY | A_PORT | A_QKEY | A_SQ_PSN | A_CAP | A_RNR)) {
    return EOPNOTSUPP;
  }
  struct ib_uverbs_query_qp_resp out = {
      .max_send_wr = qp->caps[0],
      .max_recv_wr = qp->caps[1],
      .max_send_sge = qp->caps[2],
      .max_recv_sge = qp->caps[3],
      .max_inline_data = qp->caps[4],
      .qkey = qp->qkey,
      .sq_psn = qp->sq_psn,
      .qp_state = qp->state,
      .port_num = 1,
      .rnr_retry = qp->rnr_retries,
  };
  answer(call, &out, sizeof out);
  return 0;
}

static int destroy_object(struct object *object, bool closing) {
  (void)closing;
  int device = object->context->device;
  switch (object->kind) {
  case AH: {
    struct address *address = &addresses[device][((struct ah *)object)->number];
    address->users--;
    unuse(address->pd);
    break;
  }
  case CQ: {
    struct cq *cq = (struct cq *)object;
    UNLINK(cq);
    leave_channel(cq->channel, object);
    free_range(&cq->entries_range);
    free_range(&cq->doorbell_range);
    break;
  }
  case QP: {
    struct qp *qp = (struct qp *)object;
    UNLINK(qp);
    qps[device][qp->number & (MAX_QP - 1)] = NULL;
    free_range(&qp->doorbells);
    free_range(&qp->sends);
    free_range(&qp->receives);
    free(qp->work);
    unuse(qp->pd);
    unuse(qp->send_cq);
    unuse(qp->recv_cq);
    for (unsigned i = 0; i < COUNTED_OPERATIONS; i++) {
      unuse(qp->counters[i]);
    }
    break;
  }
  case COUNTER:
    free_counter((struct counter *)object);
    break;
  default:
    break;
  }
  return 0;
}

// --- ioctl ---

enum { METHOD_MR_QUERY = DRIVER_NAMESPACE };
enum { METHOD_PORT_SPEED = 7, ATTR_PORT_NUMBER = 0, ATTR_PORT_SPEED = 1 }; // of the device, in headers of rdma-core 62
// In those of rdma-core 65.
enum { METHOD_COUNTER_CAPS = 8, OBJECT_COUNTER = 19, METHOD_QP_ATTACH_COUNTER = 2 };

// Which interconnects the device uses for a region: it has one, which receives and reads use.
static int query_mr(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  static const uint16_t values[] = {[1] = 3, [2] = 7, [3] = 7, [4] = 0};
  for (unsigned i = 0; i < header->num_attrs; i++) {
    struct ib_uverbs_attr *attribute = &header->attrs[i];
    unsigned id = attribute->attr_id & (DRIVER_NAMESPACE - 1);
    if (id == 0 && !find(context, MR, attribute->data)) {
      return EINVAL;
    }
    if (id >= 1 && id <= 4 && attribute->len == sizeof *values) {
      put(header, attribute->attr_id, &values[id], sizeof *values);
    }
  }
  return 0;
}

// In units of 100 Mbit/s: four lanes of EDR, as query_port answers.
static int query_port_speed(struct ib_uverbs_ioctl_hdr *header) {
  static const struct mandatory needed[] = {{ATTR_PORT_NUMBER, 8}, {ATTR_PORT_SPEED, 8}};
  if (!has_attributes(header, 2, needed) || value(header, ATTR_PORT_NUMBER) != 1) {
    return EINVAL;
  }
  PUT(header, ATTR_PORT_SPEED, uint64_t, 1000);
  return 0;
}

// libibverbs of testing gives all commands of <rdma/ib_user_verbs.h> in an ioctl.
static int control(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  unsigned object = header->object_id, method = header->method_id;
  if (object == UVERBS_OBJECT_DEVICE && method == UVERBS_METHOD_INVOKE_WRITE) {
    return invoke_write(context, header);
  }
  if (object == UVERBS_OBJECT_DEVICE && method == METHOD_PORT_SPEED) {
    return query_port_speed(header);
  }
  if (object == UVERBS_OBJECT_MR && method == METHOD_MR_QUERY) {
    return query_mr(context, header);
  }
  if (object == UVERBS_OBJECT_MR && method == UVERBS_METHOD_REG_DMABUF_MR) {
    return reg_dmabuf_mr(context, header, ACCESS);
  }
  if (object == UVERBS_OBJECT_DEVICE && method == METHOD_COUNTER_CAPS) {
    return query_counter_caps(header);
  }
  if (object == OBJECT_COUNTER) {
    return control_counter(context, header);
  }
  if (object == UVERBS_OBJECT_QP && method == METHOD_QP_ATTACH_COUNTER) {
    return attach_counter(context, header);
  }
  return EPROTONOSUPPORT; // libibverbs gives the command in its other form, or reads sysfs
}

static bool bounces(const struct context *context) {
  (void)context;
  return false;
}

const struct type efa = {
    .name = "efa",
    .commands =
        {
            COMMAND(IB_USER_VERBS_CMD_GET_CONTEXT, get_context, ib_uverbs_get_context, ib_uverbs_get_context_resp),
            COMMAND(IB_USER_VERBS_CMD_QUERY_DEVICE, query_device, ib_uverbs_query_device, ib_uverbs_query_device_resp),
            COMMAND(IB_USER_VERBS_CMD_QUERY_PORT, query_port, ib_uverbs_query_port, ib_uverbs_query_port_resp),
            COMMAND(IB_USER_VERBS_CMD_ALLOC_PD, alloc_pd, ib_uverbs_alloc_pd, ib_uverbs_alloc_pd_resp),
            SILENT(IB_USER_VERBS_CMD_DEALLOC_PD, dealloc_pd, ib_uverbs_dealloc_pd),
            COMMAND(IB_USER_VERBS_CMD_CREATE_AH, create_ah, ib_uverbs_create_ah, ib_uverbs_create_ah_resp),
            SILENT(IB_USER_VERBS_CMD_DESTROY_AH, destroy_ah, ib_uverbs_destroy_ah),
            COMMAND(IB_USER_VERBS_CMD_REG_MR, register_region, ib_uverbs_reg_mr, ib_uverbs_reg_mr_resp),
            SILENT(IB_USER_VERBS_CMD_DEREG_MR, dereg_mr, ib_uverbs_dereg_mr),
            COMMAND(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, create_comp_channel, ib_uverbs_create_comp_channel,
                    ib_uverbs_create_comp_channel_resp),
            COMMAND(IB_USER_VERBS_CMD_CREATE_CQ, create_cq, ib_uverbs_create_cq, ib_uverbs_create_cq_resp),
            COMMAND(IB_USER_VERBS_CMD_DESTROY_CQ, destroy_cq, ib_uverbs_destroy_cq, ib_uverbs_destroy_cq_resp),
            COMMAND(IB_USER_VERBS_CMD_CREATE_QP, create_qp, ib_uverbs_create_qp, ib_uverbs_create_qp_resp),
            COMMAND(IB_USER_VERBS_CMD_QUERY_QP, query_qp, ib_uverbs_query_qp, ib_uverbs_query_qp_resp),
            SILENT(IB_USER_VERBS_CMD_MODIFY_QP, modify_qp, ib_uverbs_modify_qp),
            COMMAND(IB_USER_VERBS_CMD_DESTROY_QP, destroy_qp, ib_uverbs_destroy_qp, ib_uverbs_destroy_qp_resp),
        },
    .extended = {[IB_USER_VERBS_EX_CMD_QUERY_DEVICE] = {query_device_ex, 0, 0}},
    .control = control,
    .destroy = destroy_object,
    .map = map,
    .gid = efa_gid,
    .bounces = bounces,
    .sweep = efa_sweep,
};

// The commands of the kernel as libmlx5 gives them: devices, completion queues, queue pairs, shared
// receive queues.
#define _GNU_SOURCE
#include "mlx5.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Of rdma-core 65.
enum {
  ATTR_CREATE_CQ_BUFFER = 12,
  ATTR_CREATE_CQ_DOORBELL = UVERBS_ATTR_UHW_OUT + 2,
  ATTR_CREATE_QP_BUFFER = 15,
  ATTR_CREATE_QP_DOORBELL = UVERBS_ATTR_UHW_OUT + 1,
};

enum { PORT_GIDS = 3, MAX_CQE = (1 << 22) - 1, MAX_CQ_PERIOD = 0xfff };
enum { IB_CQ_MODERATE = 1, MAX_REGISTERS = 512 };
enum { LEAST_RATE = 1, MOST_RATE = 100000000 }; // kbit/s

// The options of enhanced connection establishment that the device has. What they mean is not published.
static const uint32_t ECE_OPTIONS = 0x10000003;

// An XRC domain. Domains of the same file are one; what uses them is found by number, whatever its domain.
struct xrcd {
  struct object object;
  struct xrcd *next, **at; // at: the pointer to this domain in the list
  dev_t device;
  ino_t file; // 0: no file names it
};

static struct xrcd *all_xrcds;
static uint32_t last_qpn, last_srqn, last_cqn;

static void close_handle(struct opened *handle);

static int destroy_object(struct object *object, bool closing) {
  switch (object->kind) {
  case CQ: {
    struct cq *cq = (struct cq *)object;
    UNLINK(cq);
    leave_channel(cq->channel, object);
    break;
  }
  case QP: {
    struct qp *qp = (struct qp *)object;
    if (qp->groups && !closing) {
      return EBUSY;
    }
    UNLINK(qp);
    if (qp->number) {
      qps[qp->number & 0xffff] = NULL;
    }
    release_register(qp);
    unuse(qp->pd);
    unuse(qp->table);
    unuse(qp->send_cq);
    unuse(qp->recv_cq);
    unuse(qp->srq);
    free(qp->attributes);
    break;
  }
  case SRQ: {
    struct srq *srq = (struct srq *)object;
    srqs[srq->number] = NULL;
    unuse(srq->pd);
    unuse(srq->cq);
    unuse(srq->xrcd);
    free(srq->tags);
    break;
  }
  case UAR:
    free_registers(object);
    break;
  case DM:
    free_device_memory((struct device_memory *)object);
    break;
  case XRCD:
    UNLINK((struct xrcd *)object);
    break;
  case OPENED:
    close_handle((struct opened *)object);
    break;
  case WQ:
    UNLINK((struct qp *)object);
    unuse(((struct qp *)object)->pd);
    unuse(((struct qp *)object)->recv_cq);
    break;
  case AH:
    unuse(*(struct object **)(object + 1));
    break;
  case TABLE: {
    struct table *table = (struct table *)object;
    for (unsigned i = 0; i < table->size; i++) {
      unuse(table->queues[i]);
    }
    break;
  }
  case FLOW:
    unuse(((struct flow *)object)->qp);
    unuse(((struct flow *)object)->action);
    unuse(((struct flow *)object)->counters);
    for (unsigned i = 0; i < 64; i++) {
      flows[i] = flows[i] == (struct flow *)object ? NULL : flows[i];
    }
    break;
  default:
    break;
  }
  return 0;
}

struct mlx5_ib_alloc_ucontext_resp mlx5_context_answer(void) {
  struct mlx5_ib_alloc_ucontext_resp driver = {
      .qp_tab_size = 1 << 18,
      .bf_reg_size = REGISTER_BYTES,
      .cache_line_size = 64,
      .max_sq_desc_sz = 1024,
      .max_rq_desc_sz = 512,
      .max_send_wqebb = 32768,
      .max_recv_wr = 32768,
      .max_srq_recv_wr = 32767,
      .num_ports = 1,
      .comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY | MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE |
                   MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET,
      .response_length = sizeof driver,
      .cqe_version = 1,
      .cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
      .eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
      .log_uar_size = 12,
      .num_uars_per_page = 1,
      .num_dyn_bfregs = 256,
      .flow_action_flags = MLX5_USER_ALLOC_UCONTEXT_FLOW_ACTION_FLAGS_ESP_AES_GCM |
                           MLX5_USER_ALLOC_UCONTEXT_FLOW_ACTION_FLAGS_ESP_AES_GCM_SPI_STEERING,
      .clock_info_versions = 1 << MLX5_IB_CLOCK_INFO_V1,
      .dump_fill_mkey = NULL_KEY,
  };
  return driver;
}

static int get_context(struct call *call) {
  const struct mlx5_ib_alloc_ucontext_req_v2 *wanted = call->driver_in;
  struct mlx5_ib_alloc_ucontext_resp driver = mlx5_context_answer();
  struct context *context = call->context;
  if (call->driver_in_size < offsetof(struct mlx5_ib_alloc_ucontext_req_v2, flags) || !wanted->total_num_bfregs ||
      wanted->total_num_bfregs % 2 || wanted->total_num_bfregs > MAX_REGISTERS ||
      wanted->num_low_latency_bfregs >= wanted->total_num_bfregs) {
    return EINVAL;
  }
  context->registers = driver.tot_bfregs = wanted->total_num_bfregs;
  context->low_latency_registers = wanted->num_low_latency_bfregs;
  return answer_context(call, &driver, sizeof driver);
}

static struct ib_uverbs_query_device_resp attributes(struct context *context) {
  uint64_t guid = __builtin_bswap64(0x0200000000000001u + context->device);
  return (struct ib_uverbs_query_device_resp){
      .fw_ver = 16ull << 32 | 35ull << 16 | 1000,
      .node_guid = guid,
      .sys_image_guid = guid,
      .max_mr_size = UINT64_MAX,
      .page_size_cap = 0xfffff000,
      .vendor_id = 0x2c9,
      .vendor_part_id = 4121,
      .max_qp = 32768,
      .max_qp_wr = 32768,
      // Counters of bad P_Keys and Q_Keys, CURR_QP_STATE_MOD, PORT_ACTIVE_EVENT, SYS_IMAGE_GUID, RC_RNR_NAK_GEN,
      // MEM_WINDOW, XRC, MEM_WINDOW_TYPE_2B, RAW_IP_CSUM.
      .device_cap_flags = 1 << 1 | 1 << 2 | 1 << 7 | 1 << 10 | 1 << 11 | 1 << 12 | 1 << 17 | 1 << 20 | 1 << 24 | 1 << 26,
      .max_sge = 30,
      .max_sge_rd = 30,
      .max_cq = 32768,
      .max_cqe = MAX_CQE,
      .max_mr = 1 << 15,
      .max_pd = 32768,
      .max_qp_rd_atom = 16,
      .max_res_rd_atom = 16 * 32768,
      .max_qp_init_rd_atom = 16,
      .atomic_cap = 1,
      .max_mw = 1 << 15,
      .max_raw_ethy_qp = 32768,
      .max_mcast_grp = 256,
      .max_mcast_qp_attach = 48,
      .max_total_mcast_qp_attach = 256 * 48,
      .max_ah = INT32_MAX,
      .max_srq = 32768,
      .max_srq_wr = 32767,
      .max_srq_sge = 31,
      .max_pkeys = 1,
      .local_ca_ack_delay = 16,
      .phys_port_cnt = 1,
  };
}

static int query_device(struct call *call) {
  struct ib_uverbs_query_device_resp core = attributes(call->context);
  answer(call, &core, sizeof core);
  return 0;
}

static const uint64_t CC_DMA_BOUNCE = 1ull << 41;

static int query_device_ex(struct call *call) {
  struct ib_uverbs_ex_query_device_resp core = {
      .base = attributes(call->context),
      .response_length = sizeof core,
      .timestamp_mask = UINT64_MAX,
      .hca_core_clock = 1000000,
      .rss_caps = {.supported_qpts = 1 << RAW_PACKET,
                   .max_rwq_indirection_tables = 1024,
                   .max_rwq_indirection_table_size = 128},
      .max_wq_type_rq = 1024,
      .max_dm_size = DEVICE_MEMORY_BYTES,
      .tm_caps = {.max_rndv_hdr_size = 64, .max_num_tags = MAX_TAGS, .flags = 1, .max_ops = 32768, .max_sge = 1},
      .cq_moderation_caps = {.max_cq_moderation_count = 0xffff, .max_cq_moderation_period = MAX_CQ_PERIOD},
      .raw_packet_caps =
          IB_UVERBS_RAW_PACKET_CAP_CVLAN_STRIPPING | IB_UVERBS_RAW_PACKET_CAP_SCATTER_FCS | IB_UVERBS_RAW_PACKET_CAP_IP_CSUM,
  };
  core.device_cap_flags_ex = core.base.device_cap_flags | (type->bounces(call->context) ? CC_DMA_BOUNCE : 0);
  struct mlx5_ib_query_device_resp driver = {
      .response_length = sizeof driver,
      .rss_caps = {.rx_hash_fields_mask = 0xff, .rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ},
      .tso_caps = {.max_tso = 1 << 18, .supported_qpts = 1 << RAW_PACKET},
      .packet_pacing_caps = {.qp_rate_limit_min = LEAST_RATE,
                             .qp_rate_limit_max = MOST_RATE,
                             .supported_qpts = 1 << RAW_PACKET},
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
  bool down = call->context->port_down;
  struct ib_uverbs_query_port_resp out = {
      .port_cap_flags = 1 << 16 | 1 << 26, // communication management, IP-based GIDs
      .max_msg_sz = 1u << 30,
      .gid_tbl_len = PORT_GIDS,
      .pkey_tbl_len = 1,
      .state = down ? 1 : 4,
      .max_mtu = 5,
      .active_mtu = 5,
      .active_width = 2,
      .active_speed = 32,
      .phys_state = down ? 3 : 5,
      .link_layer = 2,
      .flags = 1, // a GRH is required
  };
  answer(call, &out, sizeof out);
  return 0;
}

static int alloc_pd(struct call *call) {
  struct object *pd = new_object(call->context, PD, sizeof *pd, 0);
  if (!pd) {
    return errno;
  }
  answer(call, &(struct ib_uverbs_alloc_pd_resp){.pd_handle = pd->handle}, sizeof(struct ib_uverbs_alloc_pd_resp));
  answer_driver(call, &(struct mlx5_ib_alloc_pd_resp){.pdn = pd->handle}, sizeof(struct mlx5_ib_alloc_pd_resp));
  return 0;
}

static int close_xrcd(struct call *call) { return destroy_handle(call, XRCD, *(const uint32_t *)call->in); }

bool mlx5_gid(int device, unsigned index, uint8_t *gid) {
  static const uint8_t gids[PORT_GIDS][16] = {
      {0xfe, 0x80, [8] = 0, 0, 0, 0xff, 0xfe, 0, 0, 1},
      {[10] = 0xff, 0xff, 10, 77, 0, 1},
      {0xfd, 0x77, [15] = 1},
  };
  if (index >= PORT_GIDS) {
    return false;
  }
  memcpy(gid, gids[index], 16);
  gid[15] += device;
  return true;
}

static int create_ah(struct call *call) {
  const struct ib_uverbs_create_ah *in = call->in;
  struct object *pd = find(call->context, PD, in->pd_handle);
  uint8_t own[16];
  if (!pd || !in->attr.is_global || !mlx5_gid(call->context->device, in->attr.grh.sgid_index, own)) {
    return EINVAL;
  }
  struct object *ah = new_object(call->context, AH, sizeof *ah + sizeof pd, in->user_handle);
  if (!ah) {
    return errno;
  }
  *(struct object **)(ah + 1) = pd;
  use(pd);
  struct mlx5_ib_create_ah_resp driver = {.response_length = sizeof driver, .dmac = {2, 0, 0, 0, 0, 1}};
  driver.dmac[5] = in->attr.grh.dgid[15];
  answer(call, &(struct ib_uverbs_create_ah_resp){.ah_handle = ah->handle}, sizeof(struct ib_uverbs_create_ah_resp));
  answer_driver(call, &driver, sizeof driver);
  return 0;
}

// Whether the device has access to the queue of a command and to its doorbell record; sets errno if it has not. They have to be in
// DMA buffers where it cannot use other memory, which takes an ioctl(2). The NIC, in this process, uses the addresses.
static bool can_use(const struct call *call, bool of_qp) {
  static const uint16_t queues[] = {ATTR_CREATE_CQ_BUFFER, ATTR_CREATE_QP_BUFFER};
  static const uint16_t records[] = {ATTR_CREATE_CQ_DOORBELL, ATTR_CREATE_QP_DOORBELL};
  if (!type->bounces(call->context)) {
    return true;
  }
  errno = EOPNOTSUPP;
  return call->header && is_in_dma_buffer(call->header, queues[of_qp]) && is_in_dma_buffer(call->header, records[of_qp]);
}

// Returns NULL and sets errno if it fails.
struct cq *new_cq(struct call *call, uint64_t user_handle, uint32_t entries, uint32_t vector, int channel,
                  uint32_t flags) {
  const struct mlx5_ib_create_cq *driver = call->driver_in;
  if (call->driver_in_size < sizeof *driver || vector >= COMPLETION_VECTORS || entries > MAX_CQE || entries & (entries + 1) ||
      (channel >= 0 && !is_channel(channel))) {
    errno = EINVAL;
    return NULL;
  }
  if (!can_use(call, false)) {
    return NULL;
  }
  struct cq *cq = new_object(call->context, CQ, sizeof *cq, user_handle);
  if (!cq) {
    return NULL;
  }
  cq->buffer = (char *)driver->buf_addr;
  cq->doorbell = (volatile uint32_t *)driver->db_addr;
  cq->entries = entries + 1;
  cq->entry_size = driver->cqe_size;
  cq->number = ++last_cqn & 0xffffff;
  cq->fired = cq->awaited = -1;
  cq->ignore_overrun = flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
  if (channel >= 0) {
    cq->channel = enter_channel(channel);
  }
  // Zero would be what arming for the first time writes.
  cq->doorbell[1] = UINT32_MAX;
  LINK(cq, all_cqs);
  answer_driver(call, &(struct mlx5_ib_create_cq_resp){.cqn = cq->number}, sizeof(struct mlx5_ib_create_cq_resp));
  return cq;
}

static int create_cq(struct call *call) {
  const struct ib_uverbs_create_cq *in = call->in;
  struct cq *cq = new_cq(call, in->user_handle, in->cqe, in->comp_vector, in->comp_channel, 0);
  if (!cq) {
    return errno;
  }
  answer(call, &(struct ib_uverbs_create_cq_resp){.cq_handle = cq->object.handle, .cqe = in->cqe},
         sizeof(struct ib_uverbs_create_cq_resp));
  return 0;
}

static int create_cq_ex(struct call *call) {
  const struct ib_uverbs_ex_create_cq *in = call->in;
  struct cq *cq = new_cq(call, in->user_handle, in->cqe, in->comp_vector, in->comp_channel, in->flags);
  if (!cq) {
    return errno;
  }
  struct ib_uverbs_ex_create_cq_resp out = {.base = {.cq_handle = cq->object.handle, .cqe = in->cqe},
                                            .response_length = sizeof out};
  answer(call, &out, sizeof out);
  return 0;
}

// As ib_uverbs_ex_modify_cq and mlx5_ib_modify_cq. Without a count or a period there is no moderation.
static int modify_cq(struct call *call) {
  const struct ib_uverbs_ex_modify_cq *in = call->in;
  struct cq *cq = find(call->context, CQ, in->cq_handle);
  if (!in->attr_mask || in->reserved) {
    return EINVAL;
  }
  if (in->attr_mask != IB_CQ_MODERATE) {
    return EOPNOTSUPP;
  }
  if (!cq || in->attr.cq_period > MAX_CQ_PERIOD) {
    return EINVAL;
  }
  cq->moderate_count = in->attr.cq_count;
  cq->moderate_ns = in->attr.cq_period * UINT64_C(1000);
  return 0;
}

static int resize_cq(struct call *call) {
  const struct ib_uverbs_resize_cq *in = call->in;
  const struct mlx5_ib_resize_cq *driver = call->driver_in;
  struct cq *cq = find(call->context, CQ, in->cq_handle);
  if (type->bounces(call->context)) {
    return EOPNOTSUPP;
  }
  if (!cq || call->driver_in_size < sizeof *driver || in->cqe > MAX_CQE || in->cqe & (in->cqe + 1) ||
      !cq_resize(cq, (char *)driver->buf_addr, in->cqe + 1)) {
    return EINVAL;
  }
  answer(call, &(struct ib_uverbs_resize_cq_resp){.cqe = in->cqe}, sizeof(struct ib_uverbs_resize_cq_resp));
  return 0;
}

// DCI and DCT are flags of the driver's part.
static int type_of(const struct call *call, int type) {
  const struct mlx5_ib_create_qp *driver = call->driver_in;
  if (type != DRIVER || call->driver_in_size < offsetof(struct mlx5_ib_create_qp, ece_options)) {
    return type;
  }
  switch (driver->flags & (MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_TYPE_DCT)) {
  case MLX5_QP_FLAG_TYPE_DCI:
    return DCI;
  case MLX5_QP_FLAG_TYPE_DCT:
    return DCT;
  default:
    return DRIVER;
  }
}

static void number(struct qp *qp) {
  qp->number = free_number(&last_qpn, (void **)qps);
  qps[qp->number] = qp;
}

// Another handle of an XRC target. Returns NULL and sets errno if it fails.
static struct opened *new_handle(struct context *context, struct qp *qp, struct object *xrcd, uint64_t user_handle) {
  struct opened *handle = new_object(context, OPENED, sizeof *handle, user_handle);
  if (handle) {
    use(handle->qp = qp);
    use(handle->xrcd = xrcd);
    LINK(handle, qp->handles);
  }
  return handle;
}

// The last handle takes the queue pair with it.
static void close_handle(struct opened *handle) {
  struct qp *qp = handle->qp;
  UNLINK(handle);
  unuse(handle->xrcd);
  unuse(qp);
  if (qp->handles) {
    qp->object.context = qp->handles->object.context;
  } else {
    destroy(&qp->object);
  }
}

// The handle that the creator of a queue pair has.
uint32_t handle_of(const struct qp *qp) { return qp->handles ? qp->handles->object.handle : qp->object.handle; }

// The queue pair that a handle names.
struct qp *find_qp(struct context *context, uint32_t handle) {
  struct opened *opened = find(context, OPENED, handle);
  return opened ? opened->qp : find(context, QP, handle);
}

int new_qp(struct call *call, const struct ib_uverbs_ex_create_qp *in, struct qp **result) {
  const struct mlx5_ib_create_qp *driver = call->driver_in;
  struct context *context = call->context;
  int type = type_of(call, in->qp_type);
  struct object *pd = find(context, PD, in->pd_handle);
  struct object *xrcd = type == XRC_TGT ? find(context, XRCD, in->pd_handle) : NULL;
  struct cq *send_cq = find(context, CQ, in->send_cq_handle), *recv_cq = find(context, CQ, in->recv_cq_handle);
  struct srq *srq = in->is_srq && type != XRC_TGT ? find(context, SRQ, in->srq_handle) : NULL;
  struct table *table = NULL;
  int error;
  if (in->comp_mask & IB_UVERBS_CREATE_QP_MASK_IND_TABLE) {
    table = find(context, TABLE, in->rwq_ind_tbl_handle);
    if (!table || type != RAW_PACKET || !pd) {
      return EINVAL;
    }
    error = check_spreading(call);
    if (error) {
      return error;
    }
    driver = NULL;
    send_cq = recv_cq = NULL;
  } else {
    if (type != RC && type != UC && type != UD && type != RAW_PACKET && type != XRC_INI && type != XRC_TGT &&
        type != DCI && type != DCT) {
      return EOPNOTSUPP;
    }
    if (in->create_flags & (IB_UVERBS_QP_CREATE_CVLAN_STRIPPING | IB_UVERBS_QP_CREATE_SCATTER_FCS) && type != RAW_PACKET) {
      return EOPNOTSUPP;
    }
    if ((type == DCT && !srq) || (type == DCI && (in->max_recv_wr || in->max_recv_sge))) {
      return EINVAL;
    }
    bool sends = type != XRC_TGT, receives = type != XRC_TGT && type != XRC_INI;
    if (call->driver_in_size < offsetof(struct mlx5_ib_create_qp, ece_options) || (type == XRC_TGT ? !xrcd : !pd) ||
        (sends && !send_cq) || (receives && !recv_cq) || (in->is_srq && type != XRC_TGT && !srq) ||
        in->max_send_sge > 30 || in->max_recv_sge > 30) {
      return EINVAL;
    }
    if (type == XRC_TGT || type == XRC_INI) {
      recv_cq = NULL;
    }
    if (type == XRC_TGT) {
      send_cq = NULL;
    }
    if (!can_use(call, true)) {
      return errno;
    }
  }
  struct qp *qp = new_object(context, QP, sizeof *qp, in->user_handle);
  if (!qp) {
    return errno;
  }
  if (type != DCT) {
    number(qp);
  }
  LINK(qp, all_qps);
  qp->type = type;
  qp->attributes = calloc(1, sizeof *qp->attributes);
  qp->signal_all = in->sq_sig_all;
  qp->strips_tag = in->create_flags & IB_UVERBS_QP_CREATE_CVLAN_STRIPPING;
  qp->scatters_fcs = in->create_flags & IB_UVERBS_QP_CREATE_SCATTER_FCS;
  qp->uidx = qp->number;
  memcpy(qp->caps, &in->max_send_wr, sizeof qp->caps);
  if (table) {
    const struct mlx5_ib_create_qp_rss *rss = call->driver_in;
    qp->hashed = rss->rx_hash_fields_mask;
    memcpy(qp->hash_key, rss->rx_hash_key, sizeof qp->hash_key);
  }
  if (driver) {
    qp->uidx = driver->uidx;
    qp->scatters = driver->flags & MLX5_QP_FLAG_SCATTER_CQE && (type == RC || type == UC);
    qp->access_key = type == DCT ? driver->access_key : 0;
    qp->doorbell = (volatile uint32_t *)driver->db_addr;
    char *buffer = (char *)driver->buf_addr;
    uint32_t receive_bytes = driver->rq_wqe_count << driver->rq_wqe_shift;
    if (driver->sq_wqe_count && type != XRC_TGT && type != DCT) {
      qp->sq_entries = driver->sq_wqe_count;
      qp->sq = driver->sq_buf_addr ? (char *)driver->sq_buf_addr : buffer + receive_bytes;
    }
    if (driver->rq_wqe_count && !srq && recv_cq && type != DCI) {
      qp->receives = (struct receives){.buffer = buffer,
                                       .doorbell = qp->doorbell,
                                       .entries = driver->rq_wqe_count,
                                       .shift = driver->rq_wqe_shift,
                                       .has_signature = driver->flags & MLX5_QP_FLAG_SIGNATURE};
    }
  }
  use(qp->pd = pd);
  use(qp->table = &table->object);
  use(qp->send_cq = send_cq);
  use(qp->recv_cq = recv_cq);
  use(qp->srq = srq);
  if (type == XRC_TGT && !new_handle(context, qp, xrcd, in->user_handle)) {
    destroy(&qp->object);
    return ENOMEM;
  }
  struct mlx5_ib_create_qp_resp out = {0};
  if (driver && driver->ece_options && call->driver_in_size >= sizeof *driver) {
    out.ece_options = ECE_OPTIONS;
  }
  if (driver && qp->sq) {
    if (driver->flags & (MLX5_QP_FLAG_BFREG_INDEX | MLX5_QP_FLAG_UAR_PAGE_INDEX)) {
      use_own_register(qp, driver->bfreg_index, driver->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX);
    } else {
      out.bfreg_index = choose_register(qp);
    }
  }
  answer_driver(call, &out, sizeof out);
  *result = qp;
  return 0;
}

static struct ib_uverbs_create_qp_resp qp_answer(struct qp *qp) {
  return (struct ib_uverbs_create_qp_resp){
      .qp_handle = handle_of(qp),
      .qpn = qp->number,
      .max_send_wr = qp->caps[0],
      .max_recv_wr = qp->caps[1],
      .max_send_sge = qp->caps[2],
      .max_recv_sge = qp->caps[3],
      .max_inline_data = qp->caps[4],
  };
}

static int create_qp(struct call *call) {
  const struct ib_uverbs_create_qp *in = call->in;
  struct ib_uverbs_ex_create_qp ex = {0};
  struct qp *qp;
  memcpy(&ex, &in->user_handle, offsetof(struct ib_uverbs_ex_create_qp, comp_mask));
  int error = new_qp(call, &ex, &qp);
  if (!error) {
    struct ib_uverbs_create_qp_resp out = qp_answer(qp);
    answer(call, &out, sizeof out);
  }
  return error;
}

static int create_qp_ex(struct call *call) {
  struct qp *qp;
  int error = new_qp(call, call->in, &qp);
  if (!error) {
    struct ib_uverbs_ex_create_qp_resp out = {.base = qp_answer(qp), .response_length = sizeof out};
    answer(call, &out, sizeof out);
  }
  return error;
}

// The transitions of DC: those of the kernel's modify_dci_qp_is_ok and mlx5_ib_modify_dct.
static int needed_dc(int type, enum state from, enum state to, uint32_t *optional) {
  *optional = A_STATE;
  if (from == RESET && to == INIT) {
    return A_PKEY | A_PORT | (type == DCT ? A_ACCESS : 0);
  }
  if (from == INIT && to == RTR) {
    *optional |= type == DCI ? A_PKEY | A_AV : 0;
    return A_MTU | (type == DCT ? A_AV | A_RNR_TIMER : 0);
  }
  if (type == DCT) {
    return -1; // It ends with its destruction.
  }
  if (to == RESET || (to == ERR && from != RESET)) {
    return 0;
  }
  if (from == INIT && to == INIT) {
    *optional |= A_PKEY | A_PORT;
    return 0;
  }
  if ((from == RTR || from == RTS) && to == RTS) {
    *optional |= A_RNR_TIMER;
    return from == RTR ? A_TIMEOUT | A_RETRY | A_RNR | A_MAX_RD | A_SQ_PSN : 0;
  }
  return -1;
}

// The attributes that a transition needs besides the state; InfiniBand specification, table 91.
static int needed(int type, enum state from, enum state to, uint32_t *optional) {
  bool reliable = type == RC || type == XRC_INI || type == XRC_TGT, connected = reliable || type == UC;
  bool initiates = type == RC || type == XRC_INI, responds = type == RC || type == XRC_TGT;
  if (type == DCI || type == DCT) {
    return needed_dc(type, from, to, optional);
  }
  *optional = A_STATE | A_CURRENT;
  if (to == RESET || to == ERR) {
    return 0;
  }
  if (to == INIT && (from == RESET || from == INIT)) {
    uint32_t mask = type == UD           ? A_PKEY | A_PORT | A_QKEY
                    : type == RAW_PACKET ? A_PORT
                                         : A_PKEY | A_PORT | A_ACCESS;
    if (from == INIT) {
      *optional |= mask;
      return 0;
    }
    return mask;
  }
  if (from == INIT && to == RTR) {
    *optional |= A_PKEY | (connected ? A_ALT | A_ACCESS : A_QKEY);
    return (connected ? A_AV | A_MTU | A_DEST | A_RQ_PSN : 0) | (responds ? A_MAX_DEST_RD | A_RNR_TIMER : 0);
  }
  if (from == RTR && to == RTS) {
    *optional |= A_RATE | (connected ? A_ALT | A_ACCESS | A_MIG : A_QKEY) | (responds ? A_RNR_TIMER : 0);
    return (type == RAW_PACKET ? 0 : A_SQ_PSN) | (initiates ? A_TIMEOUT | A_RETRY | A_RNR | A_MAX_RD : 0) |
           (type == XRC_TGT ? A_TIMEOUT : 0);
  }
  if ((from == RTS && to == RTS) || (from == SQE && to == RTS) || (from == SQD && to == RTS)) {
    *optional |= A_RATE | (connected ? A_ALT | A_ACCESS | A_MIG : A_QKEY) | (responds ? A_RNR_TIMER : 0);
    return 0;
  }
  if (from == RTS && to == SQD) {
    *optional |= A_SQD_NOTIFY;
    return 0;
  }
  if (from == SQD && to == SQD) {
    *optional |= A_PKEY | (connected ? A_AV | A_ALT | A_ACCESS | A_MIG : A_QKEY) |
                 (initiates ? A_TIMEOUT | A_RETRY | A_RNR | A_MAX_RD | A_PORT : 0) |
                 (responds ? A_MAX_DEST_RD | A_RNR_TIMER : 0);
    return 0;
  }
  return -1;
}

// Whether it is the command queue of a shared receive queue with tag matching, which libmlx5 connects to itself without a
// global route, as on InfiniBand.
static bool is_command_queue(const struct qp *qp, const struct ib_uverbs_modify_qp *in) {
  return qp->srq && qp->srq->tags && in->dest_qp_num == qp->number;
}

static int apply(struct context *context, const struct ib_uverbs_modify_qp *in, uint32_t in_rate) {
  struct qp *qp = find_qp(context, in->qp_handle);
  if (!qp || qp->table || (qp->type == DCT && !(in->attr_mask & A_STATE))) {
    return EINVAL;
  }
  uint32_t mask = in->attr_mask, optional;
  if (mask & A_CURRENT && in->cur_qp_state != qp->state) {
    return EINVAL;
  }
  enum state to = mask & A_STATE ? in->qp_state : qp->state;
  int required = needed(qp->type, qp->state, to, &optional);
  uint8_t own[16];
  if (required < 0 || (mask & required) != (uint32_t)required || mask & ~(required | optional) ||
      (mask & A_PORT && in->port_num != 1) || (mask & A_PKEY && in->pkey_index != 0) ||
      (mask & A_AV && !is_command_queue(qp, in) && (!in->dest.is_global || in->dest.port_num != 1 ||
                       !mlx5_gid(context->device, in->dest.sgid_index, own))) ||
      (mask & A_MTU && (in->path_mtu < 1 || in->path_mtu > 5)) || (mask & A_MAX_RD && in->max_rd_atomic > 16) ||
      (mask & A_MAX_DEST_RD && in->max_dest_rd_atomic > 16) || (mask & A_RATE && qp->type != RAW_PACKET) ||
      (mask & A_RATE && in_rate && (in_rate < LEAST_RATE || in_rate > MOST_RATE))) {
    return EINVAL;
  }
  qp->rate_limit = mask & A_RATE ? in_rate : qp->rate_limit;
  struct ib_uverbs_modify_qp *kept = qp->attributes;
#define KEEP(flag, field) \
  if (mask & (flag)) \
  kept->field = in->field
  KEEP(A_ACCESS, qp_access_flags);
  KEEP(A_PKEY, pkey_index);
  KEEP(A_PORT, port_num);
  KEEP(A_QKEY, qkey);
  KEEP(A_AV, dest);
  KEEP(A_MTU, path_mtu);
  KEEP(A_TIMEOUT, timeout);
  KEEP(A_RETRY, retry_cnt);
  KEEP(A_RNR, rnr_retry);
  KEEP(A_RQ_PSN, rq_psn);
  KEEP(A_MAX_RD, max_rd_atomic);
  KEEP(A_ALT, alt_dest);
  KEEP(A_ALT, alt_pkey_index);
  KEEP(A_ALT, alt_port_num);
  KEEP(A_ALT, alt_timeout);
  KEEP(A_RNR_TIMER, min_rnr_timer);
  KEEP(A_SQ_PSN, sq_psn);
  KEEP(A_MAX_DEST_RD, max_dest_rd_atomic);
  KEEP(A_MIG, path_mig_state);
  KEEP(A_DEST, dest_qp_num);
  kept->rq_psn &= 0xffffff;
  kept->sq_psn &= 0xffffff;
  if (to == ERR) {
    qp_enter_error(qp);
  }
  if (to == RESET) {
    qp_reset(qp);
    memset(kept, 0, sizeof *kept);
    qp->rate_limit = 0;
  }
  if (to == SQD && qp->state == RTS && in->attr_mask & A_SQD_NOTIFY && in->en_sqd_async_notify) {
    async_event(&qp->object, EVENT_SQ_DRAINED);
  }
  if (qp->type == DCT && to == RTR) {
    number(qp); // The device creates it now.
  }
  qp->state = to;
  return 0;
}

static int modify_qp(struct call *call) { return apply(call->context, call->in, 0); }

static int modify_qp_ex(struct call *call) {
  const struct ib_uverbs_ex_modify_qp *in = call->in;
  const struct mlx5_ib_modify_qp *options = call->driver_in;
  if (call->driver_in_size && // as mlx5_ib_modify_qp
      (call->driver_in_size < sizeof *options || options->comp_mask || options->burst_info.reserved)) {
    return call->driver_in_size < sizeof *options ? EINVAL : EOPNOTSUPP;
  }
  if (call->driver_in_size && (options->burst_info.max_burst_sz || options->burst_info.typical_pkt_sz)) {
    return EINVAL; // The device does not bound bursts.
  }
  int error = apply(call->context, &in->base, in->rate_limit);
  if (!error) {
    struct ib_uverbs_ex_modify_qp_resp out = {.response_length = sizeof out};
    struct qp *qp = find_qp(call->context, in->base.qp_handle);
    struct mlx5_ib_modify_qp_resp driver = {.response_length = sizeof driver,
                                            .dctn = qp->type == DCT ? qp->number : 0};
    if (call->driver_in_size && options->ece_options) {
      driver.ece_options = options->ece_options & ECE_OPTIONS;
    }
    answer(call, &out, sizeof out);
    answer_driver(call, &driver, sizeof driver);
  }
  return error;
}

static uint32_t receive_segments(const struct receives *receives) {
  return receives->entries ? (1u << receives->shift) / 16 - receives->has_signature : 0;
}

static int query_qp(struct call *call) {
  const struct ib_uverbs_query_qp *in = call->in;
  struct qp *qp = find_qp(call->context, in->qp_handle);
  if (!qp) {
    return EINVAL;
  }
  if (qp->type == DCT && // as mlx5_ib_dct_query_qp
      (qp->state != RTR ||
       in->attr_mask & ~(A_STATE | A_ACCESS | A_PORT | A_RNR_TIMER | A_AV | A_MTU | A_PKEY))) {
    return EINVAL;
  }
  struct ib_uverbs_modify_qp *kept = qp->attributes;
  struct ib_uverbs_query_qp_resp out = {
      .dest = kept->dest,
      .alt_dest = kept->alt_dest,
      // What the provider library has rounded up.
      .max_recv_wr = qp->receives.entries,
      .max_recv_sge = receive_segments(&qp->receives),
      .max_send_wr = qp->caps[0],
      .max_send_sge = qp->caps[2],
      .max_inline_data = qp->caps[4],
      .qkey = kept->qkey,
      .rq_psn = kept->rq_psn,
      .sq_psn = kept->sq_psn,
      .dest_qp_num = kept->dest_qp_num,
      .qp_access_flags = kept->qp_access_flags,
      .pkey_index = kept->pkey_index,
      .alt_pkey_index = kept->alt_pkey_index,
      .qp_state = qp->state,
      .cur_qp_state = qp->state,
      .path_mtu = kept->path_mtu,
      .path_mig_state = kept->path_mig_state,
      .max_rd_atomic = kept->max_rd_atomic,
      .max_dest_rd_atomic = kept->max_dest_rd_atomic,
      .min_rnr_timer = kept->min_rnr_timer,
      .port_num = kept->port_num,
      .timeout = kept->timeout,
      .retry_cnt = kept->retry_cnt,
      .rnr_retry = kept->rnr_retry,
      .alt_port_num = kept->alt_port_num,
      .alt_timeout = kept->alt_timeout,
      .sq_sig_all = qp->signal_all,
  };
  answer(call, &out, sizeof out);
  return 0;
}

static int attach(struct call *call, bool join) {
  const struct ib_uverbs_attach_mcast *in = call->in;
  struct qp *qp = find_qp(call->context, in->qp_handle);
  static const uint8_t ipv4[12] = {[10] = 0xff, 0xff};
  bool multicast = in->gid[0] == 0xff || (!memcmp(in->gid, ipv4, 12) && in->gid[12] >> 4 == 0xe);
  if (!qp || qp->type != UD || !multicast) {
    return EINVAL;
  }
  struct group **at = &qp->groups;
  while (*at && memcmp((*at)->gid, in->gid, 16)) {
    at = &(*at)->next;
  }
  if (join && !*at) {
    *at = calloc(1, sizeof **at);
    memcpy((*at)->gid, in->gid, 16);
  } else if (!join) {
    if (!*at) {
      return EINVAL;
    }
    struct group *gone = *at;
    *at = gone->next;
    free(gone);
  }
  return 0;
}

static int attach_mcast(struct call *call) { return attach(call, true); }
static int detach_mcast(struct call *call) { return attach(call, false); }

static int new_srq(struct call *call, uint64_t user_handle, struct object *pd, uint32_t max_wr, uint32_t max_sge,
                   uint32_t limit, struct object *xrcd, struct cq *cq, bool matches_tags) {
  const struct mlx5_ib_create_srq *driver = call->driver_in;
  if (!pd || call->driver_in_size < offsetof(struct mlx5_ib_create_srq, uidx) || max_wr > 32767 || max_sge > 31) {
    return EINVAL;
  }
  if (type->bounces(call->context)) {
    return EOPNOTSUPP;
  }
  struct tag *tags = matches_tags ? calloc(MAX_TAGS + 1, sizeof *tags) : NULL;
  if (matches_tags && !tags) {
    return ENOMEM;
  }
  struct srq *srq = new_object(call->context, SRQ, sizeof *srq, user_handle);
  if (!srq) {
    free(tags);
    return errno;
  }
  uint32_t bytes = 16 + 16 * max_sge, shift = 5;
  while (1u << shift < bytes) {
    shift++;
  }
  srq->number = free_number(&last_srqn, (void **)srqs);
  srqs[srq->number] = srq;
  srq->uidx = driver->uidx;
  srq->max_wr = max_wr;
  srq->max_sge = max_sge;
  srq->limit = limit;
  // How many entries the buffer has does not matter: they are linked.
  srq->receives = (struct receives){.buffer = (char *)driver->buf_addr,
                                    .doorbell = (volatile uint32_t *)driver->db_addr,
                                    .entries = 1 << 16,
                                    .shift = shift,
                                    .linked = true};
  use(srq->pd = pd);
  use(srq->xrcd = xrcd);
  use(srq->cq = cq);
  srq->tags = tags;
  struct ib_uverbs_create_srq_resp out = {
      .srq_handle = srq->object.handle, .max_wr = max_wr, .max_sge = max_sge, .srqn = srq->number};
  answer(call, &out, sizeof out);
  answer_driver(call, &(struct mlx5_ib_create_srq_resp){.srqn = srq->number}, sizeof(struct mlx5_ib_create_srq_resp));
  return 0;
}

static int create_srq(struct call *call) {
  const struct ib_uverbs_create_srq *in = call->in;
  return new_srq(call, in->user_handle, find(call->context, PD, in->pd_handle), in->max_wr, in->max_sge, in->srq_limit,
                 NULL, NULL, false);
}

static int create_xsrq(struct call *call) {
  const struct ib_uverbs_create_xsrq *in = call->in;
  if (in->srq_type == 0) {
    return new_srq(call, in->user_handle, find(call->context, PD, in->pd_handle), in->max_wr, in->max_sge,
                   in->srq_limit, NULL, NULL, false);
  }
  struct object *xrcd = find(call->context, XRCD, in->xrcd_handle);
  struct cq *cq = find(call->context, CQ, in->cq_handle);
  if (in->srq_type == 2) { // tag matching
    return cq && in->max_num_tags && in->max_num_tags <= MAX_TAGS
               ? new_srq(call, in->user_handle, find(call->context, PD, in->pd_handle), in->max_wr, in->max_sge,
                         in->srq_limit, NULL, cq, true)
               : EINVAL;
  }
  if (in->srq_type != 1) {
    return EOPNOTSUPP;
  }
  return xrcd && cq ? new_srq(call, in->user_handle, find(call->context, PD, in->pd_handle), in->max_wr, in->max_sge,
                              in->srq_limit, xrcd, cq, false)
                    : EINVAL;
}

static int modify_srq(struct call *call) {
  const struct ib_uverbs_modify_srq *in = call->in;
  struct srq *srq = find(call->context, SRQ, in->srq_handle);
  if (!srq || in->attr_mask & 1) { // its size
    return EINVAL;
  }
  if (in->attr_mask & 2) {
    if (in->srq_limit >= srq->max_wr) {
      return EINVAL;
    }
    srq->limit = in->srq_limit;
    if (srq->limit && (uint16_t)(__builtin_bswap32(*srq->receives.doorbell) - srq->receives.consumer) < srq->limit) {
      srq->limit = 0;
      async_event(&srq->object, EVENT_SRQ_LIMIT_REACHED);
    }
  }
  return 0;
}

static int query_srq(struct call *call) {
  const struct ib_uverbs_query_srq *in = call->in;
  struct srq *srq = find(call->context, SRQ, in->srq_handle);
  if (!srq) {
    return EINVAL;
  }
  struct ib_uverbs_query_srq_resp out = {.max_wr = srq->max_wr, .max_sge = srq->max_sge, .srq_limit = srq->limit};
  answer(call, &out, sizeof out);
  return 0;
}

static int destroy_srq(struct call *call) {
  const struct ib_uverbs_destroy_srq *in = call->in;
  struct srq *srq = find(call->context, SRQ, in->srq_handle);
  if (!srq) {
    return EINVAL;
  }
  struct ib_uverbs_destroy_srq_resp out = {srq->object.async_reported};
  int error = destroy(&srq->object);
  if (!error) {
    answer(call, &out, sizeof out);
  }
  return error;
}

// Whether a domain of this device is open that the file names.
static bool is_xrcd_open(int device, const struct stat *file) {
  struct xrcd *xrcd = all_xrcds;
  while (xrcd && (xrcd->object.context->device != device || xrcd->file != file->st_ino || xrcd->device != file->st_dev)) {
    xrcd = xrcd->next;
  }
  return xrcd;
}

static int open_xrcd(struct call *call) {
  const struct ib_uverbs_open_xrcd *in = call->in;
  struct stat file = {0};
  if (in->fd != UINT32_MAX) {
    if (fstat((int)in->fd, &file)) {
      return EBADF;
    }
    bool open = is_xrcd_open(call->context->device, &file);
    if (open ? in->oflags & O_EXCL : !(in->oflags & O_CREAT)) {
      return open ? EINVAL : EAGAIN;
    }
  }
  struct xrcd *xrcd = new_object(call->context, XRCD, sizeof *xrcd, 0);
  if (!xrcd) {
    return errno;
  }
  xrcd->device = file.st_dev;
  xrcd->file = file.st_ino;
  LINK(xrcd, all_xrcds);
  answer(call, &(struct ib_uverbs_open_xrcd_resp){.xrcd_handle = xrcd->object.handle},
         sizeof(struct ib_uverbs_open_xrcd_resp));
  return 0;
}

static bool is_same_domain(const struct object *a, const struct object *b) {
  const struct xrcd *first = (const struct xrcd *)a, *second = (const struct xrcd *)b;
  return a == b || (first->file && first->file == second->file && first->device == second->device &&
                    a->context->device == b->context->device);
}

// As ib_uverbs_open_qp and ib_open_qp.
static int open_qp(struct call *call) {
  const struct ib_uverbs_open_qp *in = call->in;
  struct object *xrcd = find(call->context, XRCD, in->pd_handle);
  struct qp *qp = in->qp_type == XRC_TGT ? qp_numbered(in->qpn) : NULL;
  if (!xrcd || !qp || !qp->handles || !is_same_domain(qp->handles->xrcd, xrcd)) {
    return EINVAL;
  }
  struct opened *handle = new_handle(call->context, qp, xrcd, in->user_handle);
  if (!handle) {
    return errno;
  }
  struct ib_uverbs_create_qp_resp out = {.qp_handle = handle->object.handle, .qpn = qp->number};
  answer(call, &out, sizeof out);
  return 0;
}

// --- clocks ---

// The register of the device's clock: a page that programs map. It shows the time of the last sweep or completion.
static struct {
  int file;
  volatile uint64_t *time; // NULL: nobody has mapped it
} clock_register;

uint64_t tick(void) {
  uint64_t now = now_ns();
  if (clock_register.time) {
    *clock_register.time = htobe64(now);
  }
  return now;
}

static void *map_clock(size_t length) {
  if (!clock_register.time) {
    int file = memfd_create("emulated-mlx5-clock", MFD_CLOEXEC);
    void *page = file < 0 || ftruncate(file, PAGE)
                     ? MAP_FAILED
                     : (void *)syscall(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) {
      if (file >= 0) {
        close(file);
      }
      return page;
    }
    clock_register.file = file;
    clock_register.time = page;
    tick();
  }
  if (length > PAGE) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, NULL, length, PROT_READ, MAP_SHARED, clock_register.file, 0);
}

// How the time stamps of completions, in nanoseconds, become those of the real-time clock.
static struct mlx5_ib_clock_info clock_info(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (struct mlx5_ib_clock_info){
      .nsec = now.tv_sec * UINT64_C(1000000000) + now.tv_nsec, .cycles = now_ns(), .mult = 1, .mask = UINT64_MAX};
}

bool is_device_memory(uint64_t offset, unsigned *page) {
  uint64_t pages = offset / PAGE;
  *page = (pages & 0xff) | (pages >> 16 & 0xff) << 8;
  return !(offset % PAGE) && !(pages >> 24) && (pages >> 8 & 0xff) == MLX5_IB_MMAP_DEVICE_MEM;
}

// All that libmlx5 maps is ordinary memory.
static void *map(struct context *context, size_t length, int protection, off_t offset) {
  unsigned page, command = offset / PAGE >> 8 & 0xff;
  if (is_device_memory(offset, &page)) {
    return map_device_memory(context->device, page, length, protection);
  }
  if (command == MLX5_IB_MMAP_CORE_CLOCK) {
    return map_clock(length);
  }
  if (command == MLX5_IB_MMAP_REGULAR_PAGE || command == MLX5_IB_MMAP_WC_PAGE || command == MLX5_IB_MMAP_NC_PAGE ||
      command == MLX5_IB_MMAP_ALLOC_WC) {
    return map_registers(context, command, (offset / PAGE & 0xff) | (offset / PAGE >> 16 & 0xff) << 8, length);
  }
  void *memory = mmap_memory(length);
  if (memory != MAP_FAILED && command == MLX5_IB_MMAP_CLOCK_INFO) {
    *(struct mlx5_ib_clock_info *)memory = clock_info();
  }
  return memory;
}

// Of the third device, which a confidential machine has: it cannot read or write the machine's private memory.
static bool bounces(const struct context *context) { return context->device == 2; }

const struct type mlx5 = {
    .name = "mlx5",
    .commands =
        {
        COMMAND(IB_USER_VERBS_CMD_GET_CONTEXT, get_context, ib_uverbs_get_context, ib_uverbs_get_context_resp),
        COMMAND(IB_USER_VERBS_CMD_QUERY_DEVICE, query_device, ib_uverbs_query_device, ib_uverbs_query_device_resp),
        COMMAND(IB_USER_VERBS_CMD_QUERY_PORT, query_port, ib_uverbs_query_port, ib_uverbs_query_port_resp),
        COMMAND(IB_USER_VERBS_CMD_ALLOC_PD, alloc_pd, ib_uverbs_alloc_pd, ib_uverbs_alloc_pd_resp),
        SILENT(IB_USER_VERBS_CMD_DEALLOC_PD, dealloc_pd, ib_uverbs_dealloc_pd),
        COMMAND(IB_USER_VERBS_CMD_CREATE_AH, create_ah, ib_uverbs_create_ah, ib_uverbs_create_ah_resp),
        SILENT(IB_USER_VERBS_CMD_DESTROY_AH, destroy_ah, ib_uverbs_destroy_ah),
        COMMAND(IB_USER_VERBS_CMD_REG_MR, reg_mr, ib_uverbs_reg_mr, ib_uverbs_reg_mr_resp),
        COMMAND(IB_USER_VERBS_CMD_REREG_MR, rereg_mr, ib_uverbs_rereg_mr, ib_uverbs_rereg_mr_resp),
        SILENT(IB_USER_VERBS_CMD_DEREG_MR, dereg_mr, ib_uverbs_dereg_mr),
        COMMAND(IB_USER_VERBS_CMD_ALLOC_MW, alloc_mw, ib_uverbs_alloc_mw, ib_uverbs_alloc_mw_resp),
        SILENT(IB_USER_VERBS_CMD_DEALLOC_MW, dealloc_mw, ib_uverbs_dealloc_mw),
        COMMAND(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, create_comp_channel, ib_uverbs_create_comp_channel,
                ib_uverbs_create_comp_channel_resp),
        COMMAND(IB_USER_VERBS_CMD_CREATE_CQ, create_cq, ib_uverbs_create_cq, ib_uverbs_create_cq_resp),
        COMMAND(IB_USER_VERBS_CMD_RESIZE_CQ, resize_cq, ib_uverbs_resize_cq, ib_uverbs_resize_cq_resp),
        COMMAND(IB_USER_VERBS_CMD_DESTROY_CQ, destroy_cq, ib_uverbs_destroy_cq, ib_uverbs_destroy_cq_resp),
        COMMAND(IB_USER_VERBS_CMD_CREATE_QP, create_qp, ib_uverbs_create_qp, ib_uverbs_create_qp_resp),
        COMMAND(IB_USER_VERBS_CMD_QUERY_QP, query_qp, ib_uverbs_query_qp, ib_uverbs_query_qp_resp),
        SILENT(IB_USER_VERBS_CMD_MODIFY_QP, modify_qp, ib_uverbs_modify_qp),
        COMMAND(IB_USER_VERBS_CMD_DESTROY_QP, destroy_qp, ib_uverbs_destroy_qp, ib_uverbs_destroy_qp_resp),
        SILENT(IB_USER_VERBS_CMD_ATTACH_MCAST, attach_mcast, ib_uverbs_attach_mcast),
        SILENT(IB_USER_VERBS_CMD_DETACH_MCAST, detach_mcast, ib_uverbs_detach_mcast),
        COMMAND(IB_USER_VERBS_CMD_CREATE_SRQ, create_srq, ib_uverbs_create_srq, ib_uverbs_create_srq_resp),
        SILENT(IB_USER_VERBS_CMD_MODIFY_SRQ, modify_srq, ib_uverbs_modify_srq),
        COMMAND(IB_USER_VERBS_CMD_QUERY_SRQ, query_srq, ib_uverbs_query_srq, ib_uverbs_query_srq_resp),
        COMMAND(IB_USER_VERBS_CMD_DESTROY_SRQ, destroy_srq, ib_uverbs_destroy_srq, ib_uverbs_destroy_srq_resp),
        COMMAND(IB_USER_VERBS_CMD_OPEN_XRCD, open_xrcd, ib_uverbs_open_xrcd, ib_uverbs_open_xrcd_resp),
        COMMAND(IB_USER_VERBS_CMD_OPEN_QP, open_qp, ib_uverbs_open_qp, ib_uverbs_create_qp_resp),
        SILENT(IB_USER_VERBS_CMD_CLOSE_XRCD, close_xrcd, ib_uverbs_close_xrcd),
        COMMAND(IB_USER_VERBS_CMD_CREATE_XSRQ, create_xsrq, ib_uverbs_create_xsrq, ib_uverbs_create_srq_resp),
        },
    .extended =
        {
        [IB_USER_VERBS_EX_CMD_QUERY_DEVICE] = {query_device_ex, 0, 0},
        [IB_USER_VERBS_EX_CMD_CREATE_CQ] = {create_cq_ex, 0, 0},
        [IB_USER_VERBS_EX_CMD_CREATE_QP] = {create_qp_ex, 0, 0},
        [IB_USER_VERBS_EX_CMD_MODIFY_QP] = {modify_qp_ex, 0, 0},
        [IB_USER_VERBS_EX_CMD_CREATE_FLOW] = {create_flow, 0, 0},
        [IB_USER_VERBS_EX_CMD_DESTROY_FLOW] = {destroy_flow, 0, 0},
        [IB_USER_VERBS_EX_CMD_CREATE_WQ] = {create_wq, 0, 0},
        [IB_USER_VERBS_EX_CMD_MODIFY_WQ] = {modify_wq, 0, 0},
        [IB_USER_VERBS_EX_CMD_DESTROY_WQ] = {destroy_wq, 0, 0},
        [IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL] = {create_table, 0, 0},
        [IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL] = {destroy_table, 0, 0},
        [IB_USER_VERBS_EX_CMD_MODIFY_CQ] = {modify_cq, 0, 0},
        },
    .control = mlx5_control,
    .destroy = destroy_object,
    .map = map,
    .gid = mlx5_gid,
    .bounces = bounces,
    .sweep = mlx5_sweep,
};

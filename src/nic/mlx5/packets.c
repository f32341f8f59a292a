// Packets of Ethernet: work queues and tables of RSS, flow rules, and which queue receives a packet.
#define _GNU_SOURCE
#include "mlx5.h"

#include <endian.h>
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <stddef.h>
#include <string.h>

struct flow *flows[64];

// --- headers ---

struct headers headers_of(const struct pieces *packet) {
  struct headers headers = {0};
  struct pieces copied = {0};
  add_bytes(&copied, headers.bytes, sizeof headers.bytes);
  copy(&copied, 0, packet);
  headers.type = headers.bytes[12] == 0x81 && headers.bytes[13] == 0 ? 16 : 12;
  const uint8_t *type = headers.bytes + headers.type, *ip = type + 2;
  headers.ipv6 = type[0] == 0x86 && type[1] == 0xdd;
  if (!headers.ipv6 && (type[0] != 8 || type[1] != 0)) {
    return headers;
  }
  headers.network = headers.type + 2;
  uint8_t protocol = headers.ipv6 ? ip[6] : ip[9];
  headers.tcp = protocol == 6;
  unsigned transport = headers.network + (headers.ipv6 ? 40 : 4u * (ip[0] & 0xf));
  if ((headers.tcp || protocol == 17) && packet->length >= transport + (headers.tcp ? 20 : 8)) {
    headers.transport = transport;
  }
  if (protocol == 50 && packet->length >= transport + 8) {
    headers.security = transport;
  }
  return headers;
}

// --- flow rules ---

// What a specification of a rule compares; struct ib_uverbs_flow_*_filter.
enum layer { LINK, TAG, TYPE, NETWORK, TRANSPORT, SECURITY };

static const struct field {
  uint32_t spec;
  uint8_t at, length; // in the filter
  enum layer layer;
  uint8_t offset; // in the header
} fields[] = {
    {SPEC_ETHERNET, 0, 6, LINK, 0}, // destination, source, Ethertype, tag
    {SPEC_ETHERNET, 6, 6, LINK, 6},
    {SPEC_ETHERNET, 12, 2, TYPE, 0},
    {SPEC_ETHERNET, 14, 2, TAG, 0},
    {SPEC_IPV4, 0, 4, NETWORK, 12}, // source, destination, protocol, type of service, time to live
    {SPEC_IPV4, 4, 4, NETWORK, 16},
    {SPEC_IPV4, 8, 1, NETWORK, 9},
    {SPEC_IPV4, 9, 1, NETWORK, 1},
    {SPEC_IPV4, 10, 1, NETWORK, 8},
    {SPEC_IPV6, 0, 16, NETWORK, 8}, // source, destination, flow label, next header, hop limit
    {SPEC_IPV6, 16, 16, NETWORK, 24},
    {SPEC_IPV6, 32, 4, NETWORK, 0},
    {SPEC_IPV6, 36, 1, NETWORK, 6},
    {SPEC_IPV6, 38, 1, NETWORK, 7},
    {SPEC_ESP, 0, 4, SECURITY, 0}, // security parameters index
    {SPEC_TCP, 0, 2, TRANSPORT, 2}, // destination, source
    {SPEC_TCP, 2, 2, TRANSPORT, 0},
    {SPEC_UDP, 0, 2, TRANSPORT, 2},
    {SPEC_UDP, 2, 2, TRANSPORT, 0},
};
enum { FIELDS = sizeof fields / sizeof *fields };

// The size of the filter of a kind of specification; 0: not emulated.
static unsigned filter_bytes(uint32_t spec) {
  switch (spec) {
  case SPEC_ETHERNET:
    return sizeof(struct ib_uverbs_flow_eth_filter);
  case SPEC_IPV4:
    return sizeof(struct ib_uverbs_flow_ipv4_filter);
  case SPEC_IPV6:
    return sizeof(struct ib_uverbs_flow_ipv6_filter);
  case SPEC_ESP:
    return sizeof(struct ib_uverbs_flow_spec_esp_filter);
  case SPEC_TCP:
  case SPEC_UDP:
    return sizeof(struct ib_uverbs_flow_tcp_udp_filter);
  default:
    return 0;
  }
}

// Whether all that a mask selects is compared.
static bool is_compared(const struct spec *spec) {
  uint8_t rest[sizeof spec->mask];
  memcpy(rest, spec->mask, sizeof rest);
  for (unsigned i = 0; i < FIELDS; i++) {
    if (fields[i].spec == spec->type) {
      memset(rest + fields[i].at, 0, fields[i].length);
    }
  }
  for (unsigned i = 0; i < sizeof rest; i++) {
    if (rest[i]) {
      return false;
    }
  }
  return true;
}

// In the header the traffic class of IPv6 is in the 32 bits of the flow label.
static void join_traffic_class(uint8_t *filter) {
  struct ib_uverbs_flow_ipv6_filter *ipv6 = (void *)filter;
  ipv6->flow_label |= htobe32((uint32_t)ipv6->traffic_class << 20);
  ipv6->traffic_class = 0;
}

static int read_specs(struct context *context, struct flow *flow, const struct ib_uverbs_create_flow *in, size_t size) {
  const char *at = (const char *)(in + 1), *end = (const char *)in + size;
  if (in->flow_attr.num_of_specs > MAX_SPECS) {
    return EINVAL;
  }
  for (unsigned i = 0; i < in->flow_attr.num_of_specs; i++) {
    const struct ib_uverbs_flow_spec_hdr *header = (const void *)at;
    if (at + sizeof(struct ib_uverbs_flow_spec_action_tag) <= end && header->type == SPEC_TAG) {
      flow->tag = ((const struct ib_uverbs_flow_spec_action_tag *)header)->tag_id;
      if (flow->tag >> 24) {
        return EINVAL;
      }
      at += header->size;
      continue;
    }
    if (at + sizeof(struct ib_uverbs_flow_spec_action_handle) <= end && header->type == SPEC_ACTION) {
      uint32_t handle = ((const struct ib_uverbs_flow_spec_action_handle *)header)->handle;
      if (header->size != sizeof(struct ib_uverbs_flow_spec_action_handle) || flow->action ||
          !(flow->action = find(context, ACTION, handle))) {
        return EINVAL;
      }
      at += header->size;
      continue;
    }
    if (at + sizeof(struct ib_uverbs_flow_spec_action_drop) <= end && header->type == SPEC_DROP) {
      if (header->size != sizeof(struct ib_uverbs_flow_spec_action_drop)) {
        return EINVAL;
      }
      flow->drops = true;
      at += header->size;
      continue;
    }
    if (at + sizeof(struct ib_uverbs_flow_spec_action_count) <= end && header->type == SPEC_COUNT) {
      struct counters *counters =
          find(context, COUNTERS, ((const struct ib_uverbs_flow_spec_action_count *)header)->handle);
      if (header->size != sizeof(struct ib_uverbs_flow_spec_action_count) || !counters || flow->counters) {
        return EINVAL;
      }
      flow->counters = counters;
      at += header->size;
      continue;
    }
    struct spec *spec = &flow->specs[flow->count];
    unsigned bytes = at + sizeof *header <= end ? filter_bytes(spec->type = header->type) : 0;
    if (!bytes || header->size != sizeof *header + 2 * bytes || at + header->size > end) {
      return EOPNOTSUPP;
    }
    memcpy(spec->value, header + 1, bytes);
    memcpy(spec->mask, (const char *)(header + 1) + bytes, bytes);
    if (spec->type == SPEC_IPV6) {
      join_traffic_class(spec->value);
      join_traffic_class(spec->mask);
    }
    if (!is_compared(spec)) {
      return EOPNOTSUPP;
    }
    at += header->size;
    flow->count++;
  }
  return 0;
}

// A rule that decrypts has to.
static bool matches_index(const struct flow *flow) {
  static const uint8_t none[4];
  for (unsigned i = 0; i < flow->count; i++) {
    if (flow->specs[i].type == SPEC_ESP && memcmp(flow->specs[i].mask, none, sizeof none)) {
      return true;
    }
  }
  return false;
}

// The counters' places come with the first rule that they are bound to: flow_counters_set_data of the kernel's driver.
static int bind_counters(const struct call *call, struct counters *counters) {
  const struct mlx5_ib_create_flow *in = call->driver_in;
  if (call->driver_in_size && call->driver_in_size < sizeof *in) {
    return EOPNOTSUPP;
  }
  unsigned data = call->driver_in_size ? in->ncounters_data : 0;
  if (data > 1) {
    return EINVAL;
  }
  if (!counters) {
    return 0;
  }
  if (!data) {
    return counters->values ? 0 : EINVAL;
  }
  if (call->driver_in_size < sizeof *in + sizeof *in->data || in->data->ncounters > MAX_COUNTERS || counters->values) {
    return EINVAL;
  }
  const struct mlx5_ib_flow_counters_desc *places = (const void *)(uintptr_t)in->data->counters_data;
  for (unsigned i = 0; i < in->data->ncounters; i++) {
    if (places[i].description > COUNTED_BYTES || places[i].index == UINT32_MAX) {
      return EINVAL;
    }
  }
  counters->count = in->data->ncounters;
  for (unsigned i = 0; i < counters->count; i++) {
    counters->places[i].counted = places[i].description;
    counters->places[i].index = places[i].index;
    counters->values = counters->values <= places[i].index ? places[i].index + 1 : counters->values;
  }
  return 0;
}

int create_counters(struct context *context, struct counters **result) {
  *result = new_object(context, COUNTERS, sizeof **result, 0);
  return *result ? 0 : errno;
}

// As the kernel's handler and mlx5_ib_read_counters: without a rule there is nothing to read.
int read_counters(const struct counters *counters, uint64_t *values, size_t count) {
  if (!counters->object.users || counters->values > count) {
    return EINVAL;
  }
  memset(values, 0, count * sizeof *values);
  for (unsigned i = 0; i < counters->count; i++) {
    values[counters->places[i].index] += counters->counted[counters->places[i].counted];
  }
  return 0;
}

int create_flow(struct call *call) {
  const struct ib_uverbs_create_flow *in = call->in;
  struct qp *qp = find(call->context, QP, in->qp_handle);
  if (!qp || (qp->type != RAW_PACKET && qp->type != UD)) {
    return EINVAL;
  }
  if (in->flow_attr.flags) { // packets that are sent, and rules that also pass packets on
    return EOPNOTSUPP;
  }
  struct flow read = {.type = in->flow_attr.type, .priority = in->flow_attr.priority};
  int error = read.type > SNIFFER ? EOPNOTSUPP : read_specs(call->context, &read, in, call->in_size);
  if (!error && read.action && !matches_index(&read)) {
    error = EINVAL;
  }
  if (error) {
    return error == EINVAL ? EINVAL : unknown_call("flow of other kinds of packets or actions%.0u%.0u", 0, 0);
  }
  unsigned i = 0;
  while (i < 64 && flows[i]) {
    i++;
  }
  if (i == 64) {
    return ENOSPC;
  }
  error = bind_counters(call, read.counters); // Last: it changes them.
  if (error) {
    return error;
  }
  struct flow *flow = new_object(call->context, FLOW, sizeof *flow, 0);
  if (!flow) {
    return errno;
  }
  flow->type = read.type;
  flow->tag = read.tag;
  flow->priority = read.priority;
  flow->drops = read.drops;
  use(flow->counters = read.counters);
  flow->count = read.count;
  memcpy(flow->specs, read.specs, sizeof flow->specs);
  use(flow->qp = qp);
  use(flow->action = read.action);
  flows[i] = flow;
  answer(call, &(struct ib_uverbs_create_flow_resp){.flow_handle = flow->object.handle},
         sizeof(struct ib_uverbs_create_flow_resp));
  return 0;
}

int destroy_flow(struct call *call) {
  return destroy_handle(call, FLOW, ((const struct ib_uverbs_destroy_flow *)call->in)->flow_handle);
}

// Where a layer of a packet begins, or NULL if it has none of the kind of the specification.
static const uint8_t *layer_of(const struct headers *headers, uint32_t spec, enum layer layer) {
  switch (layer) {
  case TAG:
    return headers->type > 12 ? headers->bytes + 14 : NULL;
  case TYPE:
    return headers->bytes + headers->type;
  case NETWORK:
    return headers->network && headers->ipv6 == (spec == SPEC_IPV6) ? headers->bytes + headers->network : NULL;
  case TRANSPORT:
    return headers->transport && headers->tcp == (spec == SPEC_TCP) ? headers->bytes + headers->transport : NULL;
  case SECURITY:
    return headers->security ? headers->bytes + headers->security : NULL;
  default:
    return headers->bytes;
  }
}

static bool matches_field(const struct spec *spec, const struct field *field, const struct headers *headers) {
  const uint8_t *header = layer_of(headers, spec->type, field->layer);
  for (unsigned i = 0; i < field->length; i++) {
    uint8_t mask = spec->mask[field->at + i];
    if (header ? (header[field->offset + i] ^ spec->value[field->at + i]) & mask : mask || field->layer != TAG) {
      return false;
    }
  }
  return true;
}

bool matches(const struct flow *flow, const struct headers *headers) {
  for (unsigned s = 0; s < flow->count; s++) {
    for (unsigned i = 0; i < FIELDS; i++) {
      if (fields[i].spec == flow->specs[s].type && !matches_field(&flow->specs[s], &fields[i], headers)) {
        return false;
      }
    }
  }
  return true;
}

// --- receive side scaling ---

// What a kernel refuses: keys of another length, and fields of two protocols of one layer.
int check_spreading(const struct call *call) {
  enum {
    IPV4 = MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4,
    IPV6 = MLX5_RX_HASH_SRC_IPV6 | MLX5_RX_HASH_DST_IPV6,
    TCP = MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_DST_PORT_TCP,
    UDP = MLX5_RX_HASH_SRC_PORT_UDP | MLX5_RX_HASH_DST_PORT_UDP,
  };
  const struct mlx5_ib_create_qp_rss *rss = call->driver_in;
  if (call->driver_in_size < offsetof(struct mlx5_ib_create_qp_rss, comp_mask)) {
    return EINVAL;
  }
  uint64_t fields = rss->rx_hash_fields_mask;
  if (rss->rx_hash_function != MLX5_RX_HASH_FUNC_TOEPLITZ || fields & ~(uint64_t)(IPV4 | IPV6 | TCP | UDP)) {
    return EOPNOTSUPP;
  }
  return rss->rx_key_len != sizeof((struct qp *)0)->hash_key || (fields & IPV4 && fields & IPV6) ||
                 (fields & TCP && fields & UDP)
             ? EINVAL
             : 0;
}

int create_wq(struct call *call) {
  const struct ib_uverbs_ex_create_wq *in = call->in;
  const struct mlx5_ib_create_wq *driver = call->driver_in;
  struct object *pd = find(call->context, PD, in->pd_handle);
  struct cq *cq = find(call->context, CQ, in->cq_handle);
  if (!pd || !cq || in->wq_type != 0 || driver->comp_mask) {
    return EINVAL;
  }
  if (in->create_flags & ~(uint32_t)(IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING | IB_UVERBS_WQ_FLAGS_SCATTER_FCS)) {
    return EOPNOTSUPP;
  }
  struct qp *wq = new_object(call->context, WQ, sizeof *wq, in->user_handle);
  if (!wq) {
    return errno;
  }
  wq->type = WORK_QUEUE;
  wq->number = wq->object.handle;
  wq->uidx = driver->user_index;
  wq->strips_tag = in->create_flags & IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING;
  wq->scatters_fcs = in->create_flags & IB_UVERBS_WQ_FLAGS_SCATTER_FCS;
  wq->receives = (struct receives){.buffer = (char *)driver->buf_addr,
                                   .doorbell = (volatile uint32_t *)driver->db_addr,
                                   .entries = driver->rq_wqe_count,
                                   .shift = driver->rq_wqe_shift,
                                   .has_signature = driver->flags & MLX5_WQ_FLAG_SIGNATURE};
  LINK(wq, all_qps);
  use(wq->pd = pd);
  use(wq->recv_cq = cq);
  struct ib_uverbs_ex_create_wq_resp out = {.response_length = sizeof out,
                                            .wq_handle = wq->object.handle,
                                            .max_wr = in->max_wr,
                                            .max_sge = in->max_sge,
                                            .wqn = wq->number};
  answer(call, &out, sizeof out);
  return 0;
}

int modify_wq(struct call *call) {
  static const enum state states[] = {RESET, RTS, ERR}; // of enum ib_wq_state
  const struct ib_uverbs_ex_modify_wq *in = call->in;
  struct qp *wq = find(call->context, WQ, in->wq_handle);
  if (!wq || !in->attr_mask || in->attr_mask & ~7u || (in->attr_mask & 1 && in->wq_state > 2) ||
      (in->attr_mask & 2 && (in->curr_wq_state > 2 || states[in->curr_wq_state] != wq->state))) {
    return EINVAL;
  }
  if (in->attr_mask & 4) {
    if (in->flags_mask & ~(uint32_t)IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING) {
      return EOPNOTSUPP;
    }
    wq->strips_tag = in->flags_mask ? in->flags & IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING : wq->strips_tag;
  }
  if (in->attr_mask & 1) {
    enum state to = states[in->wq_state];
    if (wq->state == ERR && to == RTS) {
      return EINVAL;
    }
    if (to == RESET) {
      qp_reset(wq);
    }
    wq->state = to;
  }
  return 0;
}

int destroy_wq(struct call *call) {
  const struct ib_uverbs_ex_destroy_wq *in = call->in;
  int error = destroy_handle(call, WQ, in->wq_handle);
  struct ib_uverbs_ex_destroy_wq_resp out = {.response_length = sizeof out};
  answer(call, &out, sizeof out);
  return error;
}

int create_table(struct call *call) {
  const struct ib_uverbs_ex_create_rwq_ind_table *in = call->in;
  unsigned size = 1u << in->log_ind_tbl_size;
  if (in->log_ind_tbl_size > 7) {
    return EINVAL;
  }
  struct qp *queues[128];
  for (unsigned i = 0; i < size; i++) {
    if (!(queues[i] = find(call->context, WQ, in->wq_handles[i]))) {
      return EINVAL;
    }
  }
  struct table *table = new_object(call->context, TABLE, sizeof *table + size * sizeof *queues, 0);
  if (!table) {
    return errno;
  }
  table->size = size;
  for (unsigned i = 0; i < size; i++) {
    use(table->queues[i] = queues[i]);
  }
  struct ib_uverbs_ex_create_rwq_ind_table_resp out = {
      .response_length = sizeof out, .ind_tbl_handle = table->object.handle, .ind_tbl_num = table->object.handle};
  answer(call, &out, sizeof out);
  return 0;
}

int destroy_table(struct call *call) {
  return destroy_handle(call, TABLE, ((const struct ib_uverbs_ex_destroy_rwq_ind_table *)call->in)->ind_tbl_handle);
}

// One bit of the input selects 32 bits of the key.
static uint32_t toeplitz(const uint8_t *key, const uint8_t *input, unsigned length) {
  uint32_t hash = 0;
  for (unsigned bit = 0; bit < 8 * length; bit++) {
    if (input[bit / 8] & 0x80 >> bit % 8) {
      uint64_t window = 0;
      for (unsigned i = 0; i < 5; i++) {
        window = window << 8 | key[bit / 8 + i];
      }
      hash ^= (uint32_t)(window >> (8 - bit % 8));
    }
  }
  return hash;
}

// 0 if the packet does not have all fields.
static uint32_t hash_of(const struct qp *qp, const struct headers *headers) {
  unsigned address = headers->ipv6 ? 16 : 4;
  const uint8_t *addresses = headers->bytes + headers->network + (headers->ipv6 ? 8 : 12);
  const uint8_t *ports = headers->bytes + headers->transport;
  bool network = headers->network, transport = headers->transport;
  const struct {
    uint64_t field;
    bool present;
    const uint8_t *at;
    unsigned length;
  } fields[] = {
      {MLX5_RX_HASH_SRC_IPV4, network && !headers->ipv6, addresses, 4},
      {MLX5_RX_HASH_SRC_IPV6, network && headers->ipv6, addresses, 16},
      {MLX5_RX_HASH_DST_IPV4, network && !headers->ipv6, addresses + address, 4},
      {MLX5_RX_HASH_DST_IPV6, network && headers->ipv6, addresses + address, 16},
      {MLX5_RX_HASH_SRC_PORT_TCP, transport && headers->tcp, ports, 2},
      {MLX5_RX_HASH_SRC_PORT_UDP, transport && !headers->tcp, ports, 2},
      {MLX5_RX_HASH_DST_PORT_TCP, transport && headers->tcp, ports + 2, 2},
      {MLX5_RX_HASH_DST_PORT_UDP, transport && !headers->tcp, ports + 2, 2},
  };
  uint8_t input[36];
  unsigned length = 0;
  for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (qp->hashed & fields[i].field) {
      if (!fields[i].present) {
        return 0;
      }
      memcpy(input + length, fields[i].at, fields[i].length);
      length += fields[i].length;
    }
  }
  return toeplitz(qp->hash_key, input, length);
}

// The queue that receives a packet by a rule that matches it: that of its queue pair, or the one that RSS chooses. NULL: none.
struct qp *receiver(const struct flow *flow, const struct headers *headers) {
  struct qp *qp = flow->qp;
  struct table *table = (struct table *)qp->table;
  qp = table ? table->queues[hash_of(qp, headers) & (table->size - 1)] : qp;
  return qp->state >= RTR && qp->state <= RTS ? qp : NULL;
}

// A C program on the emulated EFA, written from the manual pages of libefa: two queue pairs of SRD, on two devices, exchange
// sends, RDMA reads and writes. It shows that the device serves libefa as such; what Java does on it is tested by the device
// tests.
//
//   srd [ROUNDS]
#include <errno.h>
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: not true: %s (errno %m)\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
  } while (0)

enum { DEPTH = 16, SIZE = 4096, QKEY = 0x1234 };

struct side {
  struct ibv_context *context;
  struct ibv_pd *pd;
  struct ibv_comp_channel *channel;
  struct ibv_cq_ex *cq;
  struct ibv_qp *qp;
  struct ibv_qp_ex *qpx;
  struct ibv_mr *mr;
  struct ibv_ah *ah;
  char *memory;
  union ibv_gid gid;
};

static struct side open_side(struct ibv_device *device) {
  struct side side = {.context = ibv_open_device(device), .memory = aligned_alloc(4096, SIZE)};
  CHECK(side.context && (side.pd = ibv_alloc_pd(side.context)));
  memset(side.memory, 0, SIZE);
  CHECK((side.mr = ibv_reg_mr(side.pd, side.memory, SIZE,
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)));
  CHECK(!ibv_query_gid(side.context, 1, 0, &side.gid));
  CHECK((side.channel = ibv_create_comp_channel(side.context)));
  struct ibv_cq_init_attr_ex attr = {.cqe = 4 * DEPTH, .channel = side.channel, .wc_flags = IBV_WC_STANDARD_FLAGS};
  struct efadv_cq_init_attr efa = {.wc_flags = EFADV_WC_EX_WITH_SGID};
  CHECK((side.cq = efadv_create_cq(side.context, &attr, &efa, sizeof efa)));
  struct efadv_device_attr limits;
  CHECK(!efadv_query_device(side.context, &limits, sizeof limits));
  CHECK(limits.max_sq_wr && limits.device_caps & EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE);
  return side;
}

static void create(struct side *side) {
  struct ibv_qp_init_attr_ex attr = {
      .send_cq = ibv_cq_ex_to_cq(side->cq),
      .recv_cq = ibv_cq_ex_to_cq(side->cq),
      .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 32},
      .qp_type = IBV_QPT_DRIVER,
      .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
      .pd = side->pd,
      .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
                        IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
  };
  struct efadv_qp_init_attr efa = {.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD};
  CHECK((side->qp = efadv_create_qp_ex(side->context, &attr, &efa, sizeof efa)));
  side->qpx = ibv_qp_to_qp_ex(side->qp);
  struct ibv_qp_attr state = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
  CHECK(!ibv_modify_qp(side->qp, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
  state.qp_state = IBV_QPS_RTR;
  CHECK(!ibv_modify_qp(side->qp, &state, IBV_QP_STATE));
  state.qp_state = IBV_QPS_RTS;
  state.rnr_retry = 3;
  CHECK(!ibv_modify_qp(side->qp, &state, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY));
}

static struct ibv_ah *address(struct side *side, struct side *peer) {
  struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer->gid}};
  struct ibv_ah *ah = ibv_create_ah(side->pd, &attr);
  CHECK(ah);
  return ah;
}

static void post_receive(struct side *side, uint64_t id, unsigned offset, unsigned length) {
  struct ibv_sge sge = {(uintptr_t)side->memory + offset, length, side->mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
  CHECK(!ibv_post_recv(side->qp, &wr, &bad));
}

enum operation { SEND, SEND_IMM, READ, WRITE, WRITE_IMM };

static void post(struct side *side, struct side *peer, enum operation operation, uint64_t id, uint32_t length) {
  struct ibv_qp_ex *qp = side->qpx;
  uint64_t remote = (uintptr_t)peer->memory + 2048;
  qp->wr_id = id;
  qp->wr_flags = IBV_SEND_SIGNALED;
  switch (operation) {
  case SEND:
    ibv_wr_send(qp);
    break;
  case SEND_IMM:
    ibv_wr_send_imm(qp, htobe32(7));
    break;
  case READ:
    ibv_wr_rdma_read(qp, peer->mr->rkey, remote);
    break;
  case WRITE:
    ibv_wr_rdma_write(qp, peer->mr->rkey, remote);
    break;
  case WRITE_IMM:
    ibv_wr_rdma_write_imm(qp, peer->mr->rkey, remote, htobe32(7));
    break;
  }
  ibv_wr_set_sge(qp, side->mr->lkey, (uintptr_t)side->memory, length);
  ibv_wr_set_ud_addr(qp, side->ah, peer->qp->qp_num, QKEY);
}

static void post_one(struct side *side, struct side *peer, enum operation operation, uint64_t id, uint32_t length) {
  ibv_wr_start(side->qpx);
  post(side, peer, operation, id, length);
  CHECK(!ibv_wr_complete(side->qpx));
}

// Waits for one completion, of which the caller reads what it likes before ibv_end_poll.
static void await(struct side *side) {
  struct ibv_poll_cq_attr attr = {0};
  int error;
  while ((error = ibv_start_poll(side->cq, &attr)) == ENOENT) {
  }
  CHECK(!error);
}

static enum ibv_wc_status status_of(struct side *side) {
  await(side);
  enum ibv_wc_status status = side->cq->status;
  ibv_end_poll(side->cq);
  return status;
}

static void exchange(struct side *a, struct side *b, int rounds) {
  for (int i = 0; i < rounds; i++) {
    snprintf(a->memory, 32, "message %d", i);
    post_receive(b, 100 + i, 1024, 64);
    post_one(a, b, i % 2 ? SEND_IMM : SEND, i, 32);
    await(b);
    CHECK(b->cq->status == IBV_WC_SUCCESS && b->cq->wr_id == (uint64_t)(100 + i));
    CHECK(ibv_wc_read_opcode(b->cq) == IBV_WC_RECV && ibv_wc_read_byte_len(b->cq) == 32);
    CHECK(ibv_wc_read_src_qp(b->cq) == a->qp->qp_num && !!(ibv_wc_read_wc_flags(b->cq) & IBV_WC_WITH_IMM) == i % 2);
    union ibv_gid source;
    CHECK(efadv_wc_read_sgid(efadv_cq_from_ibv_cq_ex(b->cq), &source) < 0); // the address handle is known
    ibv_end_poll(b->cq);
    CHECK(status_of(a) == IBV_WC_SUCCESS && !strcmp(a->memory, b->memory + 1024));
  }
}

static void transfers(struct side *a, struct side *b) {
  strcpy(a->memory, "written");
  post_one(a, b, WRITE, 1, 32);
  CHECK(status_of(a) == IBV_WC_SUCCESS && !strcmp(b->memory + 2048, "written"));
  strcpy(b->memory + 2048, "read");
  post_one(a, b, READ, 2, 32);
  CHECK(status_of(a) == IBV_WC_SUCCESS && !strcmp(a->memory, "read"));
  post_receive(b, 3, 0, 0);
  post_one(a, b, WRITE_IMM, 3, 32);
  await(b);
  CHECK(b->cq->status == IBV_WC_SUCCESS && ibv_wc_read_opcode(b->cq) == IBV_WC_RECV_RDMA_WITH_IMM);
  CHECK(ibv_wc_read_byte_len(b->cq) == 32 && be32toh(ibv_wc_read_imm_data(b->cq)) == 7);
  ibv_end_poll(b->cq);
  CHECK(status_of(a) == IBV_WC_SUCCESS);
}

// A batch arrives in another order than it was posted in.
static void batch(struct side *a, struct side *b) {
  bool disorder = false;
  for (int i = 0; i < DEPTH; i++) {
    post_receive(b, i, 1024 + 64 * i, 64);
  }
  ibv_wr_start(a->qpx);
  for (int i = 0; i < DEPTH; i++) {
    post(a, b, SEND, i, 32);
  }
  CHECK(!ibv_wr_complete(a->qpx));
  uint64_t seen = 0;
  for (int i = 0; i < DEPTH; i++) {
    await(a);
    CHECK(a->cq->status == IBV_WC_SUCCESS);
    disorder |= a->cq->wr_id != (uint64_t)i;
    seen |= 1ull << a->cq->wr_id;
    ibv_end_poll(a->cq);
    CHECK(status_of(b) == IBV_WC_SUCCESS);
  }
  CHECK(disorder && seen == (1ull << DEPTH) - 1);
}

static void events(struct side *a, struct side *b) {
  struct ibv_cq *cq;
  void *user;
  for (int i = 0; i < 10; i++) {
    CHECK(!ibv_req_notify_cq(ibv_cq_ex_to_cq(b->cq), 0));
    post_receive(b, 1, 1024, 64);
    post_one(a, b, SEND, 1, 32);
    CHECK(!ibv_get_cq_event(b->channel, &cq, &user) && cq == ibv_cq_ex_to_cq(b->cq));
    ibv_ack_cq_events(cq, 1);
    CHECK(status_of(b) == IBV_WC_SUCCESS && status_of(a) == IBV_WC_SUCCESS);
  }
}

static void errors(struct side *a, struct side *b) {
  post_one(a, b, SEND, 1, 32); // there is no receive
  CHECK(status_of(a) == IBV_WC_RNR_RETRY_EXC_ERR);
  post_receive(b, 2, 1024, 16);
  post_one(a, b, SEND, 2, 32);
  CHECK(status_of(a) == IBV_WC_REM_INV_REQ_ERR && status_of(b) == IBV_WC_LOC_LEN_ERR);
  uint32_t rkey = b->mr->rkey;
  b->mr->rkey++;
  post_one(a, b, WRITE, 3, 32);
  CHECK(status_of(a) == IBV_WC_REM_ACCESS_ERR);
  b->mr->rkey = rkey;
  CHECK(!ibv_destroy_ah(b->ah)); // RDMA needs an address handle at the responder
  post_one(a, b, WRITE, 4, 32);
  CHECK(status_of(a) == IBV_WC_REM_OP_ERR);
  post_receive(b, 5, 1024, 64);
  post_one(a, b, SEND, 5, 32);
  await(b);
  union ibv_gid source;
  CHECK(b->cq->status == IBV_WC_SUCCESS && !efadv_wc_read_sgid(efadv_cq_from_ibv_cq_ex(b->cq), &source));
  CHECK(!memcmp(&source, &a->gid, sizeof source));
  ibv_end_poll(b->cq);
  CHECK(status_of(a) == IBV_WC_SUCCESS);
  b->ah = address(b, a);
}

static void close_side(struct side *side) {
  CHECK(!ibv_destroy_ah(side->ah) && !ibv_destroy_qp(side->qp));
  CHECK(!ibv_destroy_cq(ibv_cq_ex_to_cq(side->cq)) && !ibv_destroy_comp_channel(side->channel));
  CHECK(!ibv_dereg_mr(side->mr) && !ibv_dealloc_pd(side->pd) && !ibv_close_device(side->context));
  free(side->memory);
}

int main(int count, char **arguments) {
  int rounds = count > 1 ? atoi(arguments[1]) : 1000;
  struct ibv_device **devices = ibv_get_device_list(NULL);
  CHECK(devices && devices[0] && devices[1]);
  struct side a = open_side(devices[0]), b = open_side(devices[1]);
  ibv_free_device_list(devices);
  create(&a), create(&b);
  a.ah = address(&a, &b), b.ah = address(&b, &a);
  exchange(&a, &b, rounds);
  transfers(&a, &b);
  batch(&a, &b);
  events(&a, &b);
  errors(&a, &b);
  exchange(&b, &a, rounds);
  close_side(&a), close_side(&b);
  puts("SRD: sends, RDMA reads and writes, disorder, events and errors as in the manual pages");
}

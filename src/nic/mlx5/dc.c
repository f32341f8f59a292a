// A C program on the emulated mlx5, written from the manual pages mlx5dv_create_qp(3) and mlx5dv_wr_post(3): a DC initiator
// and DC targets, on two devices, exchange sends, RDMA reads and writes, atomics. It shows that the device serves libmlx5 as
// such; what Java does on it is tested by the device tests.
//
//   dc [ROUNDS]
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
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

// The offsets that dev.verbena.mlx5 uses.
_Static_assert(offsetof(struct mlx5dv_context, comp_mask) == 16 &&
                   offsetof(struct mlx5dv_qp_init_attr, comp_mask) == 0 &&
                   offsetof(struct mlx5dv_qp_init_attr, dc_init_attr.dc_type) == 16 &&
                   offsetof(struct mlx5dv_qp_init_attr, dc_init_attr.dct_access_key) == 24 &&
                   sizeof(struct mlx5dv_qp_init_attr) == 40 && offsetof(struct mlx5dv_qp_ex, wr_set_dc_addr) == 8 &&
                   MLX5DV_QP_INIT_ATTR_MASK_DC == 2 && MLX5DV_DCTYPE_DCT == 1 && MLX5DV_DCTYPE_DCI == 2,
               "Mlx5Structs");

enum { DEPTH = 16, SIZE = 4096, TARGETS = 2 };
static const uint64_t KEY = 0x1122334455667788;
static const uint64_t OPERATIONS = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
                                   IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
                                   IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

struct side {
  struct ibv_context *context;
  struct ibv_pd *pd;
  struct ibv_cq *cq;
  struct ibv_mr *mr;
  char *memory;
  union ibv_gid gid;
};

// A target with a shared receive queue of its own.
struct target {
  struct ibv_qp *qp;
  struct ibv_srq *srq;
};

struct initiator {
  struct ibv_qp *qp;
  struct ibv_qp_ex *qpx;
  struct mlx5dv_qp_ex *dv;
  struct ibv_ah *ah;
};

static struct side open_side(struct ibv_device *device) {
  struct side side = {.context = ibv_open_device(device), .memory = aligned_alloc(4096, SIZE)};
  CHECK(side.context && (side.pd = ibv_alloc_pd(side.context)));
  CHECK((side.cq = ibv_create_cq(side.context, 4 * DEPTH, NULL, NULL, 0)));
  memset(side.memory, 0, SIZE);
  CHECK((side.mr = ibv_reg_mr(side.pd, side.memory, SIZE,
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_ATOMIC)));
  CHECK(!ibv_query_gid(side.context, 1, 1, &side.gid));
  return side;
}

static struct ibv_qp *create(struct side *side, enum mlx5dv_dc_type type, struct ibv_srq *srq, uint32_t receives) {
  bool initiates = type == MLX5DV_DCTYPE_DCI;
  struct ibv_qp_init_attr_ex attr = {
      .send_cq = side->cq,
      .recv_cq = side->cq,
      .srq = srq,
      .cap = {.max_send_wr = initiates ? DEPTH : 0, .max_send_sge = initiates, .max_recv_wr = receives},
      .qp_type = IBV_QPT_DRIVER,
      .comp_mask = IBV_QP_INIT_ATTR_PD | (initiates ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
      .pd = side->pd,
      .send_ops_flags = initiates ? OPERATIONS : 0,
  };
  struct mlx5dv_qp_init_attr dv = {
      .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
      .dc_init_attr = {.dc_type = type, .dct_access_key = initiates ? 0 : KEY},
  };
  return mlx5dv_create_qp(side->context, &attr, &dv);
}

static struct target create_target(struct side *side) {
  struct ibv_srq_init_attr attr = {.attr = {.max_wr = DEPTH, .max_sge = 1}};
  struct target target = {.srq = ibv_create_srq(side->pd, &attr)};
  CHECK(target.srq && !create(side, MLX5DV_DCTYPE_DCT, NULL, 0) && errno == EINVAL); // it needs a shared receive queue
  CHECK((target.qp = create(side, MLX5DV_DCTYPE_DCT, target.srq, 0)) && !target.qp->qp_num);
  struct ibv_qp_attr state = {
      .qp_state = IBV_QPS_INIT,
      .port_num = 1,
      .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
  };
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  CHECK(ibv_modify_qp(target.qp, &state, mask) == EINVAL);
  CHECK(!ibv_modify_qp(target.qp, &state, mask | IBV_QP_ACCESS_FLAGS));
  state = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTR,
      .path_mtu = IBV_MTU_1024,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = side->gid, .sgid_index = 1, .hop_limit = 64}},
  };
  CHECK(!ibv_modify_qp(target.qp, &state, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV | IBV_QP_PATH_MTU));
  CHECK(target.qp->qp_num); // the device has created it
  state.qp_state = IBV_QPS_RTS;
  CHECK(ibv_modify_qp(target.qp, &state, IBV_QP_STATE) == EINVAL);
  struct ibv_qp_init_attr init;
  CHECK(!ibv_query_qp(target.qp, &state, IBV_QP_STATE, &init) && state.qp_state == IBV_QPS_RTR);
  return target;
}

static void activate(struct initiator *initiator) {
  struct ibv_qp_attr state = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  CHECK(!ibv_modify_qp(initiator->qp, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT));
  state = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024};
  CHECK(!ibv_modify_qp(initiator->qp, &state, IBV_QP_STATE | IBV_QP_PATH_MTU));
  state = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTS, .timeout = 8, .retry_cnt = 2, .rnr_retry = 2, .max_rd_atomic = 1};
  CHECK(!ibv_modify_qp(initiator->qp, &state,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
                           IBV_QP_SQ_PSN));
}

static struct initiator create_initiator(struct side *side, struct side *peer) {
  CHECK(!create(side, MLX5DV_DCTYPE_DCI, NULL, 1) && errno == EINVAL); // it has no receive queue
  struct initiator initiator = {.qp = create(side, MLX5DV_DCTYPE_DCI, NULL, 0)};
  CHECK(initiator.qp && (initiator.qpx = ibv_qp_to_qp_ex(initiator.qp)));
  CHECK((initiator.dv = mlx5dv_qp_ex_from_ibv_qp_ex(initiator.qpx)));
  struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer->gid, .sgid_index = 1, .hop_limit = 64}};
  CHECK((initiator.ah = ibv_create_ah(side->pd, &attr)));
  activate(&initiator);
  return initiator;
}

static void receive(struct side *side, struct target *target, uint64_t id, uint32_t offset, uint32_t length) {
  struct ibv_sge sge = {(uintptr_t)side->memory + offset, length, side->mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
  CHECK(!ibv_post_srq_recv(target->srq, &wr, &bad));
}

enum operation { SEND, SEND_IMM, READ, WRITE, WRITE_IMM, FETCH_ADD };

struct request {
  enum operation operation;
  uint64_t id, key;
  uint32_t length, rkey, number;
};

static void post(struct side *side, struct side *peer, struct initiator *initiator, struct request request) {
  struct ibv_qp_ex *qp = initiator->qpx;
  uint64_t remote = (uintptr_t)peer->memory + 2048;
  ibv_wr_start(qp);
  qp->wr_id = request.id;
  qp->wr_flags = IBV_SEND_SIGNALED;
  switch (request.operation) {
  case SEND:
    ibv_wr_send(qp);
    break;
  case SEND_IMM:
    ibv_wr_send_imm(qp, htobe32(7));
    break;
  case READ:
    ibv_wr_rdma_read(qp, request.rkey, remote);
    break;
  case WRITE:
    ibv_wr_rdma_write(qp, request.rkey, remote);
    break;
  case WRITE_IMM:
    ibv_wr_rdma_write_imm(qp, request.rkey, remote, htobe32(7));
    break;
  case FETCH_ADD:
    ibv_wr_atomic_fetch_add(qp, request.rkey, remote, 2);
    break;
  }
  ibv_wr_set_sge(qp, side->mr->lkey, (uintptr_t)side->memory, request.length);
  mlx5dv_wr_set_dc_addr(initiator->dv, initiator->ah, request.number, request.key);
  CHECK(!ibv_wr_complete(qp));
}

static struct ibv_wc next(struct side *side) {
  struct ibv_wc wc;
  int polled;
  while (!(polled = ibv_poll_cq(side->cq, 1, &wc))) {
  }
  CHECK(polled == 1);
  return wc;
}

static void expect(struct side *side, uint64_t id, enum ibv_wc_status status) {
  struct ibv_wc wc = next(side);
  if (wc.wr_id != id || wc.status != status) {
    fprintf(stderr, "request %lu: %s, expected %lu: %s\n", wc.wr_id, ibv_wc_status_str(wc.status), id,
            ibv_wc_status_str(status));
    exit(1);
  }
}

// One initiator sends to the targets in turns.
static void exchange(struct side *a, struct side *b, struct initiator *initiator, struct target *targets, int rounds) {
  for (int i = 0; i < rounds; i++) {
    struct target *target = &targets[i % TARGETS];
    snprintf(a->memory, 32, "message %d", i);
    receive(b, target, i, 1024, 64);
    post(a, b, initiator,
         (struct request){.operation = i % 3 ? SEND_IMM : SEND, .id = i, .key = KEY, .length = 32, .number = target->qp->qp_num});
    expect(a, i, IBV_WC_SUCCESS);
    struct ibv_wc wc = next(b);
    CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == (uint64_t)i && wc.opcode == IBV_WC_RECV && wc.byte_len == 32);
    CHECK(wc.qp_num == target->qp->qp_num && !!(wc.wc_flags & IBV_WC_WITH_IMM) == !!(i % 3));
    CHECK(!strcmp(a->memory, b->memory + 1024));
  }
}

static void transfers(struct side *a, struct side *b, struct initiator *initiator, struct target *target) {
  struct request request = {
      .operation = WRITE, .id = 1, .key = KEY, .length = 32, .rkey = b->mr->rkey, .number = target->qp->qp_num};
  strcpy(a->memory, "written");
  post(a, b, initiator, request);
  expect(a, 1, IBV_WC_SUCCESS);
  CHECK(!strcmp(b->memory + 2048, "written"));
  strcpy(b->memory + 2048, "read");
  request.operation = READ;
  post(a, b, initiator, request);
  expect(a, 1, IBV_WC_SUCCESS);
  CHECK(!strcmp(a->memory, "read"));
  *(uint64_t *)(b->memory + 2048) = 40;
  request.operation = FETCH_ADD;
  request.length = 8;
  post(a, b, initiator, request);
  expect(a, 1, IBV_WC_SUCCESS);
  CHECK(*(uint64_t *)a->memory == 40 && *(uint64_t *)(b->memory + 2048) == 42);
  receive(b, target, 3, 0, 0);
  request.operation = WRITE_IMM;
  post(a, b, initiator, request);
  struct ibv_wc wc = next(b);
  CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.imm_data == htobe32(7));
  expect(a, 1, IBV_WC_SUCCESS);
}

// A failed request fails the initiator; the target serves others.
static void recover(struct initiator *initiator) {
  struct ibv_qp_attr state = {.qp_state = IBV_QPS_RESET};
  CHECK(!ibv_modify_qp(initiator->qp, &state, IBV_QP_STATE));
  activate(initiator);
}

static void errors(struct side *a, struct side *b, struct initiator *initiator, struct target *target) {
  struct request request = {
      .operation = SEND, .id = 1, .key = KEY, .length = 32, .rkey = b->mr->rkey, .number = target->qp->qp_num};
  post(a, b, initiator, request); // there is no receive
  request.id = 2;
  post(a, b, initiator, request);
  expect(a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
  expect(a, 2, IBV_WC_WR_FLUSH_ERR);
  recover(initiator);
  receive(b, target, 3, 1024, 64);
  request.key = KEY + 1;
  post(a, b, initiator, request);
  expect(a, 2, IBV_WC_REM_ACCESS_ERR);
  recover(initiator);
  request.key = KEY;
  request.operation = WRITE;
  request.rkey++;
  post(a, b, initiator, request);
  expect(a, 2, IBV_WC_REM_ACCESS_ERR);
  recover(initiator);
  request.rkey--;
  request.number = initiator->qp->qp_num; // not a target
  post(a, b, initiator, request);
  expect(a, 2, IBV_WC_RETRY_EXC_ERR);
  recover(initiator);
  request.number = target->qp->qp_num;
  request.operation = SEND;
  post(a, b, initiator, request);
  expect(a, 2, IBV_WC_SUCCESS);
  expect(b, 3, IBV_WC_SUCCESS);
}

int main(int count, char **arguments) {
  int rounds = count > 1 ? atoi(arguments[1]) : 1000;
  struct ibv_device **devices = ibv_get_device_list(NULL);
  CHECK(devices && devices[0] && devices[1] && mlx5dv_is_supported(devices[0]));
  struct side a = open_side(devices[0]), b = open_side(devices[1]);
  ibv_free_device_list(devices);
  struct mlx5dv_context limits = {.comp_mask = 0};
  CHECK(!mlx5dv_query_device(a.context, &limits));
  struct target targets[TARGETS];
  for (int i = 0; i < TARGETS; i++) {
    targets[i] = create_target(&b);
  }
  struct initiator initiator = create_initiator(&a, &b);
  exchange(&a, &b, &initiator, targets, rounds);
  transfers(&a, &b, &initiator, &targets[1]);
  errors(&a, &b, &initiator, &targets[0]);
  exchange(&a, &b, &initiator, targets, rounds);
  CHECK(!ibv_destroy_ah(initiator.ah) && !ibv_destroy_qp(initiator.qp));
  for (int i = 0; i < TARGETS; i++) {
    CHECK(!ibv_destroy_qp(targets[i].qp) && !ibv_destroy_srq(targets[i].srq));
  }
  struct side *sides[] = {&a, &b};
  for (int i = 0; i < 2; i++) {
    CHECK(!ibv_destroy_cq(sides[i]->cq) && !ibv_dereg_mr(sides[i]->mr) && !ibv_dealloc_pd(sides[i]->pd));
    CHECK(!ibv_close_device(sides[i]->context));
    free(sides[i]->memory);
  }
  puts("DC: sends, RDMA reads and writes, atomics, two targets of one initiator, and errors as in the manual pages");
}

// A C program on the emulated NIC: two queue pairs of one process, on two devices, exchange messages of every kind. It
// shows that the NIC serves libmlx5 as such; what Java does on it is tested by the conformance suite.
//
//   pingpong [ROUNDS]
#include <errno.h>
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

enum { DEPTH = 8, SIZE = 4096 };

struct side {
  struct ibv_context *context;
  struct ibv_pd *pd;
  struct ibv_comp_channel *channel;
  struct ibv_cq *cq;
  struct ibv_qp *qp;
  struct ibv_mr *mr;
  char *memory;
  union ibv_gid gid;
};

// 7: without end.
static int rnr_retries = 2;

static struct side open_side(struct ibv_device *device) {
  struct side side = {.context = ibv_open_device(device), .memory = aligned_alloc(4096, SIZE)};
  CHECK(side.context && (side.pd = ibv_alloc_pd(side.context)));
  CHECK((side.channel = ibv_create_comp_channel(side.context)));
  CHECK((side.cq = ibv_create_cq(side.context, 2 * DEPTH, NULL, side.channel, 0)));
  memset(side.memory, 0, SIZE);
  side.mr = ibv_reg_mr(side.pd, side.memory, SIZE,
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC);
  CHECK(side.mr && !ibv_query_gid(side.context, 1, 1, &side.gid));
  return side;
}

static void create(struct side *side, enum ibv_qp_type type) {
  struct ibv_qp_init_attr attr = {
      .send_cq = side->cq,
      .recv_cq = side->cq,
      .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64},
      .qp_type = type,
  };
  CHECK((side->qp = ibv_create_qp(side->pd, &attr)));
}

static void connect_side(struct side *side, struct side *peer, enum ibv_qp_type type) {
  struct ibv_qp_attr attr = {
      .qp_state = IBV_QPS_INIT,
      .port_num = 1,
      .qkey = 17,
      .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
  };
  bool datagrams = type == IBV_QPT_UD;
  CHECK(!ibv_modify_qp(side->qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                           (datagrams ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
  attr = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTR,
      .path_mtu = IBV_MTU_1024,
      .dest_qp_num = peer->qp->qp_num,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer->gid, .sgid_index = 1, .hop_limit = 64}},
  };
  CHECK(!ibv_modify_qp(side->qp, &attr,
                       IBV_QP_STATE | (datagrams ? 0
                                                 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)));
  attr = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTS, .timeout = 10, .retry_cnt = 3, .rnr_retry = rnr_retries, .max_rd_atomic = 1};
  CHECK(!ibv_modify_qp(side->qp, &attr,
                       IBV_QP_STATE | IBV_QP_SQ_PSN | (datagrams ? 0
                                                                 : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                                                       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)));
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

static void receive(struct side *side, uint64_t id, uint32_t offset, uint32_t length) {
  struct ibv_sge sge = {(uintptr_t)side->memory + offset, length, side->mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
  CHECK(!ibv_post_recv(side->qp, &wr, &bad));
}

static void post(struct side *side, struct ibv_send_wr wr, uint32_t offset, uint32_t length) {
  struct ibv_sge sge = {(uintptr_t)side->memory + offset, length, side->mr->lkey};
  struct ibv_send_wr *bad;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.send_flags |= IBV_SEND_SIGNALED;
  CHECK(!ibv_post_send(side->qp, &wr, &bad));
}

static void ping_pong(struct side *a, struct side *b, unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) {
    struct side *from = i % 2 ? b : a, *to = i % 2 ? a : b;
    snprintf(from->memory, 64, "round %u", i);
    memset(to->memory + 1024, 0, 64);
    receive(to, 2 * i, 1024, 64);
    post(from, (struct ibv_send_wr){.wr_id = 2 * i + 1, .opcode = IBV_WR_SEND, .send_flags = i % 3 ? 0 : IBV_SEND_INLINE},
         0, 64);
    expect(from, 2 * i + 1, IBV_WC_SUCCESS);
    expect(to, 2 * i, IBV_WC_SUCCESS);
    CHECK(!memcmp(from->memory, to->memory + 1024, 64));
  }
  printf("%u messages\n", rounds);
}

static void one_sided(struct side *a, struct side *b) {
  uint64_t there = (uintptr_t)b->memory;
  strcpy(a->memory, "written");
  post(a, (struct ibv_send_wr){.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {there + 2048, b->mr->rkey}}, 0, 8);
  expect(a, 1, IBV_WC_SUCCESS);
  CHECK(!strcmp(b->memory + 2048, "written"));
  post(a, (struct ibv_send_wr){.wr_id = 2, .opcode = IBV_WR_RDMA_READ, .wr.rdma = {there + 2048, b->mr->rkey}}, 512, 8);
  expect(a, 2, IBV_WC_SUCCESS);
  CHECK(!strcmp(a->memory + 512, "written"));
  *(uint64_t *)(b->memory + 64) = 40;
  post(a,
       (struct ibv_send_wr){
           .wr_id = 3, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .wr.atomic = {there + 64, 2, 0, b->mr->rkey}},
       0, 8);
  expect(a, 3, IBV_WC_SUCCESS);
  CHECK(*(uint64_t *)a->memory == 40 && *(uint64_t *)(b->memory + 64) == 42);
  post(a,
       (struct ibv_send_wr){
           .wr_id = 4, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .wr.atomic = {there + 64, 42, 7, b->mr->rkey}},
       0, 8);
  expect(a, 4, IBV_WC_SUCCESS);
  CHECK(*(uint64_t *)a->memory == 42 && *(uint64_t *)(b->memory + 64) == 7);
  receive(b, 5, 0, 8);
  post(a,
       (struct ibv_send_wr){.wr_id = 6,
                            .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                            .imm_data = 0x12345678,
                            .wr.rdma = {there + 128, b->mr->rkey}},
       512, 8);
  expect(a, 6, IBV_WC_SUCCESS);
  struct ibv_wc wc = next(b);
  CHECK(wc.wr_id == 5 && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.imm_data == 0x12345678 && wc.byte_len == 8);
  CHECK(!strcmp(b->memory + 128, "written"));
  printf("write, read, atomics, immediate data\n");
}

static void events(struct side *a, struct side *b) {
  struct ibv_cq *cq;
  void *context;
  for (int i = 0; i < 10; i++) {
    receive(b, 1, 0, 64);
    CHECK(!ibv_req_notify_cq(b->cq, 0));
    post(a, (struct ibv_send_wr){.wr_id = 2, .opcode = IBV_WR_SEND}, 0, 64);
    CHECK(!ibv_get_cq_event(b->channel, &cq, &context) && cq == b->cq);
    ibv_ack_cq_events(cq, 1);
    expect(b, 1, IBV_WC_SUCCESS);
    expect(a, 2, IBV_WC_SUCCESS);
  }
  printf("completion events\n");
}

static void errors(struct side *a, struct side *b) {
  // No receive: twice more, then no more. What follows is flushed.
  post(a, (struct ibv_send_wr){.wr_id = 1, .opcode = IBV_WR_SEND}, 0, 64);
  post(a, (struct ibv_send_wr){.wr_id = 2, .opcode = IBV_WR_SEND}, 0, 64);
  expect(a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
  expect(a, 2, IBV_WC_WR_FLUSH_ERR);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
  CHECK(!ibv_modify_qp(a->qp, &attr, IBV_QP_STATE) && !ibv_modify_qp(b->qp, &attr, IBV_QP_STATE));
  connect_side(a, b, IBV_QPT_RC);
  connect_side(b, a, IBV_QPT_RC);
  receive(b, 3, 0, 64);
  post(a,
       (struct ibv_send_wr){
           .wr_id = 4, .opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {(uintptr_t)b->memory + SIZE, b->mr->rkey}},
       0, 64);
  expect(a, 4, IBV_WC_REM_ACCESS_ERR);
  expect(b, 3, IBV_WC_WR_FLUSH_ERR);
  struct ibv_async_event event;
  CHECK(!ibv_get_async_event(b->context, &event) && event.event_type == IBV_EVENT_QP_ACCESS_ERR &&
        event.element.qp == b->qp);
  ibv_ack_async_event(&event);
  printf("receiver not ready, remote access error, flush, asynchronous event\n");
}

static void full_queue(struct side *a, struct side *b) {
  rnr_retries = 7;
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
  CHECK(!ibv_modify_qp(a->qp, &attr, IBV_QP_STATE) && !ibv_modify_qp(b->qp, &attr, IBV_QP_STATE));
  connect_side(a, b, IBV_QPT_RC);
  connect_side(b, a, IBV_QPT_RC);
  struct ibv_sge sge = {(uintptr_t)a->memory, 64, a->mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
  unsigned posted = 0;
  while (!ibv_post_send(a->qp, &wr, &bad)) {
    posted++;
  }
  CHECK(posted >= DEPTH && bad == &wr);
  for (unsigned i = 0; i < posted; i++) {
    receive(b, i, 0, 64);
    expect(a, 0, IBV_WC_SUCCESS);
    expect(b, i, IBV_WC_SUCCESS);
  }
  printf("a full queue of %u requests\n", posted);
}

static void datagrams(struct side *a, struct side *b) {
  create(a, IBV_QPT_UD);
  create(b, IBV_QPT_UD);
  connect_side(a, b, IBV_QPT_UD);
  connect_side(b, a, IBV_QPT_UD);
  struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = b->gid, .sgid_index = 1, .hop_limit = 64}};
  struct ibv_ah *ah = ibv_create_ah(a->pd, &attr);
  CHECK(ah);
  receive(b, 1, 0, 128);
  strcpy(a->memory, "datagram");
  post(a, (struct ibv_send_wr){.wr_id = 2, .opcode = IBV_WR_SEND, .wr.ud = {ah, b->qp->qp_num, 17}}, 0, 16);
  expect(a, 2, IBV_WC_SUCCESS);
  struct ibv_wc wc = next(b);
  CHECK(wc.wr_id == 1 && wc.byte_len == 56 && wc.src_qp == a->qp->qp_num && wc.wc_flags & IBV_WC_GRH);
  CHECK(!strcmp(b->memory + 40, "datagram"));
  CHECK(!ibv_destroy_ah(ah));
  printf("datagrams\n");
}

// All handles of the NIC are in use: ENOMEM, and the handles can be used again.
static void exhaust(struct ibv_context *context) {
  enum { HANDLES = 1 << 16 };
  static struct ibv_pd *pds[HANDLES];
  int count = 0;
  errno = 0;
  while (count < HANDLES && (pds[count] = ibv_alloc_pd(context))) {
    count++;
  }
  CHECK(count > HANDLES / 2 && count < HANDLES && errno == ENOMEM);
  CHECK(!ibv_create_cq(context, 1, NULL, NULL, 0) && errno == ENOMEM);
  CHECK(!ibv_dealloc_pd(pds[--count]));
  struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, NULL, 0);
  CHECK(cq && !ibv_destroy_cq(cq));
  printf("all handles in use after %d\n", count + 1);
  while (count) {
    CHECK(!ibv_dealloc_pd(pds[--count]));
  }
}

int main(int argc, char **argv) {
  int count;
  struct ibv_device **devices = ibv_get_device_list(&count);
  CHECK(devices && count >= 2);
  struct side a = open_side(devices[0]), b = open_side(devices[1]);
  create(&a, IBV_QPT_RC);
  create(&b, IBV_QPT_RC);
  connect_side(&a, &b, IBV_QPT_RC);
  connect_side(&b, &a, IBV_QPT_RC);
  ping_pong(&a, &b, argc > 1 ? atoi(argv[1]) : 100000);
  one_sided(&a, &b);
  events(&a, &b);
  errors(&a, &b);
  full_queue(&a, &b);
  CHECK(!ibv_destroy_qp(a.qp) && !ibv_destroy_qp(b.qp));
  datagrams(&a, &b);
  CHECK(!ibv_destroy_qp(a.qp) && !ibv_destroy_qp(b.qp));
  exhaust(a.context);
  struct side *sides[] = {&a, &b};
  for (int i = 0; i < 2; i++) {
    CHECK(!ibv_destroy_cq(sides[i]->cq) && !ibv_destroy_comp_channel(sides[i]->channel));
    CHECK(!ibv_dereg_mr(sides[i]->mr) && !ibv_dealloc_pd(sides[i]->pd) && !ibv_close_device(sides[i]->context));
    free(sides[i]->memory);
  }
  ibv_free_device_list(devices);
  return 0;
}

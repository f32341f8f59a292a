/*
 * The loops of Efa.java in C, on queues that Java made: posting through ibv_wr_* as libefa requires, and polling. A call runs
 * some rounds of one batch each, so that the call itself does not count.
 */
#include <infiniband/verbs.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define BUFFER_SIZE 64
#define MAX_BATCH 64

struct target {
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint64_t remote;
	uint32_t rkey, qpn, qkey;
};

EXPORT struct target *target_new(struct ibv_qp *qp, struct ibv_mr *mr, struct ibv_ah *ah, uint64_t remote, uint32_t rkey,
				 uint32_t qpn, uint32_t qkey)
{
	struct target *t = calloc(1, sizeof *t);

	*t = (struct target){qp, mr, ah, remote, rkey, qpn, qkey};
	return t;
}

static uint64_t id;

EXPORT long post(struct target *t, long is_write, long batch, long rounds)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(t->qp);

	for (long round = 0; round < rounds; round++) {
		ibv_wr_start(ex);
		for (int i = 0; i < batch; i++) {
			ex->wr_id = id++;
			ex->wr_flags = IBV_SEND_SIGNALED;
			if (is_write)
				ibv_wr_rdma_write(ex, t->rkey, t->remote);
			else
				ibv_wr_send(ex);
			ibv_wr_set_sge(ex, t->mr->lkey, (uintptr_t)t->mr->addr + (id & 63) * BUFFER_SIZE, BUFFER_SIZE);
			ibv_wr_set_ud_addr(ex, t->ah, t->qpn, t->qkey);
		}
		if (ibv_wr_complete(ex))
			return -1;
	}
	return 0;
}

EXPORT long poll_all(struct ibv_cq *cq, long batch, long rounds)
{
	struct ibv_wc wc[MAX_BATCH];
	uint64_t sum = 0;

	for (long round = 0; round < rounds; round++)
		for (int done = 0; done < batch;) {
			int n = ibv_poll_cq(cq, batch - done, wc);

			if (n < 0)
				return -1;
			for (int i = 0; i < n; i++) {
				if (wc[i].status != IBV_WC_SUCCESS)
					return -1;
				sum += wc[i].wr_id + wc[i].byte_len;
			}
			done += n;
		}
	return (long)(sum >> 1);
}

/*
 * The loops of CLoop.java, on queues that Java made: what a careful C program does. Each works on preformatted requests,
 * patches id and buffer of each, posts, polls, and reads status, id and length of every completion. A call runs some
 * rounds of one batch each, so that the call itself does not count. They return a sum that depends on all they read, so
 * that nothing can be left out, or -1.
 */
#include <infiniband/verbs.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_ENTRIES 4
#define BUFFER_SIZE 64

struct lists {
	struct ibv_mr *mr, *remote;
	int batch, entries, is_write;
	struct ibv_ah *ah; /* of SRD */
	uint32_t qpn, qkey;
	uint64_t id;
	struct ibv_send_wr *sends;
	struct ibv_recv_wr *receives;
	struct ibv_sge *sges;
	struct ibv_wc *wc;
};

EXPORT struct lists *lists_new(struct ibv_mr *mr, struct ibv_mr *remote, int batch, int entries, int is_write, int is_inline,
			       struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct lists *l = calloc(1, sizeof *l);

	*l = (struct lists){.mr = mr, .remote = remote, .batch = batch, .entries = entries, .is_write = is_write,
			    .ah = ah, .qpn = qpn, .qkey = qkey};
	l->sends = calloc(batch, sizeof *l->sends);
	l->receives = calloc(batch, sizeof *l->receives);
	l->sges = calloc(batch * MAX_ENTRIES, sizeof *l->sges);
	l->wc = calloc(batch, sizeof *l->wc);
	for (int i = 0; i < batch; i++) {
		struct ibv_sge *sges = &l->sges[i * MAX_ENTRIES];

		l->sends[i] = (struct ibv_send_wr){
			.next = i + 1 < batch ? &l->sends[i + 1] : NULL,
			.sg_list = sges,
			.num_sge = entries,
			.opcode = is_write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED | (is_inline ? IBV_SEND_INLINE : 0),
			.wr.rdma = {(uintptr_t)remote->addr, remote->rkey},
		};
		l->receives[i] = (struct ibv_recv_wr){
			.next = i + 1 < batch ? &l->receives[i + 1] : NULL,
			.sg_list = sges,
			.num_sge = entries,
		};
		for (int e = 0; e < MAX_ENTRIES; e++)
			sges[e] = (struct ibv_sge){(uintptr_t)mr->addr, BUFFER_SIZE, mr->lkey};
	}
	return l;
}

static inline void patch(struct lists *l, int i, uint64_t id)
{
	for (int e = 0; e < l->entries; e++) {
		struct ibv_sge *sge = &l->sges[i * MAX_ENTRIES + e];

		sge->addr = (uintptr_t)l->mr->addr + (id & 63) * BUFFER_SIZE;
		sge->length = BUFFER_SIZE;
		sge->lkey = l->mr->lkey;
	}
}

static inline int poll_batch(struct ibv_cq *cq, struct lists *l, uint64_t *sum)
{
	for (int done = 0; done < l->batch;) {
		int n = ibv_poll_cq(cq, l->batch - done, l->wc);

		if (n < 0)
			return n;
		for (int i = 0; i < n; i++) {
			if (l->wc[i].status != IBV_WC_SUCCESS)
				return -1;
			*sum += l->wc[i].wr_id + l->wc[i].byte_len;
		}
		done += n;
	}
	return 0;
}

EXPORT long post_sends(struct ibv_qp *qp, struct lists *l, long rounds)
{
	struct ibv_send_wr *bad;

	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < l->batch; i++) {
			l->sends[i].wr_id = l->id++;
			patch(l, i, l->id);
		}
		if (ibv_post_send(qp, l->sends, &bad))
			return -1;
	}
	return 0;
}

EXPORT long post_inline(struct ibv_qp *qp, struct lists *l, long rounds)
{
	struct ibv_send_wr *bad;

	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < l->batch; i++) {
			l->sends[i].wr_id = l->id++;
			*(volatile uint64_t *)(uintptr_t)l->sges[i * MAX_ENTRIES].addr = l->id;
		}
		if (ibv_post_send(qp, l->sends, &bad))
			return -1;
	}
	return 0;
}

EXPORT long post_wr(struct ibv_qp *qp, struct lists *l, long rounds)
{
	struct ibv_qp_ex *ex = (struct ibv_qp_ex *)qp; /* what ibv_qp_to_qp_ex returns */

	for (long round = 0; round < rounds; round++) {
		ibv_wr_start(ex);
		for (int i = 0; i < l->batch; i++) {
			ex->wr_id = l->id++;
			ex->wr_flags = IBV_SEND_SIGNALED;
			if (l->is_write)
				ibv_wr_rdma_write(ex, l->remote->rkey, (uintptr_t)l->remote->addr);
			else
				ibv_wr_send(ex);
			ibv_wr_set_sge(ex, l->mr->lkey, (uintptr_t)l->mr->addr + (l->id & 63) * BUFFER_SIZE,
				       BUFFER_SIZE);
			if (l->ah)
				ibv_wr_set_ud_addr(ex, l->ah, l->qpn, l->qkey);
		}
		if (ibv_wr_complete(ex))
			return -1;
	}
	return 0;
}

EXPORT long poll_all(struct ibv_cq *cq, struct lists *l, long rounds)
{
	uint64_t sum = 0;

	for (long round = 0; round < rounds; round++)
		if (poll_batch(cq, l, &sum))
			return -1;
	return (long)(sum >> 1);
}

EXPORT long poll_empty(struct ibv_cq *cq, struct lists *l, long rounds)
{
	long sum = 0;

	for (long round = 0; round < rounds; round++)
		sum += ibv_poll_cq(cq, l->batch, l->wc);
	return sum;
}

EXPORT long poll_cursor(struct ibv_cq_ex *cq, struct lists *l, long rounds)
{
	struct ibv_poll_cq_attr attr = {0};
	uint64_t sum = 0;

	for (long round = 0; round < rounds; round++) {
		if (ibv_start_poll(cq, &attr))
			return -1;
		for (int i = 0;;) {
			if (cq->status != IBV_WC_SUCCESS)
				return -1;
			sum += cq->wr_id + ibv_wc_read_byte_len(cq);
			if (++i == l->batch || ibv_next_poll(cq))
				break;
		}
		ibv_end_poll(cq);
	}
	return (long)(sum >> 1);
}

/* Polls, unless there is no cq, and posts receives again: to the srq if there is one. */
EXPORT long repost(struct ibv_qp *qp, struct ibv_srq *srq, struct ibv_cq *cq, struct lists *l, long rounds)
{
	struct ibv_recv_wr *bad;
	uint64_t sum = 0;

	for (long round = 0; round < rounds; round++) {
		if (cq && poll_batch(cq, l, &sum))
			return -1;
		for (int i = 0; i < l->batch; i++) {
			l->receives[i].wr_id = l->id++;
			patch(l, i, l->id);
		}
		if (srq ? ibv_post_srq_recv(srq, l->receives, &bad) : ibv_post_recv(qp, l->receives, &bad))
			return -1;
	}
	return (long)(sum >> 1);
}

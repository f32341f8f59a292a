/* The loops of Loops.java in C, on queues that Java made: verbena qualify compiles it on the host that it examines. */
#include <infiniband/verbs.h>
#include <time.h>

#define MAX_BATCH 16
#define POLLS 64
#define LIMIT 5000000000L

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

int empty_polls(struct ibv_cq *cq, long *times, int n)
{
	struct ibv_wc wc;

	for (int i = 0; i < n; i++) {
		long start = now();

		for (int p = 0; p < POLLS; p++)
			if (ibv_poll_cq(cq, 1, &wc))
				return -1;
		times[i] = (now() - start) / POLLS;
	}
	return 0;
}

/* Writes 8 bytes from the memory of a region to its second half. */
int posts(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_mr *mr, long half, int batch, long *posts, long *rounds, int n)
{
	struct ibv_sge sge = {(uintptr_t)mr->addr, 8, mr->lkey};
	struct ibv_send_wr list[MAX_BATCH] = {{0}}, *bad;
	struct ibv_wc wc;

	for (int i = 0; i < batch; i++)
		list[i] = (struct ibv_send_wr){
			.next = i + 1 < batch ? &list[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = i + 1 < batch ? 0 : IBV_SEND_SIGNALED,
			.wr.rdma = {(uintptr_t)mr->addr + half, mr->rkey},
		};
	for (int i = 0; i < n; i++) {
		long start = now(), posted;
		int found;

		if (ibv_post_send(qp, list, &bad))
			return -1;
		posted = now();
		while (!(found = ibv_poll_cq(cq, 1, &wc)))
			if (now() - start > LIMIT)
				return -2;
		if (found < 0 || wc.status != IBV_WC_SUCCESS)
			return -3;
		rounds[i] = now() - start;
		posts[i] = posted - start;
	}
	return 0;
}

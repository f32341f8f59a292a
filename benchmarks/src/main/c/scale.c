// Creates and destroys many objects of one kind, as Scale.java does.

#include <infiniband/verbs.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int mr_create(struct ibv_pd *pd, struct ibv_cq *cq, void *memory, long count, struct ibv_mr **objects)
{
	(void)cq;
	for (long i = 0; i < count; i++) {
		objects[i] = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
		if (!objects[i])
			return 1;
	}
	return 0;
}

EXPORT int mr_destroy(long count, struct ibv_mr **objects)
{
	for (long i = count; i-- > 0;)
		if (ibv_dereg_mr(objects[i]))
			return 1;
	return 0;
}

EXPORT int qp_create(struct ibv_pd *pd, struct ibv_cq *cq, void *memory, long count, struct ibv_qp **objects)
{
	(void)memory;
	for (long i = 0; i < count; i++) {
		struct ibv_qp_init_attr attr = {
			.send_cq = cq,
			.recv_cq = cq,
			.qp_type = IBV_QPT_RC,
			.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
		};
		objects[i] = ibv_create_qp(pd, &attr);
		if (!objects[i])
			return 1;
	}
	return 0;
}

EXPORT int qp_destroy(long count, struct ibv_qp **objects)
{
	for (long i = count; i-- > 0;)
		if (ibv_destroy_qp(objects[i]))
			return 1;
	return 0;
}

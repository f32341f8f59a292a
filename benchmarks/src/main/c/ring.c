/*
 * A libibverbs with one imaginary device, whose data path does what that of a
 * user-space provider does, modelled on how mlx5 drives its hardware: take the
 * queue's lock, write a work queue entry in the device's format (control,
 * address and data segments, big-endian), remember the id, publish the producer
 * index behind a barrier, ring a doorbell word. The imaginary device completes
 * each request on the spot, by writing a 64-byte completion entry; polling finds
 * it by its owner bit, decodes it and publishes the consumer index.
 *
 * Loaded in place of libibverbs, it gives the same queues to Java and to the C
 * loops of loops.c, which use verbs.h as every C program does.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define WRITE_BARRIER() __asm__ volatile("" ::: "memory")
#define FLUSH_WRITES() __asm__ volatile("sfence" ::: "memory")
#define READ_BARRIER() __asm__ volatile("" ::: "memory")
#else
#define WRITE_BARRIER() __atomic_thread_fence(__ATOMIC_RELEASE)
#define FLUSH_WRITES() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define READ_BARRIER() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

#define EXPORT __attribute__((visibility("default")))
#define MAX_ENTRIES 4
#define MAX_INLINE 256

struct cqe {
	uint64_t wr_id;
	__be32 qp_num;
	__be32 byte_len;
	__be32 imm;
	uint32_t status;
	uint32_t opcode;
	uint32_t flags;
	uint8_t pad[27];
	uint8_t is_send;
	__be16 wqe;
	uint8_t phase;
};
_Static_assert(sizeof(struct cqe) == 64, "one cache line");

struct ring_cq {
	struct ibv_cq_ex ex;
	pthread_spinlock_t lock;
	struct cqe *cqes;
	uint32_t mask, shift;
	uint32_t producer, consumer;
	volatile __be32 consumer_record;
	struct cqe *current;
};

struct wqe {
	__be32 opcode_index;
	__be32 qpn_size;
	uint32_t flags;
	__be32 imm;
	__be64 remote_addr;
	__be32 rkey;
	uint32_t reserved;
	union {
		struct {
			__be32 length;
			__be32 lkey;
			__be64 addr;
		} data[MAX_ENTRIES];
		uint8_t inlined[MAX_INLINE];
	};
};

struct recv_wqe {
	struct {
		__be32 length;
		__be32 lkey;
		__be64 addr;
	} data[MAX_ENTRIES];
};

struct ring_qp {
	struct ibv_qp_ex ex;
	int signal_all;
	uint32_t send_max, recv_max;

	pthread_spinlock_t send_lock;
	uint32_t send_mask, send_head, send_tail;
	struct wqe *send_wqes;
	uint64_t *send_ids;
	volatile __be32 send_record;
	volatile __be64 doorbell;

	pthread_spinlock_t recv_lock;
	uint32_t recv_mask, recv_head, recv_tail;
	struct recv_wqe *recv_wqes;
	uint64_t *recv_ids;
	volatile __be32 recv_record;

	/* ibv_wr_*: what is being built between start and complete */
	uint32_t built;
	struct wqe *building;
	uint32_t build_length;
};

static uint32_t power_of_two(uint32_t at_least)
{
	uint32_t n = 1;
	while (n < at_least)
		n <<= 1;
	return n;
}

static uint32_t log_two(uint32_t power)
{
	return (uint32_t)__builtin_ctz(power);
}

static void *zeroed(size_t size)
{
	void *memory = NULL;
	if (posix_memalign(&memory, 64, size))
		abort();
	return memset(memory, 0, size);
}

/* The device: completes a request as soon as the doorbell rings. */
static void complete(struct ring_cq *cq, uint64_t wr_id, uint32_t qpn, uint16_t index,
		     enum ibv_wc_opcode opcode, int is_send, uint32_t length)
{
	struct cqe *cqe = &cq->cqes[cq->producer & cq->mask];

	cqe->wr_id = wr_id;
	cqe->qp_num = htobe32(qpn);
	cqe->byte_len = htobe32(length);
	cqe->imm = 0;
	cqe->status = IBV_WC_SUCCESS;
	cqe->opcode = opcode;
	cqe->flags = 0;
	cqe->wqe = htobe16(index);
	cqe->is_send = (uint8_t)is_send;
	WRITE_BARRIER();
	cqe->phase = !((cq->producer >> cq->shift) & 1);
	cq->producer++;
}

static const enum ibv_wc_opcode completed[] = {
	[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND] = IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
	[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
};

static void ring_doorbell(struct ring_qp *qp, struct wqe *last)
{
	WRITE_BARRIER();
	qp->send_record = htobe32(qp->send_head & 0xffff);
	FLUSH_WRITES();
	qp->doorbell = *(volatile __be64 *)last;
	FLUSH_WRITES();
}

/* The device takes everything up to the doorbell: what is not signaled leaves no trace. */
static void execute(struct ring_qp *qp, uint32_t from)
{
	struct ring_cq *cq = (struct ring_cq *)qp->ex.qp_base.send_cq;

	for (uint32_t i = from; i != qp->send_head; i++) {
		struct wqe *wqe = &qp->send_wqes[i & qp->send_mask];
		uint32_t opcode = be32toh(wqe->opcode_index) & 0xff;

		if (wqe->flags & IBV_SEND_SIGNALED)
			complete(cq, qp->send_ids[i & qp->send_mask], qp->ex.qp_base.qp_num,
				 (uint16_t)i, completed[opcode], 1, 0);
		else if (qp->send_tail == i)
			qp->send_tail = i + 1;
	}
}

static int ring_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ring_qp *qp = (struct ring_qp *)ibqp;
	struct wqe *wqe = NULL;
	uint32_t first;
	int err = 0;

	pthread_spin_lock(&qp->send_lock);
	first = qp->send_head;
	for (; wr; wr = wr->next) {
		uint32_t index = qp->send_head & qp->send_mask;
		uint32_t size = 2;

		if (wr->opcode > IBV_WR_ATOMIC_FETCH_AND_ADD || wr->num_sge > MAX_ENTRIES) {
			err = EINVAL;
			*bad = wr;
			break;
		}
		if (qp->send_head - qp->send_tail >= qp->send_max) {
			err = ENOMEM;
			*bad = wr;
			break;
		}
		wqe = &qp->send_wqes[index];
		wqe->opcode_index = htobe32((qp->send_head & 0xffff) << 8 | wr->opcode);
		wqe->flags = wr->send_flags | (qp->signal_all ? IBV_SEND_SIGNALED : 0);
		wqe->imm = wr->imm_data;
		switch (wr->opcode) {
		case IBV_WR_RDMA_READ:
		case IBV_WR_RDMA_WRITE:
		case IBV_WR_RDMA_WRITE_WITH_IMM:
			wqe->remote_addr = htobe64(wr->wr.rdma.remote_addr);
			wqe->rkey = htobe32(wr->wr.rdma.rkey);
			break;
		default:
			break;
		}
		if (wr->send_flags & IBV_SEND_INLINE) {
			uint32_t length = 0;
			for (int i = 0; i < wr->num_sge; i++) {
				const struct ibv_sge *sge = &wr->sg_list[i];
				if (length + sge->length > MAX_INLINE) {
					err = ENOMEM;
					*bad = wr;
					goto out;
				}
				memcpy(wqe->inlined + length, (void *)(uintptr_t)sge->addr,
				       sge->length);
				length += sge->length;
			}
			size += (length + 15) / 16;
		} else {
			for (int i = 0; i < wr->num_sge; i++) {
				wqe->data[i].length = htobe32(wr->sg_list[i].length);
				wqe->data[i].lkey = htobe32(wr->sg_list[i].lkey);
				wqe->data[i].addr = htobe64(wr->sg_list[i].addr);
			}
			size += (uint32_t)wr->num_sge;
		}
		wqe->qpn_size = htobe32(ibqp->qp_num << 8 | size);
		qp->send_ids[index] = wr->wr_id;
		qp->send_head++;
	}
out:
	if (qp->send_head != first) {
		ring_doorbell(qp, wqe);
		execute(qp, first);
	}
	pthread_spin_unlock(&qp->send_lock);
	return err;
}

static int ring_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct ring_qp *qp = (struct ring_qp *)ibqp;
	struct ring_cq *cq = (struct ring_cq *)ibqp->recv_cq;
	int err = 0;
	uint32_t first;

	pthread_spin_lock(&qp->recv_lock);
	first = qp->recv_head;
	for (; wr; wr = wr->next) {
		uint32_t index = qp->recv_head & qp->recv_mask;
		struct recv_wqe *wqe = &qp->recv_wqes[index];

		if (wr->num_sge > MAX_ENTRIES) {
			err = EINVAL;
			*bad = wr;
			break;
		}
		if (qp->recv_head - qp->recv_tail >= qp->recv_max) {
			err = ENOMEM;
			*bad = wr;
			break;
		}
		for (int i = 0; i < wr->num_sge; i++) {
			wqe->data[i].length = htobe32(wr->sg_list[i].length);
			wqe->data[i].lkey = htobe32(wr->sg_list[i].lkey);
			wqe->data[i].addr = htobe64(wr->sg_list[i].addr);
		}
		qp->recv_ids[index] = wr->wr_id;
		qp->recv_head++;
	}
	WRITE_BARRIER();
	qp->recv_record = htobe32(qp->recv_head & 0xffff);
	/* The device: a message is there for every receive. */
	for (uint32_t i = first; i != qp->recv_head; i++)
		complete(cq, qp->recv_ids[i & qp->recv_mask], ibqp->qp_num, (uint16_t)i,
			 IBV_WC_RECV, 0, be32toh(qp->recv_wqes[i & qp->recv_mask].data[0].length));
	pthread_spin_unlock(&qp->recv_lock);
	return err;
}

static struct ring_qp *the_qps[1024];

static struct cqe *next_cqe(struct ring_cq *cq)
{
	struct cqe *cqe;

	cqe = &cq->cqes[cq->consumer & cq->mask];
	if (cqe->phase != !((cq->consumer >> cq->shift) & 1))
		return NULL;
	READ_BARRIER();
	return cqe;
}

static void consume(struct ring_cq *cq, struct cqe *cqe)
{
	struct ring_qp *qp = the_qps[be32toh(cqe->qp_num) % 1024];
	uint32_t next = be16toh(cqe->wqe) + 1u;

	if (cqe->is_send)
		qp->send_tail += (uint16_t)(next - qp->send_tail);
	else
		qp->recv_tail += (uint16_t)(next - qp->recv_tail);
	cq->consumer++;
}

static int ring_poll_cq(struct ibv_cq *ibcq, int max, struct ibv_wc *wc)
{
	struct ring_cq *cq = (struct ring_cq *)ibcq;
	int n = 0;

	pthread_spin_lock(&cq->lock);
	for (; n < max; n++, wc++) {
		struct cqe *cqe = next_cqe(cq);

		if (!cqe)
			break;
		wc->wr_id = cqe->wr_id;
		wc->status = cqe->status;
		wc->opcode = cqe->opcode;
		wc->vendor_err = 0;
		wc->byte_len = be32toh(cqe->byte_len);
		wc->imm_data = cqe->imm;
		wc->qp_num = be32toh(cqe->qp_num);
		wc->wc_flags = cqe->flags;
		consume(cq, cqe);
	}
	if (n)
		cq->consumer_record = htobe32(cq->consumer & 0xffffff);
	pthread_spin_unlock(&cq->lock);
	return n;
}

static int ring_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return 0;
}

/* Extended completion queue */

static int ring_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct ring_cq *cq = (struct ring_cq *)ex;

	if (attr->comp_mask)
		return EINVAL;
	pthread_spin_lock(&cq->lock);
	cq->current = next_cqe(cq);
	if (!cq->current) {
		pthread_spin_unlock(&cq->lock);
		return ENOENT;
	}
	ex->wr_id = cq->current->wr_id;
	ex->status = cq->current->status;
	return 0;
}

static int ring_next_poll(struct ibv_cq_ex *ex)
{
	struct ring_cq *cq = (struct ring_cq *)ex;

	consume(cq, cq->current);
	cq->current = next_cqe(cq);
	if (!cq->current)
		return ENOENT;
	ex->wr_id = cq->current->wr_id;
	ex->status = cq->current->status;
	return 0;
}

static void ring_end_poll(struct ibv_cq_ex *ex)
{
	struct ring_cq *cq = (struct ring_cq *)ex;

	if (cq->current)
		consume(cq, cq->current);
	cq->consumer_record = htobe32(cq->consumer & 0xffffff);
	pthread_spin_unlock(&cq->lock);
}

static enum ibv_wc_opcode ring_read_opcode(struct ibv_cq_ex *ex)
{
	return ((struct ring_cq *)ex)->current->opcode;
}

static uint32_t ring_read_byte_len(struct ibv_cq_ex *ex)
{
	return be32toh(((struct ring_cq *)ex)->current->byte_len);
}

static uint32_t ring_read_qp_num(struct ibv_cq_ex *ex)
{
	return be32toh(((struct ring_cq *)ex)->current->qp_num);
}

static unsigned int ring_read_wc_flags(struct ibv_cq_ex *ex)
{
	return ((struct ring_cq *)ex)->current->flags;
}

static __be32 ring_read_imm_data(struct ibv_cq_ex *ex)
{
	return ((struct ring_cq *)ex)->current->imm;
}

static uint32_t ring_read_vendor_err(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

/* ibv_wr_* */

static void wr_start(struct ibv_qp_ex *ex)
{
	struct ring_qp *qp = (struct ring_qp *)ex;

	pthread_spin_lock(&qp->send_lock);
	qp->built = 0;
}

static void wr_build(struct ring_qp *qp, enum ibv_wr_opcode opcode)
{
	uint32_t position = qp->send_head + qp->built++;
	uint32_t index = position & qp->send_mask;

	qp->building = &qp->send_wqes[index];
	qp->building->opcode_index = htobe32((position & 0xffff) << 8 | opcode);
	qp->building->flags = qp->ex.wr_flags | (qp->signal_all ? IBV_SEND_SIGNALED : 0);
	qp->building->imm = 0;
	qp->send_ids[index] = qp->ex.wr_id;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	wr_build((struct ring_qp *)ex, IBV_WR_SEND);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	struct ring_qp *qp = (struct ring_qp *)ex;

	wr_build(qp, IBV_WR_RDMA_WRITE);
	qp->building->remote_addr = htobe64(remote_addr);
	qp->building->rkey = htobe32(rkey);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ring_qp *qp = (struct ring_qp *)ex;

	qp->building->data[0].length = htobe32(length);
	qp->building->data[0].lkey = htobe32(lkey);
	qp->building->data[0].addr = htobe64(addr);
	qp->building->qpn_size = htobe32(qp->ex.qp_base.qp_num << 8 | 3);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct ring_qp *qp = (struct ring_qp *)ex;
	uint32_t first = qp->send_head;
	int err = qp->send_head + qp->built - qp->send_tail > qp->send_max ? ENOMEM : 0;

	if (!err && qp->built) {
		qp->send_head += qp->built;
		ring_doorbell(qp, qp->building);
		execute(qp, first);
	}
	pthread_spin_unlock(&qp->send_lock);
	return err;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	pthread_spin_unlock(&((struct ring_qp *)ex)->send_lock);
}

/* Control path */

static struct ring_cq *new_cq(struct ibv_context *context, int entries)
{
	struct ring_cq *cq = zeroed(sizeof *cq);
	uint32_t n = power_of_two((uint32_t)entries);

	cq->ex.context = context;
	cq->ex.cqe = (int)n;
	cq->mask = n - 1;
	cq->shift = log_two(n);
	cq->cqes = zeroed(n * sizeof *cq->cqes);
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	return cq;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
				    struct ibv_comp_channel *channel, int vector)
{
	(void)cq_context;
	(void)channel;
	(void)vector;
	return (struct ibv_cq *)new_cq(context, entries);
}

static struct ibv_cq_ex *ring_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr)
{
	struct ring_cq *cq = new_cq(context, (int)attr->cqe);

	cq->ex.start_poll = ring_start_poll;
	cq->ex.next_poll = ring_next_poll;
	cq->ex.end_poll = ring_end_poll;
	cq->ex.read_opcode = ring_read_opcode;
	cq->ex.read_byte_len = ring_read_byte_len;
	cq->ex.read_qp_num = ring_read_qp_num;
	cq->ex.read_wc_flags = ring_read_wc_flags;
	cq->ex.read_imm_data = ring_read_imm_data;
	cq->ex.read_vendor_err = ring_read_vendor_err;
	return &cq->ex;
}

EXPORT int ibv_destroy_cq(struct ibv_cq *ibcq)
{
	struct ring_cq *cq = (struct ring_cq *)ibcq;

	free(cq->cqes);
	free(cq);
	return 0;
}

static struct ring_qp *new_qp(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *send_cq,
			      struct ibv_cq *recv_cq, struct ibv_qp_cap *cap,
			      enum ibv_qp_type type, int signal_all)
{
	static uint32_t last_number;
	struct ring_qp *qp = zeroed(sizeof *qp);
	struct ibv_qp *base = &qp->ex.qp_base;
	uint32_t sends, receives;

	if (cap->max_send_sge > MAX_ENTRIES || cap->max_recv_sge > MAX_ENTRIES ||
	    cap->max_inline_data > MAX_INLINE) {
		free(qp);
		errno = EINVAL;
		return NULL;
	}
	sends = power_of_two(cap->max_send_wr);
	receives = power_of_two(cap->max_recv_wr);
	cap->max_send_wr = sends;
	cap->max_recv_wr = receives;
	base->context = context;
	base->pd = pd;
	base->send_cq = send_cq;
	base->recv_cq = recv_cq;
	base->qp_type = type;
	base->state = IBV_QPS_RTS;
	base->qp_num = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED) % 1024;
	qp->signal_all = signal_all;
	qp->send_max = sends;
	qp->send_mask = sends - 1;
	qp->send_wqes = zeroed(sends * sizeof *qp->send_wqes);
	qp->send_ids = zeroed(sends * sizeof *qp->send_ids);
	qp->recv_max = receives;
	qp->recv_mask = receives - 1;
	qp->recv_wqes = zeroed(receives * sizeof *qp->recv_wqes);
	qp->recv_ids = zeroed(receives * sizeof *qp->recv_ids);
	pthread_spin_init(&qp->send_lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&qp->recv_lock, PTHREAD_PROCESS_PRIVATE);
	the_qps[base->qp_num] = qp;
	return qp;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return (struct ibv_qp *)new_qp(pd->context, pd, attr->send_cq, attr->recv_cq, &attr->cap,
				       attr->qp_type, attr->sq_sig_all);
}

static struct ibv_qp *ring_create_qp_ex(struct ibv_context *context,
					struct ibv_qp_init_attr_ex *attr)
{
	struct ring_qp *qp = new_qp(context, attr->pd, attr->send_cq, attr->recv_cq, &attr->cap,
				    attr->qp_type, attr->sq_sig_all);

	if (!qp)
		return NULL;
	qp->ex.wr_start = wr_start;
	qp->ex.wr_send = wr_send;
	qp->ex.wr_rdma_write = wr_rdma_write;
	qp->ex.wr_set_sge = wr_set_sge;
	qp->ex.wr_complete = wr_complete;
	qp->ex.wr_abort = wr_abort;
	return &qp->ex.qp_base;
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return (struct ibv_qp_ex *)qp;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	struct ring_qp *qp = (struct ring_qp *)ibqp;

	free(qp->send_wqes);
	free(qp->send_ids);
	free(qp->recv_wqes);
	free(qp->recv_ids);
	free(qp);
	return 0;
}

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = zeroed(sizeof *pd);

	pd->context = context;
	return pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

#undef ibv_reg_mr
EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	static uint32_t last_key;
	struct ibv_mr *mr = zeroed(sizeof *mr);

	(void)access;
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->lkey = mr->rkey = __atomic_add_fetch(&last_key, 1, __ATOMIC_RELAXED) << 8;
	return mr;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

static struct ibv_device device = {
	.node_type = IBV_NODE_CA,
	.transport_type = IBV_TRANSPORT_IB,
	.name = "ring0",
	.dev_name = "ring0",
};

EXPORT struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list = zeroed(2 * sizeof *list);

	list[0] = &device;
	if (count)
		*count = 1;
	return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *dev)
{
	(void)dev;
	return htobe64(1);
}

EXPORT int ibv_get_device_index(struct ibv_device *dev)
{
	(void)dev;
	return 0;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	struct verbs_context *around = zeroed(sizeof *around);
	struct ibv_context *context = &around->context;

	around->sz = sizeof *around;
	around->create_cq_ex = ring_create_cq_ex;
	around->create_qp_ex = ring_create_qp_ex;
	context->device = dev;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	context->num_comp_vectors = 2;
	context->ops.post_send = ring_post_send;
	context->ops.post_recv = ring_post_recv;
	context->ops.poll_cq = ring_poll_cq;
	context->ops.req_notify_cq = ring_req_notify_cq;
	return context;
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	free(verbs_get_ctx(context));
	return 0;
}

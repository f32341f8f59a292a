// The commands that libmlx5 gives by ioctl(2) alone: device memory, DMA handles, counters of flow rules, and imports of what
// another context of the same open file has made.
#define _GNU_SOURCE
#include "mlx5.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// --- <rdma/ib_user_ioctl_cmds.h> of rdma-core 65 ---

enum { OBJECT_DMAH = 17, OBJECT_DMABUF = 18, METHOD_REG_MR = 5 };
enum { DMAH_HANDLE, DMAH_CPU, DMAH_TYPE, DMAH_HINT };
enum { EXPORT_HANDLE, EXPORT_OFFSET };
enum {
  REG_HANDLE,
  REG_PD,
  REG_DMAH,
  REG_IOVA,
  REG_ADDRESS,
  REG_LENGTH,
  REG_ACCESS,
  REG_FILE,
  REG_FILE_OFFSET,
  REG_RESP_LKEY,
  REG_RESP_RKEY
};

// --- device memory ---

enum { PAGES = DEVICE_MEMORY_BYTES / PAGE };

static struct device_memory *memories[DEVICES][PAGES]; // by page

// The first of as many pages that are free, or -1.
static int free_pages(int device, unsigned count) {
  for (unsigned page = 0, run = 0; page < PAGES; page++) {
    run = memories[device][page] ? 0 : run + 1;
    if (run == count) {
      return (int)(page + 1 - count);
    }
  }
  return -1;
}

static struct device_memory *memory_at(int device, unsigned page) {
  struct device_memory *memory = page < PAGES ? memories[device][page] : NULL;
  return memory && memory->page == page ? memory : NULL;
}

void *map_device_memory(int device, unsigned page, size_t length, int protection) {
  struct device_memory *memory = memory_at(device, page);
  if (!memory || length > (size_t)memory->pages * PAGE) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, NULL, length, protection, MAP_SHARED, memory->file, 0);
}

// Regions of DMA buffers that were exported lose their memory: their file has no bytes any more.
void free_device_memory(struct device_memory *memory) {
  for (unsigned i = 0; i < memory->pages; i++) {
    memories[memory->object.context->device][memory->page + i] = NULL;
  }
  revoke_dma_buffer(memory->file);
  munmap(memory->bytes, (size_t)memory->pages * PAGE);
  close(memory->file);
}

static int alloc_dm(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  uint64_t length = value(header, UVERBS_ATTR_ALLOC_DM_LENGTH);
  unsigned pages = (length + PAGE - 1) / PAGE;
  if (value(header, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE) != MLX5_IB_UAPI_DM_TYPE_MEMIC) {
    return EOPNOTSUPP;
  }
  if (!length || length > DEVICE_MEMORY_BYTES) {
    return EINVAL;
  }
  int page = free_pages(context->device, pages);
  int file = page < 0 ? -1 : memfd_create("emulated-mlx5", MFD_CLOEXEC);
  void *bytes = file < 0 || ftruncate(file, (off_t)pages * PAGE)
                    ? MAP_FAILED
                    : (void *)syscall(SYS_mmap, NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  struct device_memory *memory = bytes == MAP_FAILED ? NULL : new_object(context, DM, sizeof *memory, 0);
  if (!memory) {
    if (bytes != MAP_FAILED) {
      munmap(bytes, (size_t)pages * PAGE);
    }
    if (file >= 0) {
      close(file);
    }
    return ENOMEM;
  }
  memory->page = page;
  memory->pages = pages;
  memory->length = length;
  memory->file = file;
  memory->bytes = bytes;
  for (unsigned i = 0; i < pages; i++) {
    memories[context->device][page + i] = memory;
  }
  set_handle(header, UVERBS_ATTR_ALLOC_DM_HANDLE, memory->object.handle);
  PUT(header, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, uint64_t, 0);
  PUT(header, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, uint16_t, page);
  return 0;
}

static int free_dm(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct object *memory = find(context, DM, value(header, UVERBS_ATTR_FREE_DM_HANDLE));
  return memory ? destroy(memory) : EINVAL;
}

static int query_dm(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct device_memory *memory = find(context, DM, value(header, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE));
  if (!memory) {
    return EINVAL;
  }
  PUT(header, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, uint64_t, 0);
  PUT(header, MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, uint16_t, memory->page);
  PUT(header, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, uint64_t, memory->length);
  return 0;
}

// Addresses of the region begin at 0.
static int reg_dm_mr(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct object *pd = find(context, PD, value(header, UVERBS_ATTR_REG_DM_MR_PD_HANDLE));
  struct device_memory *memory = find(context, DM, value(header, UVERBS_ATTR_REG_DM_MR_DM_HANDLE));
  uint64_t offset = value(header, UVERBS_ATTR_REG_DM_MR_OFFSET), length = value(header, UVERBS_ATTR_REG_DM_MR_LENGTH);
  unsigned access = value(header, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS);
  if (!pd || !memory || !(access & ZERO_BASED) || check_access(access) || offset > memory->length || length > memory->length - offset) {
    return EINVAL;
  }
  struct mkey *region = new_region(pd, 0, (uint64_t)(memory->bytes + offset), length, access);
  if (!region) {
    return errno;
  }
  use(region->memory = &memory->object);
  set_handle(header, UVERBS_ATTR_REG_DM_MR_HANDLE, region->object.handle);
  PUT(header, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, uint32_t, region->key);
  PUT(header, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, uint32_t, region->key);
  return 0;
}

// A descriptor of a DMA buffer that is the device memory which a context maps at an offset.
static int export_dm(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  static const struct mandatory needed[] = {{EXPORT_HANDLE, 0}, {EXPORT_OFFSET, 8}};
  unsigned page;
  struct device_memory *memory = NULL;
  if (has_attributes(header, sizeof needed / sizeof *needed, needed) &&
      is_device_memory(value(header, EXPORT_OFFSET), &page)) {
    memory = memory_at(context->device, page);
  }
  if (!memory || memory->object.context != context) {
    return EINVAL;
  }
  int file = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) {
    return EMFILE;
  }
  set_handle(header, EXPORT_HANDLE, file);
  return 0;
}

// --- DMA handles: hints, which change nothing here ---

static int alloc_dmah(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  static const struct mandatory needed[] = {{DMAH_HANDLE, 0}};
  struct ib_uverbs_attr *cpu = attribute(header, DMAH_CPU), *type = attribute(header, DMAH_TYPE),
                        *hint = attribute(header, DMAH_HINT);
  if (!has_attributes(header, 1, needed) || (cpu && cpu->len != sizeof(uint32_t)) || (hint && hint->len != 1)) {
    return EINVAL;
  }
  if (type && type->attr_data.enum_data.elem_id > 1) { // volatile, persistent
    return EOPNOTSUPP;
  }
  if (cpu) {
    cpu_set_t allowed;
    uint32_t number = cpu->data;
    if (number >= CPU_SETSIZE) {
      return EINVAL;
    }
    if (sched_getaffinity(0, sizeof allowed, &allowed) || !CPU_ISSET(number, &allowed)) {
      return EPERM;
    }
  }
  // A hint is needed; a steering tag follows from the processor and the type of the memory together.
  if (!hint || hint->data & 0xfc || !cpu != !type) {
    return EINVAL;
  }
  struct object *handle = new_object(context, DMAH, sizeof *handle, 0);
  if (!handle) {
    return errno;
  }
  set_handle(header, DMAH_HANDLE, handle->handle);
  return 0;
}

static int free_dmah(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct object *handle = find(context, DMAH, value(header, DMAH_HANDLE));
  return handle ? destroy(handle) : EINVAL;
}

// What ibv_reg_mr_ex(3) gives: memory of the program or of a DMA buffer, with or without a handle.
static int reg_mr_ioctl(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  static const struct mandatory needed[] = {{REG_HANDLE, 0}, {REG_PD, 0},        {REG_IOVA, 8},     {REG_LENGTH, 8},
                                            {REG_ACCESS, 4}, {REG_RESP_LKEY, 4}, {REG_RESP_RKEY, 4}};
  struct ib_uverbs_attr *address = attribute(header, REG_ADDRESS), *file = attribute(header, REG_FILE),
                        *offset = attribute(header, REG_FILE_OFFSET), *hint = attribute(header, REG_DMAH);
  struct object *pd = find(context, PD, value(header, REG_PD)), *dmah = hint ? find(context, DMAH, hint->data) : NULL;
  uint64_t iova = value(header, REG_IOVA), length = value(header, REG_LENGTH);
  unsigned access = value(header, REG_ACCESS);
  if (!has_attributes(header, sizeof needed / sizeof *needed, needed) || !pd || (hint && !dmah) || !file != !offset ||
      !file == !address || (address && address->len != sizeof(uint64_t)) || (offset && offset->len != sizeof(uint64_t)) ||
      (file && access & ~DMA_BUFFER_ACCESS)) {
    return EINVAL;
  }
  int error = check_access(access);
  if (error) {
    return error;
  }
  struct mkey *region = file ? register_dma_buffer(pd, (int)file->data, offset->data, iova, length, access)
                             : register_memory(pd, address->data, iova, length, access);
  if (!region) {
    return errno;
  }
  use(region->hint = dmah);
  set_handle(header, REG_HANDLE, region->object.handle);
  PUT(header, REG_RESP_LKEY, uint32_t, region->key);
  PUT(header, REG_RESP_RKEY, uint32_t, region->key);
  return 0;
}

// --- imports: another context of the same open file has the same objects, and creates queues by ioctl(2) alone ---

static int query_context(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  if (!context->async) {
    return EINVAL;
  }
  struct mlx5_ib_alloc_ucontext_resp driver = mlx5_context_answer();
  // Without tot_bfregs: it allocates its doorbell registers.
  PUT(header, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, uint32_t, COMPLETION_VECTORS);
  PUT(header, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, uint64_t, 0);
  put(header, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &driver, sizeof driver);
  return 0;
}

static int alloc_async_events(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  (void)context;
  int fd = create_async_events();
  set_handle(header, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, fd);
  return fd < 0 ? EMFILE : 0;
}

// The part of a command that is the driver's.
static struct call call_of(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct ib_uverbs_attr *in = attribute(header, UVERBS_ATTR_UHW_IN), *out = attribute(header, UVERBS_ATTR_UHW_OUT);
  struct call call = {.context = context, .header = header};
  if (in) {
    call.driver_in = content(in);
    call.driver_in_size = in->len;
  }
  if (out) {
    call.driver_out = (void *)(uintptr_t)out->data;
    call.driver_out_size = out->len;
  }
  return call;
}

static int create_cq(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct call call = call_of(context, header);
  struct ib_uverbs_attr *channel = attribute(header, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
  uint32_t entries = value(header, UVERBS_ATTR_CREATE_CQ_CQE);
  struct cq *cq = new_cq(&call, value(header, UVERBS_ATTR_CREATE_CQ_USER_HANDLE), entries,
                         value(header, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR), channel ? (int)channel->data : -1,
                         value(header, UVERBS_ATTR_CREATE_CQ_FLAGS));
  if (!cq) {
    return errno;
  }
  set_handle(header, UVERBS_ATTR_CREATE_CQ_HANDLE, cq->object.handle);
  PUT(header, UVERBS_ATTR_CREATE_CQ_RESP_CQE, uint32_t, entries);
  return 0;
}

static int create_qp(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct call call = call_of(context, header);
  struct ib_uverbs_attr *cap = attribute(header, UVERBS_ATTR_CREATE_QP_CAP);
  struct ib_uverbs_attr *domain = attribute(header, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE);
  struct ib_uverbs_attr *srq = attribute(header, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
  struct ib_uverbs_attr *table = attribute(header, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE);
  uint32_t flags = value(header, UVERBS_ATTR_CREATE_QP_FLAGS);
  struct ib_uverbs_ex_create_qp in = {
      .user_handle = value(header, UVERBS_ATTR_CREATE_QP_USER_HANDLE),
      .pd_handle = domain ? domain->data : value(header, UVERBS_ATTR_CREATE_QP_PD_HANDLE),
      .send_cq_handle = value(header, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
      .recv_cq_handle = value(header, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
      .srq_handle = srq ? srq->data : 0,
      .is_srq = srq != NULL,
      .qp_type = value(header, UVERBS_ATTR_CREATE_QP_TYPE),
      .sq_sig_all = flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL ? 1 : 0,
      .create_flags = flags & ~(uint32_t)IB_UVERBS_QP_CREATE_SQ_SIG_ALL,
  };
  if (!cap || cap->len < sizeof(struct ib_uverbs_qp_cap)) {
    return EINVAL;
  }
  if (table) {
    in.comp_mask = IB_UVERBS_CREATE_QP_MASK_IND_TABLE;
    in.rwq_ind_tbl_handle = table->data;
  }
  memcpy(&in.max_send_wr, (const void *)(uintptr_t)cap->data, sizeof(struct ib_uverbs_qp_cap));
  struct qp *qp;
  int error = new_qp(&call, &in, &qp);
  if (!error) {
    set_handle(header, UVERBS_ATTR_CREATE_QP_HANDLE, handle_of(qp));
    put(header, UVERBS_ATTR_CREATE_QP_RESP_CAP, qp->caps, sizeof qp->caps);
    PUT(header, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, uint32_t, qp->number);
  }
  return error;
}

static int query_pd(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct object *pd = find(context, PD, value(header, MLX5_IB_ATTR_QUERY_PD_HANDLE));
  if (!pd) {
    return EINVAL;
  }
  PUT(header, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, uint32_t, pd->handle);
  return 0;
}

static int query_mr(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct mkey *region = find(context, MR, value(header, UVERBS_ATTR_QUERY_MR_HANDLE));
  if (!region) {
    return EINVAL;
  }
  PUT(header, UVERBS_ATTR_QUERY_MR_RESP_LKEY, uint32_t, region->key);
  PUT(header, UVERBS_ATTR_QUERY_MR_RESP_RKEY, uint32_t, region->key);
  PUT(header, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, uint64_t, region->length);
  return 0;
}

// --- counters of flow rules ---

static int make_counters(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct counters *counters;
  int error = create_counters(context, &counters);
  if (!error) {
    set_handle(header, UVERBS_ATTR_CREATE_COUNTERS_HANDLE, counters->object.handle);
  }
  return error;
}

static int destroy_counters(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct object *counters = find(context, COUNTERS, value(header, UVERBS_ATTR_DESTROY_COUNTERS_HANDLE));
  return counters ? destroy(counters) : EINVAL;
}

static int query_counters(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct counters *counters = find(context, COUNTERS, value(header, UVERBS_ATTR_READ_COUNTERS_HANDLE));
  struct ib_uverbs_attr *buffer = attribute(header, UVERBS_ATTR_READ_COUNTERS_BUFF);
  if (!counters || !buffer || buffer->len % sizeof(uint64_t)) {
    return EINVAL;
  }
  static uint64_t values[UINT16_MAX / sizeof(uint64_t)]; // guarded by the lock
  int error = read_counters(counters, values, buffer->len / sizeof(uint64_t));
  if (!error) {
    put(header, UVERBS_ATTR_READ_COUNTERS_BUFF, values, buffer->len);
  }
  return error;
}

// --- commands ---

#define METHOD(object, method) ((object) << 16 | (method))

static int unsupported(struct ib_uverbs_ioctl_hdr *header) {
  switch (header->object_id) {
  case UVERBS_OBJECT_MR:
    if (header->method_id == UVERBS_METHOD_MR_DESTROY) {
      return EPROTONOSUPPORT;
    }
    break;
  case UVERBS_OBJECT_DM:
  case UVERBS_OBJECT_FLOW_ACTION:
    break;
  default:
    if (header->object_id < 0x1000 && header->method_id < 0x1000) {
      return EPROTONOSUPPORT; // libibverbs gives the command by write(2), or reads sysfs
    }
  }
  return unknown_call("ioctl of object %#x, method %#x", header->object_id, header->method_id);
}

int mlx5_control(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  switch (METHOD(header->object_id, header->method_id)) {
  case METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT):
    return by_ioctl ? EPROTONOSUPPORT : ENOTTY; // or libibverbs gives all commands by write(2) if it can
  case METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE):
    return by_ioctl ? invoke_write(context, header) : EPROTONOSUPPORT;
  case METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER):
    return EOPNOTSUPP; // libmlx5 asks for the firmware's capabilities and does without
  case METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT):
    return query_context(context, header);
  case METHOD(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC):
    return alloc_async_events(context, header);
  case METHOD(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC):
    return alloc_uar(context, header);
  case METHOD(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY):
    return free_uar(context, header);
  case METHOD(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE):
    return create_cq(context, header);
  case METHOD(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE):
    return create_qp(context, header);
  case METHOD(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY):
    return query_pd(context, header);
  case METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR):
    return query_mr(context, header);
  case METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG):
    return reg_dm_mr(context, header);
  case METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR):
    return reg_dmabuf_mr(context, header, LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC);
  case METHOD(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_ESP_CREATE):
    return create_action(context, header);
  case METHOD(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_ESP_MODIFY):
    return modify_action(context, header);
  case METHOD(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_DESTROY):
    return destroy_action(context, header);
  case METHOD(UVERBS_OBJECT_MR, METHOD_REG_MR):
    return reg_mr_ioctl(context, header);
  case METHOD(OBJECT_DMAH, 0):
    return alloc_dmah(context, header);
  case METHOD(OBJECT_DMAH, 1):
    return free_dmah(context, header);
  case METHOD(OBJECT_DMABUF, 0):
    return export_dm(context, header);
  case METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC):
    return alloc_dm(context, header);
  case METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE):
    return free_dm(context, header);
  case METHOD(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY):
    return query_dm(context, header);
  case METHOD(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_CREATE):
    return make_counters(context, header);
  case METHOD(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_DESTROY):
    return destroy_counters(context, header);
  case METHOD(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_READ):
    return query_counters(context, header);
  default:
    return unsupported(header);
  }
}

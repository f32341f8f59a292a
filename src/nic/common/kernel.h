// The emulated kernel: what the commands of a device type (mlx5, efa) and its engine share.
//
// Everything is guarded by one lock. Structures of the kernel's interface come from the system's <rdma/*.h>.
#pragma once

#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum kind { PD = 1, MR, MW, CQ, QP, SRQ, AH, XRCD, WQ, TABLE, FLOW, DM, UAR, COUNTER, DMAH, ACTION, OPENED, COUNTERS };

enum state { RESET, INIT, RTR, RTS, SQD, SQE, ERR };

enum access {
  LOCAL_WRITE = 1,
  REMOTE_WRITE = 2,
  REMOTE_READ = 4,
  REMOTE_ATOMIC = 8,
  MW_BIND = 16,
  ZERO_BASED = 32,
  RELAXED_ORDERING = 1 << 20,
};

// Asynchronous events, enum ibv_event_type.
enum {
  EVENT_CQ_ERR = 0,
  EVENT_QP_FATAL = 1,
  EVENT_QP_REQ_ERR = 2,
  EVENT_QP_ACCESS_ERR = 3,
  EVENT_COMM_EST = 4,
  EVENT_SQ_DRAINED = 5,
  EVENT_PORT_ACTIVE = 9,
  EVENT_PORT_ERR = 10,
  EVENT_SRQ_LIMIT_REACHED = 15,
  EVENT_QP_LAST_WQE_REACHED = 16,
  EVENT_WQ_FATAL = 19,
};

// The attributes of a transition, enum ibv_qp_attr_mask.
enum {
  A_STATE = 1 << 0,
  A_CURRENT = 1 << 1,
  A_SQD_NOTIFY = 1 << 2,
  A_ACCESS = 1 << 3,
  A_PKEY = 1 << 4,
  A_PORT = 1 << 5,
  A_QKEY = 1 << 6,
  A_AV = 1 << 7,
  A_MTU = 1 << 8,
  A_TIMEOUT = 1 << 9,
  A_RETRY = 1 << 10,
  A_RNR = 1 << 11,
  A_RQ_PSN = 1 << 12,
  A_MAX_RD = 1 << 13,
  A_ALT = 1 << 14,
  A_RNR_TIMER = 1 << 15,
  A_SQ_PSN = 1 << 16,
  A_MAX_DEST_RD = 1 << 17,
  A_MIG = 1 << 18,
  A_CAP = 1 << 19,
  A_DEST = 1 << 20,
  A_RATE = 1 << 25,
};

struct object;

// The events of a completion channel, or the asynchronous events of a context. The descriptor is an eventfd that counts
// them, so that poll(2) works; read(2) on it is answered from here.
struct event {
  struct object *object;
  uint64_t element;
  uint32_t type;
};

struct events {
  int fd;
  bool completions;
  bool closed;
  unsigned users;
  unsigned first, count, capacity;
  struct event *ring;
};

struct context {
  unsigned descriptors; // that name it
  int device;
  bool port_down;
  struct events *async;
  unsigned registers, low_latency_registers, next_register; // doorbell registers of mlx5
};

// What every object has. The other fields follow in structures whose first member this is.
struct object {
  enum kind kind;
  uint32_t handle;
  struct context *context;
  unsigned users;
  uint64_t user_handle;
  unsigned completions_reported, async_reported; // events that were read
};

// A memory region or a memory window, as the NIC sees them.
struct mkey {
  struct object object;
  uint32_t key; // index << 8 | variant
  struct object *pd;
  bool window, free;
  unsigned type; // of a window
  uint32_t qpn;  // to which a window of type 2 is bound; 0: any
  uint64_t start, length, address;
  unsigned access;
  struct mkey *region;   // below a bound window
  struct object *memory; // device memory of which it is a region
  struct object *hint;   // the DMA handle
  void *mapping;         // of a DMA buffer
  ino_t file;            // and its file
  dev_t file_system;
  size_t mapping_length;
};

// A list in which any element is unlinked in constant time.
#define LINK(element, list) \
  do { \
    (element)->next = (list); \
    (element)->at = &(list); \
    if (list) { \
      (list)->at = &(element)->next; \
    } \
    (list) = (element); \
  } while (0)
#define UNLINK(element) \
  do { \
    *(element)->at = (element)->next; \
    if ((element)->next) { \
      (element)->next->at = (element)->at; \
    } \
  } while (0)

// --- commands ---

struct call {
  struct context *context;
  struct ib_uverbs_ioctl_hdr *header; // if it is not in the form of write(2)
  const void *in;
  size_t in_size; // with the driver's part
  const void *driver_in;
  size_t driver_in_size;
  void *out;
  size_t out_size;
  void *driver_out;
  size_t driver_out_size;
};

// A command, and its sizes without and with the answer; 0: no answer.
struct command {
  int (*run)(struct call *);
  size_t in, out;
};
#define COMMAND(number, run, in, out) [number] = {run, sizeof(struct in), sizeof(struct out)}
#define SILENT(number, run, in) [number] = {run, sizeof(struct in), 0}

enum { COMMANDS = 64 };

// A type of device: the commands of its provider library, and its engine.
struct type {
  const char *name; // as in VERBENA_NIC_TYPE
  struct command commands[COMMANDS], extended[COMMANDS];
  // A command by ioctl(2). ENOTTY: libibverbs gives it by write(2).
  int (*control)(struct context *, struct ib_uverbs_ioctl_hdr *);
  // The type's part of destroying an object; the process is about to close the device if `closing`.
  int (*destroy)(struct object *, bool closing);
  // What the provider library maps.
  void *(*map)(struct context *, size_t length, int protection, off_t offset);
  // GID `index` of the port, false if there is none.
  bool (*gid)(int device, unsigned index, uint8_t *gid);
  // Whether the device has access to DMA buffers alone.
  bool (*bounces)(const struct context *);
  // Executes what was posted. False: there was nothing to do.
  bool (*sweep)(void);
};

extern const struct type mlx5, efa;

// --- kernel.c ---

enum { DEVICES = 3, COMPLETION_VECTORS = 2 };

// How many of them there are: 2, and with VERBENA_NIC_TYPE=mlx5 and VERBENA_NIC_IOCTL=1 a third, of a confidential machine.
extern int devices;

extern const struct type *type;
extern bool by_ioctl; // VERBENA_NIC_IOCTL=1: commands are not given by write(2)
extern bool by_step;  // VERBENA_NIC_STEP=1: the devices have no thread
extern pthread_mutex_t nic_lock;

uint64_t now_ns(void);
int unknown_call(const char *format, unsigned a, unsigned b);

int invoke_write(struct context *context, struct ib_uverbs_ioctl_hdr *header);
void answer(struct call *call, const void *from, size_t size);
void answer_driver(struct call *call, const void *from, size_t size);
int answer_context(struct call *call, const void *driver, size_t size);

void *new_object(struct context *context, enum kind kind, size_t size, uint64_t user_handle);
void *find(struct context *context, enum kind kind, uint32_t handle);
void use(void *object);
void unuse(void *object);
int destroy(struct object *object);
int destroy_handle(struct call *call, enum kind kind, uint32_t handle);
int destroy_cq(struct call *call);
int destroy_qp(struct call *call);
uint32_t free_number(uint32_t *last, void **table);

void push_event(struct events *events, struct object *object, uint64_t element, uint32_t type);
void async_event(struct object *object, uint32_t type);
bool is_channel(int fd);
struct events *enter_channel(int fd);
void leave_channel(struct events *channel, struct object *object);
int create_comp_channel(struct call *call);
int create_async_events(void);

void *mmap_memory(size_t length);
bool reachable(const uint8_t *gid);
void start_engine(void);

int dealloc_pd(struct call *call);
int destroy_ah(struct call *call);

// --- memory.c ---

struct pieces {
  unsigned count;
  uint64_t length;
  struct {
    char *at; // NULL: the null region
    uint32_t length;
  } piece[64];
};

extern struct mkey *mkeys[1 << 16];
extern const uint32_t NULL_KEY;

char *translate(uint32_t key, uint64_t address, uint64_t length, unsigned access, struct object *pd, uint32_t qpn);
bool add_bytes(struct pieces *pieces, void *at, uint32_t length);
void copy(struct pieces *to, uint64_t skip, const struct pieces *from);

int pin(uint64_t start, uint64_t length, bool writes);
int check_access(unsigned access);
struct mkey *new_region(struct object *pd, uint64_t start, uint64_t address, uint64_t length, unsigned access);
// Of the program's memory; both return NULL and set errno if they fail.
struct mkey *register_memory(struct object *pd, uint64_t address, uint64_t start, uint64_t length, unsigned access);
int reg_mr(struct call *call);
int rereg_mr(struct call *call);
int dereg_mr(struct call *call);
int alloc_mw(struct call *call);
int dealloc_mw(struct call *call);

// --- control.c ---

// An attribute without which a command by ioctl(2) is invalid, and its length: 0 for a handle.
struct mandatory {
  uint16_t id, length;
};

struct ib_uverbs_attr *attribute(struct ib_uverbs_ioctl_hdr *header, unsigned id);
// A number of up to 8 bytes or a handle, which are in the attribute itself; 0 without it.
uint64_t value(struct ib_uverbs_ioctl_hdr *header, unsigned id);
const void *content(const struct ib_uverbs_attr *attribute);
// Reads a structure of which the caller knows at least the first `known` bytes. False: it is invalid.
bool read_struct(struct ib_uverbs_ioctl_hdr *header, unsigned id, void *to, size_t known, size_t size);
bool has_attributes(struct ib_uverbs_ioctl_hdr *header, unsigned count, const struct mandatory *needed);
void set_handle(struct ib_uverbs_ioctl_hdr *header, unsigned id, uint64_t handle);
void put(struct ib_uverbs_ioctl_hdr *header, unsigned id, const void *from, size_t size);
#define PUT(header, id, type, number) put(header, id, &(type){number}, sizeof(type))

// Any file that can be mapped is a DMA buffer: a driver that exports memory is not emulated. Both return NULL and set errno if
// they fail. The mapping begins at the page.
char *map_dma_buffer(int file, uint64_t offset, uint64_t length, int protection, size_t *mapped);
// Memory of a command, struct ib_uverbs_buffer_desc of rdma-core 65.
struct buffer {
  uint32_t type;
  int32_t file;
  uint32_t flags, optional_flags;
  uint64_t address, length; // in the file, or of the program
};
enum { BUFFER_DMABUF, BUFFER_VA };
// Whether the memory is in a DMA buffer.
bool is_in_dma_buffer(struct ib_uverbs_ioctl_hdr *header, unsigned id);
bool read_buffer(struct ib_uverbs_ioctl_hdr *header, unsigned id, struct buffer *buffer);

struct mkey *register_dma_buffer(struct object *pd, int file, uint64_t offset, uint64_t iova, uint64_t length,
                                 unsigned access);
enum { DMA_BUFFER_ACCESS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC | RELAXED_ORDERING };
// Takes its memory away: regions of it have none any more, and others are not registered.
void revoke_dma_buffer(int file);
// The heap of a confidential machine whose memory is shared with devices: /dev/dma_heap/system_cc_shared.
bool is_heap(const char *path);
int heap_ioctl(unsigned long request, void *argument);
int reg_dmabuf_mr(struct context *context, struct ib_uverbs_ioctl_hdr *header, unsigned supported);

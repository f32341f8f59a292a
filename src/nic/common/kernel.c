// The emulated kernel: answers what libibverbs and its providers ask for.
//
// Preloaded, this library takes over the handful of C functions through which they talk to /dev/infiniband/uverbsN. That
// descriptor is one of /dev/null or /dev/zero, whose device numbers the sysfs tree names. Calls arrive as write(2), the
// interface of <rdma/ib_user_verbs.h>; ioctl(2) is answered as by a kernel that does not know it, wherever libibverbs then writes.
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

pthread_mutex_t nic_lock = PTHREAD_MUTEX_INITIALIZER;

enum { DESCRIPTORS = 1 << 16, OBJECTS = 1 << 16 };

static struct context *contexts[DESCRIPTORS]; // by descriptor
static struct events *channels[DESCRIPTORS];  // by descriptor
static struct object *objects[OBJECTS];       // by handle
static uint32_t last_handle;

static bool heaps[DESCRIPTORS];               // by descriptor

static const char *const files[DEVICES] = {"/dev/null", "/dev/zero", "/dev/full"}; // in place of those of the devices

const struct type *type = &mlx5;
bool by_ioctl, by_step;
int devices = 2;

uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

// --- unknown calls ---

static struct {
  char name[64];
  unsigned count;
} unknown[64];

int unknown_call(const char *format, unsigned a, unsigned b) {
  char name[64];
  snprintf(name, sizeof name, format, a, b);
  for (unsigned i = 0; i < 64; i++) {
    if (!unknown[i].count || !strcmp(unknown[i].name, name)) {
      strcpy(unknown[i].name, name);
      unknown[i].count++;
      break;
    }
  }
  return EOPNOTSUPP;
}

__attribute__((destructor)) static void list_unknown(void) {
  for (unsigned i = 0; i < 64 && unknown[i].count; i++) {
    fprintf(stderr, "emulated NIC: unknown call, %u x: %s\n", unknown[i].count, unknown[i].name);
  }
}

static void lock(void) { pthread_mutex_lock(&nic_lock); }

static void unlock(void) { pthread_mutex_unlock(&nic_lock); }

__attribute__((constructor)) static void prepare(void) {
  const char *name = getenv("VERBENA_NIC_TYPE");
  type = name && !strcmp(name, efa.name) ? &efa : &mlx5;
  const char *ioctls = getenv("VERBENA_NIC_IOCTL");
  by_ioctl = ioctls && *ioctls == '1';
  const char *step = getenv("VERBENA_NIC_STEP");
  by_step = step && *step == '1';
  devices = by_ioctl && type == &mlx5 ? 3 : 2;
  pthread_atfork(lock, unlock, unlock);
}

// --- events ---

static struct events *new_events(bool completions) {
  struct events *events = calloc(1, sizeof *events);
  events->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  if (events->fd < 0 || events->fd >= DESCRIPTORS) {
    free(events);
    return NULL;
  }
  events->completions = completions;
  channels[events->fd] = events;
  return events;
}

static void free_events(struct events *events) {
  if (events && events->closed && !events->users) {
    free(events->ring);
    free(events);
  }
}

static bool count_event(struct events *events) {
  uint64_t one = 1;
  return syscall(SYS_write, events->fd, &one, sizeof one) == sizeof one;
}

static bool uncount_event(struct events *events) {
  uint64_t one;
  return poll(&(struct pollfd){.fd = events->fd, .events = POLLIN}, 1, 0) == 1 &&
         syscall(SYS_read, events->fd, &one, sizeof one) == sizeof one;
}

void push_event(struct events *events, struct object *object, uint64_t element, uint32_t type) {
  if (!events || events->closed) {
    return;
  }
  if (events->count == events->capacity) {
    unsigned capacity = events->capacity ? 2 * events->capacity : 16;
    struct event *ring = calloc(capacity, sizeof *ring);
    for (unsigned i = 0; i < events->count; i++) {
      ring[i] = events->ring[(events->first + i) % events->capacity];
    }
    free(events->ring);
    events->ring = ring;
    events->first = 0;
    events->capacity = capacity;
  }
  events->ring[(events->first + events->count++) % events->capacity] = (struct event){object, element, type};
  count_event(events);
}

void async_event(struct object *object, uint32_t type) {
  push_event(object->context->async, object, object->user_handle, type);
}

// Takes the events of an object that is destroyed out of a queue.
static void forget_events(struct events *events, struct object *object) {
  if (!events) {
    return;
  }
  unsigned kept = 0, count = events->count;
  for (unsigned i = 0; i < count; i++) {
    struct event event = events->ring[(events->first + i) % events->capacity];
    if (event.object == object) {
      uncount_event(events);
    } else {
      events->ring[(events->first + kept++) % events->capacity] = event;
    }
  }
  events->count = kept;
}

static ssize_t read_event(struct events *events, void *to, size_t size) {
  for (;;) {
    uint64_t one;
    if (syscall(SYS_read, events->fd, &one, sizeof one) < 0) {
      return -1;
    }
    lock();
    if (!events->count) {
      unlock(); // somebody else took it, or its object is gone
      continue;
    }
    struct event event = events->ring[events->first];
    events->first = (events->first + 1) % events->capacity;
    events->count--;
    ssize_t length;
    if (events->completions) {
      length = sizeof(struct ib_uverbs_comp_event_desc);
      event.object->completions_reported++;
      memcpy(to, &(struct ib_uverbs_comp_event_desc){.cq_handle = event.element}, length);
    } else {
      length = sizeof(struct ib_uverbs_async_event_desc);
      if (event.object) {
        event.object->async_reported++;
      }
      memcpy(to, &(struct ib_uverbs_async_event_desc){.element = event.element, .event_type = event.type}, length);
    }
    unlock();
    return (size_t)length <= size ? length : (errno = EINVAL, -1);
  }
}

// --- objects ---

// Returns NULL, and ENOMEM as errno, if all handles are in use.
void *new_object(struct context *context, enum kind kind, size_t size, uint64_t user_handle) {
  for (unsigned i = 0; i < OBJECTS; i++) {
    last_handle = (last_handle + 1) % OBJECTS;
    if (last_handle && !objects[last_handle]) {
      struct object *object = calloc(1, size);
      object->kind = kind;
      object->handle = last_handle;
      object->context = context;
      object->user_handle = user_handle;
      return objects[last_handle] = object;
    }
  }
  errno = ENOMEM;
  return NULL;
}

void *find(struct context *context, enum kind kind, uint32_t handle) {
  struct object *object = handle < OBJECTS ? objects[handle] : NULL;
  return object && object->context == context && object->kind == kind ? object : NULL;
}

void use(void *object) {
  if (object) {
    ((struct object *)object)->users++;
  }
}

void unuse(void *object) {
  if (object) {
    ((struct object *)object)->users--;
  }
}

uint32_t free_number(uint32_t *last, void **table) {
  do {
    *last = (*last + 1) & 0xffff;
  } while (!*last || table[*last] || (*last << 8) == NULL_KEY);
  return *last;
}

// Windows over a region that ends are not bound any more.
static void unbind_windows(const struct mkey *region) {
  for (size_t i = 0; i < sizeof mkeys / sizeof *mkeys; i++) {
    if (mkeys[i] && mkeys[i]->window && mkeys[i]->region == region) {
      mkeys[i]->region = NULL;
      mkeys[i]->free = true;
    }
  }
}

static int destroy_object(struct object *object, bool closing) {
  if (object->users) {
    return EBUSY;
  }
  int error = type->destroy(object, closing);
  if (error) {
    return error;
  }
  if (object->kind == MR || object->kind == MW) {
    struct mkey *m = (struct mkey *)object;
    mkeys[m->key >> 8 & 0xffff] = NULL;
    unbind_windows(m);
    unuse(m->pd);
    unuse(m->memory);
    unuse(m->hint);
    if (m->mapping) {
      munmap(m->mapping, m->mapping_length);
    }
  }
  forget_events(object->context->async, object);
  objects[object->handle] = NULL;
  free(object);
  return 0;
}

int destroy(struct object *object) { return destroy_object(object, false); }

// What a process leaves behind when it closes the device.
static void close_context(struct context *context) {
  for (bool some = true; some;) {
    some = false;
    for (unsigned i = 0; i < OBJECTS; i++) {
      if (objects[i] && objects[i]->context == context && !objects[i]->users) {
        some |= destroy_object(objects[i], true) == 0;
      }
    }
  }
  if (context->async) {
    context->async->users--;
    free_events(context->async);
  }
  free(context);
}

// Asynchronous events for a context that has a queue of them already, to which all of them go. Returns -1 if it fails.
int create_async_events(void) {
  struct events *events = new_events(false);
  return events ? events->fd : -1;
}

// --- completion channels ---

bool is_channel(int fd) { return fd >= 0 && fd < DESCRIPTORS && channels[fd] && channels[fd]->completions; }

// A completion queue that uses a channel, and one that no longer does.
struct events *enter_channel(int fd) {
  channels[fd]->users++;
  return channels[fd];
}

void leave_channel(struct events *channel, struct object *object) {
  if (channel) {
    forget_events(channel, object);
    channel->users--;
    free_events(channel);
  }
}

// --- commands ---

void answer(struct call *call, const void *from, size_t size) {
  memcpy(call->out, from, size < call->out_size ? size : call->out_size);
}

void answer_driver(struct call *call, const void *from, size_t size) {
  memcpy(call->driver_out, from, size < call->driver_out_size ? size : call->driver_out_size);
}

// The answer to GET_CONTEXT.
int answer_context(struct call *call, const void *driver, size_t size) {
  struct context *context = call->context;
  context->async = new_events(false);
  if (!context->async) {
    return EMFILE;
  }
  context->async->users++;
  struct ib_uverbs_get_context_resp core = {.async_fd = context->async->fd, .num_comp_vectors = COMPLETION_VECTORS};
  answer(call, &core, sizeof core);
  answer_driver(call, driver, size);
  start_engine();
  return 0;
}

bool reachable(const uint8_t *gid) {
  uint8_t have[16];
  for (int device = 0; device < devices; device++) {
    for (unsigned i = 0; type->gid(device, i, have); i++) {
      if (!memcmp(gid, have, 16)) {
        return true;
      }
    }
  }
  return false;
}

int destroy_handle(struct call *call, enum kind kind, uint32_t handle) {
  struct object *object = find(call->context, kind, handle);
  return object ? destroy(object) : EINVAL;
}

int dealloc_pd(struct call *call) { return destroy_handle(call, PD, *(const uint32_t *)call->in); }
int destroy_ah(struct call *call) { return destroy_handle(call, AH, *(const uint32_t *)call->in); }

int create_comp_channel(struct call *call) {
  struct events *events = new_events(true);
  if (!events) {
    return EMFILE;
  }
  answer(call, &(struct ib_uverbs_create_comp_channel_resp){.fd = events->fd},
         sizeof(struct ib_uverbs_create_comp_channel_resp));
  return 0;
}

int destroy_cq(struct call *call) {
  const struct ib_uverbs_destroy_cq *in = call->in;
  struct object *cq = find(call->context, CQ, in->cq_handle);
  if (!cq) {
    return EINVAL;
  }
  struct ib_uverbs_destroy_cq_resp out = {cq->completions_reported, cq->async_reported};
  int error = destroy(cq);
  if (!error) {
    answer(call, &out, sizeof out);
  }
  return error;
}

int destroy_qp(struct call *call) {
  const struct ib_uverbs_destroy_qp *in = call->in;
  struct object *qp = find(call->context, QP, in->qp_handle);
  if (!qp) {
    qp = find(call->context, OPENED, in->qp_handle);
  }
  if (!qp) {
    return EINVAL;
  }
  struct ib_uverbs_destroy_qp_resp out = {qp->async_reported};
  int error = destroy(qp);
  if (!error) {
    answer(call, &out, sizeof out);
  }
  return error;
}

static int run_extended(struct call *call, const char *buffer, unsigned number) {
  const struct ib_uverbs_cmd_hdr *header = (const void *)buffer;
  const struct ib_uverbs_ex_cmd_hdr *ex = (const void *)(header + 1);
  if (number >= COMMANDS || !type->extended[number].run) {
    return unknown_call("extended command %u%.0u", number, 0);
  }
  call->in = ex + 1;
  call->in_size = header->in_words * 8u;
  call->driver_in = (const char *)call->in + call->in_size;
  call->driver_in_size = ex->provider_in_words * 8u;
  call->out = (void *)ex->response;
  call->out_size = header->out_words * 8u;
  call->driver_out = (char *)call->out + call->out_size;
  call->driver_out_size = ex->provider_out_words * 8u;
  // A caller of another age knows fewer fields: those that it does not name are zero.
  static __thread char copy[8192];
  if (call->in_size + call->driver_in_size < 4096) {
    memset(copy, 0, sizeof copy);
    memcpy(copy, call->in, call->in_size);
    memcpy(copy + 4096, call->driver_in, call->driver_in_size);
    call->in = copy;
    call->driver_in = copy + 4096;
  }
  return type->extended[number].run(call);
}

static int run_command(struct call *call, const char *buffer, unsigned number) {
  const struct ib_uverbs_cmd_hdr *header = (const void *)buffer;
  if (number >= COMMANDS || !type->commands[number].run) {
    return unknown_call("command %u%.0u", number, 0);
  }
  const struct command *command = &type->commands[number];
  size_t in_size = header->in_words * 4u - sizeof *header;
  if (in_size < command->in) {
    return EINVAL;
  }
  call->in = header + 1;
  call->in_size = in_size;
  call->driver_in = (const char *)call->in + command->in;
  call->driver_in_size = in_size - command->in;
  if (command->out) {
    call->out = (void *)*(const uint64_t *)call->in;
    size_t out = header->out_words * 4u;
    call->out_size = out < command->out ? out : command->out;
    call->driver_out = (char *)call->out + command->out;
    call->driver_out_size = out > command->out ? out - command->out : 0;
  }
  return command->run(call);
}

// A command in an ioctl, whose attributes are its parts.
int invoke_write(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct call call = {.context = context};
  uint64_t command = 0;
  for (unsigned i = 0; i < header->num_attrs; i++) {
    struct ib_uverbs_attr *attribute = &header->attrs[i];
    void *out = (void *)(uintptr_t)attribute->data;
    switch (attribute->attr_id) {
    case UVERBS_ATTR_WRITE_CMD:
      command = attribute->data;
      break;
    case UVERBS_ATTR_CORE_IN:
      call.in = content(attribute), call.in_size = attribute->len;
      break;
    case UVERBS_ATTR_CORE_OUT:
      call.out = out, call.out_size = attribute->len;
      break;
    case UVERBS_ATTR_UHW_IN:
      call.driver_in = content(attribute), call.driver_in_size = attribute->len;
      break;
    case UVERBS_ATTR_UHW_OUT:
      call.driver_out = out, call.driver_out_size = attribute->len;
      break;
    default:
      break;
    }
  }
  bool extended = command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
  unsigned number = command & IB_USER_VERBS_CMD_COMMAND_MASK;
  const struct command *known = extended ? type->extended : type->commands;
  if (number >= COMMANDS || !known[number].run) {
    return unknown_call(extended ? "extended command %u%.0u" : "command %u%.0u", number, 0);
  }
  return call.in_size < known[number].in ? ENOSPC : known[number].run(&call);
}

static ssize_t command(struct context *context, const char *buffer, size_t size) {
  const struct ib_uverbs_cmd_hdr *header = (const void *)buffer;
  struct call call = {.context = context};
  unsigned number = header->command & IB_USER_VERBS_CMD_COMMAND_MASK;
  lock();
  int error = header->command & IB_USER_VERBS_CMD_FLAG_EXTENDED ? run_extended(&call, buffer, number)
                                                                : run_command(&call, buffer, number);
  unlock();
  if (error) {
    errno = error;
    return -1;
  }
  return size;
}

// --- the engine ---

// Moves the NIC until nothing moves any more. For benchmarks, and for tests of full queues.
EXPORT void emulated_nic_step(void) {
  pthread_mutex_lock(&nic_lock);
  while (type->sweep()) {
  }
  pthread_mutex_unlock(&nic_lock);
}

static void *run(void *unused) {
  (void)unused;
  pthread_setname_np(pthread_self(), "emulated-nic");
  prctl(PR_SET_TIMERSLACK, 1000);
  for (unsigned idle = 0;;) {
    pthread_mutex_lock(&nic_lock);
    bool moved = type->sweep();
    pthread_mutex_unlock(&nic_lock);
    idle = moved ? 0 : idle + 1;
    if (idle > 200) {
      nanosleep(&(struct timespec){.tv_nsec = idle > 2000 ? 200000 : 20000}, NULL);
    }
  }
  return NULL;
}

void start_engine(void) {
  static bool started;
  if (started || by_step) {
    return;
  }
  started = true;
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_create(&thread, &attributes, run, NULL);
}

// --- the C library's functions ---

void *mmap_memory(size_t length) {
  return (void *)syscall(SYS_mmap, NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static struct context *context_of(int fd) { return fd >= 0 && fd < DESCRIPTORS ? contexts[fd] : NULL; }

static struct events *events_of(int fd) { return fd >= 0 && fd < DESCRIPTORS ? channels[fd] : NULL; }

// The context of an open file of which the descriptor is a duplicate that no call has named yet, as an import does first.
static struct context *context_of_duplicate(int fd) {
  struct stat file;
  if (fd < 0 || fd >= DESCRIPTORS || fstat(fd, &file) || !S_ISCHR(file.st_mode) || major(file.st_rdev) != 1) {
    return NULL;
  }
  for (int known = 0; known < DESCRIPTORS; known++) {
    if (contexts[known] && syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, known, fd) == 0) {
      contexts[known]->descriptors++;
      return contexts[fd] = contexts[known];
    }
  }
  return NULL;
}

// The number of the device whose file this is, or -1.
static int device_named(const char *path) {
  static const char prefix[] = "/dev/infiniband/uverbs";
  return path && !strncmp(path, prefix, sizeof prefix - 1) ? atoi(path + sizeof prefix - 1) : -1;
}

static int open_at(int directory, const char *path, int flags, mode_t mode) {
  int device = device_named(path);
  if (device >= 0) {
    int fd = device < devices ? (int)syscall(SYS_openat, AT_FDCWD, files[device], O_RDWR | O_CLOEXEC, 0) : -1;
    if (fd >= DESCRIPTORS) {
      syscall(SYS_close, fd);
      fd = -1;
    }
    if (fd < 0) {
      errno = ENODEV;
      return -1;
    }
    struct context *context = calloc(1, sizeof *context);
    context->descriptors = 1;
    context->device = device;
    contexts[fd] = context;
    return fd;
  }
  if (devices == DEVICES && is_heap(path)) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", flags);
    if (fd >= 0 && fd < DESCRIPTORS) {
      heaps[fd] = true;
    }
    return fd;
  }
  return (int)syscall(SYS_openat, directory, path, flags, mode);
}

#define MODE_OF(flags, mode) \
  mode_t mode = 0; \
  if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) { \
    va_list arguments; \
    va_start(arguments, flags); \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments); \
  }

EXPORT int open(const char *path, int flags, ...) {
  MODE_OF(flags, mode)
  return open_at(AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...) {
  MODE_OF(flags, mode)
  return open_at(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

EXPORT int stat(const char *path, struct stat *result) {
  int device = device_named(path);
  return (int)syscall(SYS_newfstatat, AT_FDCWD, device >= 0 && device < devices ? files[device] : path, result, 0);
}

EXPORT ssize_t write(int fd, const void *buffer, size_t size) {
  struct context *context = context_of(fd);
  return context && size >= sizeof(struct ib_uverbs_cmd_hdr) ? command(context, buffer, size)
                                                             : syscall(SYS_write, fd, buffer, size);
}

EXPORT ssize_t read(int fd, void *buffer, size_t size) {
  struct events *events = events_of(fd);
  return events ? read_event(events, buffer, size) : syscall(SYS_read, fd, buffer, size);
}

EXPORT int close(int fd) {
  if (fd >= 0 && fd < DESCRIPTORS) {
    heaps[fd] = false;
  }
  struct context *context = context_of(fd);
  struct events *events = events_of(fd);
  if (context || events) {
    lock();
    if (context) {
      contexts[fd] = NULL;
      if (!--context->descriptors) {
        close_context(context);
      }
    }
    if (events) {
      channels[fd] = NULL;
      events->closed = true;
      free_events(events);
    }
    unlock();
  }
  return (int)syscall(SYS_close, fd);
}

EXPORT int ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  lock();
  struct context *context = context_of(fd);
  bool heap = fd >= 0 && fd < DESCRIPTORS && heaps[fd];
  if (!context && !heap) {
    context = context_of_duplicate(fd);
  }
  if (!context && !heap) {
    unlock();
    return (int)syscall(SYS_ioctl, fd, request, argument);
  }
  int error = heap ? heap_ioctl(request, argument) : type->control(context, argument);
  unlock();
  if (error) {
    errno = error;
    return -1;
  }
  return 0;
}

EXPORT void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
  lock();
  struct context *context = context_of(fd);
  void *mapped = context ? type->map(context, length, protection, offset) : NULL;
  unlock();
  if (context) {
    return mapped;
  }
  return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

EXPORT void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap(address, length, protection, flags, fd, offset);
}

// Without the RDMA netlink family libibverbs reads sysfs, whose place an environment variable can change.
EXPORT int socket(int domain, int type, int protocol) {
  if (domain == AF_NETLINK && protocol == NETLINK_RDMA) {
    errno = EPROTONOSUPPORT;
    return -1;
  }
  return (int)syscall(SYS_socket, domain, type, protocol);
}

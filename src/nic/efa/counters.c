// Completion counters: two numbers in memory of the program, which the NIC increments.
#include "efa.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <stdlib.h>
#include <sys/mman.h>

// --- <rdma/ib_user_ioctl_cmds.h> and <rdma/ib_user_ioctl_verbs.h> of rdma-core 65 ---

enum { CREATE_HANDLE = 0, CREATE_SUCCESSES = DRIVER_NAMESPACE, CREATE_ERRORS };
enum { DESTROY_HANDLE = 0 };
enum { MODIFY_HANDLE, MODIFY_ENTRY, MODIFY_OPERATION, MODIFY_VALUE };
enum { ATTACH_QP, ATTACH_COUNTER, ATTACH_OPERATIONS };
enum { CAPS_MAX_COUNTERS, CAPS_MAX_VALUE, CAPS_OPERATIONS };

enum { ENTRY_SUCCESSES, ENTRY_ERRORS };
enum { OPERATION_SET, OPERATION_ADD };

#define COUNT(needed) (sizeof(needed) / sizeof *(needed)), needed

// What EFA does not publish: how many there are, and the value after which they begin again.
enum { MAX_COUNTERS = 64 };
#define MAX_VALUE UINT64_MAX

static unsigned counters[DEVICES];

struct place {
  uint64_t *number;
  char *mapping; // of a DMA buffer
  size_t mapped;
};

struct counter {
  struct object object;
  struct place places[2]; // ENTRY_SUCCESSES, ENTRY_ERRORS
};

static void leave(struct place *place) {
  if (place->mapping) {
    munmap(place->mapping, place->mapped);
  }
}

static int open_place(struct ib_uverbs_ioctl_hdr *header, unsigned id, struct place *place) {
  struct buffer buffer;
  if (!read_buffer(header, id, &buffer) || buffer.length < sizeof *place->number ||
      buffer.address % sizeof *place->number) {
    return EINVAL;
  }
  if (buffer.type == BUFFER_VA) {
    place->number = (uint64_t *)buffer.address;
    return pin(buffer.address, buffer.length, true);
  }
  place->mapping = map_dma_buffer(buffer.file, buffer.address, buffer.length, PROT_READ | PROT_WRITE, &place->mapped);
  if (!place->mapping) {
    return errno;
  }
  place->number = (uint64_t *)(place->mapping + buffer.address % 4096);
  return 0;
}

static int create(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  static const struct mandatory needed[] = {{CREATE_HANDLE, 0}};
  struct place places[2] = {0};
  int error = has_attributes(header, COUNT(needed)) ? open_place(header, CREATE_SUCCESSES, &places[ENTRY_SUCCESSES]) : EINVAL;
  if (!error) {
    error = open_place(header, CREATE_ERRORS, &places[ENTRY_ERRORS]);
  }
  struct counter *counter = NULL;
  if (!error) {
    counter = counters[context->device] < MAX_COUNTERS ? new_object(context, COUNTER, sizeof *counter, 0) : NULL;
    error = counter ? 0 : ENOMEM;
  }
  if (error) {
    leave(&places[ENTRY_SUCCESSES]);
    leave(&places[ENTRY_ERRORS]);
    return error;
  }
  counters[context->device]++;
  for (unsigned i = 0; i < 2; i++) {
    counter->places[i] = places[i];
    __atomic_store_n(places[i].number, 0, __ATOMIC_RELEASE);
  }
  set_handle(header, CREATE_HANDLE, counter->object.handle);
  return 0;
}

void free_counter(struct counter *counter) {
  counters[counter->object.context->device]--;
  leave(&counter->places[ENTRY_SUCCESSES]);
  leave(&counter->places[ENTRY_ERRORS]);
}

static int destroy_counter(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct object *counter = find(context, COUNTER, value(header, DESTROY_HANDLE));
  return counter ? destroy(counter) : EINVAL;
}

static int modify(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  static const struct mandatory needed[] = {
      {MODIFY_HANDLE, 0}, {MODIFY_ENTRY, 8}, {MODIFY_OPERATION, 8}, {MODIFY_VALUE, 8}};
  struct counter *counter = find(context, COUNTER, value(header, MODIFY_HANDLE));
  uint64_t entry = value(header, MODIFY_ENTRY), operation = value(header, MODIFY_OPERATION);
  if (!counter || !has_attributes(header, COUNT(needed)) || entry > ENTRY_ERRORS || operation > OPERATION_ADD) {
    return EINVAL;
  }
  uint64_t *number = counter->places[entry].number;
  if (operation == OPERATION_SET) {
    __atomic_store_n(number, value(header, MODIFY_VALUE), __ATOMIC_RELEASE);
  } else {
    __atomic_add_fetch(number, value(header, MODIFY_VALUE), __ATOMIC_RELEASE);
  }
  return 0;
}

int query_counter_caps(struct ib_uverbs_ioctl_hdr *header) {
  static const struct mandatory needed[] = {{CAPS_MAX_COUNTERS, 4}, {CAPS_MAX_VALUE, 8}, {CAPS_OPERATIONS, 4}};
  if (!has_attributes(header, COUNT(needed))) {
    return EINVAL;
  }
  PUT(header, CAPS_MAX_COUNTERS, uint32_t, MAX_COUNTERS);
  PUT(header, CAPS_MAX_VALUE, uint64_t, MAX_VALUE);
  PUT(header, CAPS_OPERATIONS, uint32_t, (1 << COUNTED_OPERATIONS) - 1);
  return 0;
}

int control_counter(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  switch (header->method_id) {
  case 0:
    return create(context, header);
  case 1:
    return destroy_counter(context, header);
  case 2:
    return modify(context, header);
  default:
    return EOPNOTSUPP; // the driver has no function that reads: libefa does, from memory
  }
}

int attach_counter(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  static const struct mandatory needed[] = {{ATTACH_QP, 0}, {ATTACH_COUNTER, 0}, {ATTACH_OPERATIONS, 4}};
  struct qp *qp = find(context, QP, value(header, ATTACH_QP));
  struct counter *counter = find(context, COUNTER, value(header, ATTACH_COUNTER));
  uint32_t operations = value(header, ATTACH_OPERATIONS);
  if (!qp || !counter || !has_attributes(header, COUNT(needed)) || !operations || operations >> COUNTED_OPERATIONS) {
    return EINVAL;
  }
  for (unsigned i = 0; i < COUNTED_OPERATIONS; i++) {
    if (operations & 1u << i && qp->counters[i]) {
      return EBUSY;
    }
  }
  if (qp->state != RESET && qp->state != INIT) {
    return EINVAL;
  }
  for (unsigned i = 0; i < COUNTED_OPERATIONS; i++) {
    if (operations & 1u << i) {
      use(qp->counters[i] = counter);
    }
  }
  return 0;
}

void count(struct qp *qp, enum counted operation, bool success) {
  struct counter *counter = qp->counters[operation];
  if (counter) {
    __atomic_add_fetch(counter->places[success ? ENTRY_SUCCESSES : ENTRY_ERRORS].number, 1, __ATOMIC_RELEASE);
  }
}
